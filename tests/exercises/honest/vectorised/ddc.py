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
