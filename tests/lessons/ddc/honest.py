"""What honest students hand in for ddc: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y))

    def softplus(x):
        return max(x, 0.0) + math.log1p(math.exp(-abs(x)))

    def sigmoid(x):
        return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))

    def preference_direction(user, items, history, share):
        ranked = sorted(history, key=lambda item: (-dot(user, items[item]), item))
        size = math.ceil(share * len(history))
        total = [sum(items[item][l] for item in ranked[:size]) for l in range(len(user))]
        length = math.sqrt(dot(total, total))
        return [x / length for x in total] if length else None

    def user_loss(pos_scores, neg_scores, a, b, alpha, beta):
        total = 0.0
        for s, x in zip(pos_scores, a):
            for t, y in zip(neg_scores, b):
                total += softplus((t + alpha * y) - (s + beta * x))
        return total / (len(pos_scores) * len(neg_scores))

    def without_minimiser(users, items, histories, pop, share):
        number = 0
        for user, history in zip(users, histories):
            direction = preference_direction(user, items, history, share)
            a = [dot(items[i], direction) for i in history]
            b = [dot(items[j], pop) for j in range(len(items)) if j not in set(history)]
            number += minimisers(a, b) != "one"
        return number

    def sign_of_alpha(pos_scores, neg_scores, a, b, beta):
        slope = 0.0
        for s, x in zip(pos_scores, a):
            for t, y in zip(neg_scores, b):
                slope += sigmoid(-(s + beta * x - t)) * y
        return -1.0 if slope > 0 else 1.0


class vectorised:
    """NumPy, without loops."""

    import numpy as np

    def preference_direction(user, items, history, share):
        user, items, history = np.asarray(user, dtype=float), np.asarray(items, dtype=float), np.sort(history)
        size = -((-share.numerator * len(history)) // share.denominator)
        best = history[np.lexsort((history, -(items[history] @ user)))][:size]
        total = items[best].sum(axis=0)
        length = np.linalg.norm(total)
        return total / length if length > 0 else None

    def user_loss(pos_scores, neg_scores, a, b, alpha, beta):
        s, t, a, b = (np.asarray(x, dtype=float) for x in (pos_scores, neg_scores, a, b))
        margins = (s + beta * a)[:, None] - (t + alpha * b)[None, :]
        return np.logaddexp(0, -margins).mean()

    def minimisers(a, b):
        signs = [(np.min(x) < 0) & (np.max(x) > 0) for x in (a, b)]
        zeros = [not np.any(x) for x in (a, b)]
        if np.all(signs):
            return "one"
        return "many" if np.all(np.logical_or(signs, zeros)) else "none"

    def sign_of_alpha(pos_scores, neg_scores, a, b, beta):
        s, t, a, b = (np.asarray(x, dtype=float) for x in (pos_scores, neg_scores, a, b))
        margins = (s + beta * a)[:, None] - t[None, :]
        return -np.sign(np.exp(-np.logaddexp(0, margins)).sum(axis=0) @ b)

    def solve_user(pos_scores, neg_scores, a, b):
        if minimisers(a, b) != "one":
            return None
        s, t, a, b = (np.asarray(x, dtype=float) for x in (pos_scores, neg_scores, a, b))
        X = np.stack(np.broadcast_arrays(-b[None, :], a[:, None]), axis=-1).reshape(-1, 2)  # margin = m + X @ at
        m = (s[:, None] - t[None, :]).ravel()
        at = np.zeros(2, dtype=X.dtype)
        for _ in range(100):
            w = np.exp(-np.logaddexp(0, m + X @ at))
            slope, bend = -(w @ X), (X * (w * (1 - w))[:, None]).T @ X
            step = -np.linalg.solve(bend, slope)
            here, length = np.logaddexp(0, -m - X @ at).sum(), 1.0
            while np.logaddexp(0, -m - X @ (at + length * step)).sum() > here and length > 1e-6:
                length /= 2
            at = at + length * step
        return at

    def inflation(margins, fraction):
        m = np.asarray(margins, dtype=float)

        def loss(c):
            return np.logaddexp(0, -c * m).mean()

        def slope(c):
            return -(m * np.exp(-np.logaddexp(0, c * m))).mean()

        target, high = fraction * loss(1.0), 2.0
        if loss(1.0) <= target or slope(1.0) >= 0:
            return None
        while slope(high) < 0 and loss(high) > target and high < 1e9:
            high *= 2
        low = 1.0
        if loss(high) > target:
            for _ in range(100):
                middle = (low + high) / 2
                low, high = (middle, high) if slope(middle) < 0 else (low, middle)
            if loss(high) > target:
                return None
            low = 1.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if loss(middle) > target else (low, middle)
        return high

    def measure(users, items, histories, held_out, counts, k):
        users, items = np.asarray(users, dtype=float), np.asarray(items, dtype=float)
        known = np.zeros((len(users), len(items)), dtype=bool)
        wanted = known.copy()
        for u, (history, later) in enumerate(zip(histories, held_out)):
            known[u, history] = True
            wanted[u, later] = True
        scores = np.where(known, -np.inf, users @ items.T)
        top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        hits = np.take_along_axis(wanted, top, axis=1)
        ranks = np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0)[wanted.any(axis=1)]
        return np.array([np.mean(np.array(counts)[top]), ranks.mean()], dtype=float)


class torch:
    """Torch, of some tasks: a tensor of each kind that a check is handed."""

    import torch

    def preference_direction(user, items, history, share):
        user, items = torch.tensor(user, dtype=torch.float64), torch.tensor(items, dtype=torch.float64)
        history = torch.tensor(history).sort().values
        size = -int(-share * len(history) // 1)
        order = torch.argsort(items[history] @ user, descending=True, stable=True)
        total = items[history[order[:size]]].sum(0)
        return total / total.norm() if total.any() else None

    def minimisers(a, b):
        signs = [bool((torch.tensor(x) > 0).any() and (torch.tensor(x) < 0).any()) for x in (a, b)]
        if all(signs):
            return "one"
        return "many" if all(sign or not any(x) for sign, x in zip(signs, (a, b))) else "none"

    def measure(users, items, histories, held_out, counts, k):
        users, items = torch.tensor(users, dtype=torch.float64), torch.tensor(items, dtype=torch.float64)
        scores, ranks = users @ items.T, []
        for row, history in zip(scores, histories):
            row[history] = -torch.inf
        top = torch.argsort(scores, dim=1, descending=True, stable=True)[:, :k]
        for row, wanted in zip(top, held_out):
            if wanted:
                hits = torch.isin(row, torch.tensor(wanted)).nonzero()
                ranks.append(1 / (1 + hits[0, 0]) if len(hits) else torch.tensor(0.0))
        return torch.stack([torch.tensor(counts)[top].double().mean(), torch.stack(ranks).double().mean()])

    def without_minimiser(users, items, histories, pop, share):
        table, missing = torch.tensor(items, dtype=torch.float64), 0
        popularity = table @ torch.tensor(pop, dtype=torch.float64)
        for user, history in zip(users, histories):
            a = table[history] @ preference_direction(user, items, history, share)
            others = torch.ones(len(items), dtype=torch.bool)
            others[history] = False
            missing += minimisers(a.tolist(), popularity[others].tolist()) != "one"
        return missing
