"""What honest students hand in for practice: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math
    from fractions import Fraction

    def ways(many, most):
        """In how many ways 0, 1, ... of so many are drawn: a row of Pascal's triangle."""
        row = [1] + [0] * most
        for _ in range(many):
            for j in range(most, 0, -1):
                row[j] += row[j - 1]
        return row

    def sampled(rank, others, m, k):
        better, worse, hits = ways(rank - 1, m), ways(others - rank + 1, m), 0
        for j in range(m + 1):
            if j < k:
                hits += better[j] * worse[m - j]
        return Fraction(hits, ways(others, m)[m])

    def holm(ps):
        found = []
        for p in ps:
            largest = 0
            for other in ps:
                if other <= p:
                    smaller = sum(third < other for third in ps)
                    largest = max(largest, other * (len(ps) - smaller))
            found.append(min(largest, Fraction(1)))
        return found

    def mixture(counts, uniform):
        total, law = 0, []
        for count in counts:
            total += count
        for count in counts:
            law.append(uniform * Fraction(1, len(counts)) + Fraction(count, total) - uniform * Fraction(count, total))
        return law

    def served(p, q, hits, weight, correction):
        odds, total = [], 0
        for chosen, negative, count in zip(p, q, hits):
            value = chosen
            if correction == "none":
                value = value / negative
            if correction == "both":
                value = value * negative
            for _ in range(weight):
                value = value * count
            odds.append(value)
            total += value
        return [value / total for value in odds]

    def right_share(n, tau):
        """The softmax's share of the right item, where all other cosines are equal."""
        return 1 / (1 + (n - 1) * math.exp(-(1 + 1 / (n - 1)) / tau))

    def floor(n, tau):
        return -math.log(right_share(n, tau))

    def largest_tau(n, probability):
        low, high = 1e-6, 1.0
        while right_share(n, high) > probability:
            high *= 2
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if right_share(n, middle) > probability else (low, middle)
        return low

    def moves(X, G, new, lr):
        move = [Fraction(0)] * len(G[0])
        for l in range(len(new)):
            for part in range(len(move)):
                slope = Fraction(0)  # of the loss, in the entry (part, l) of the matrix
                for x, g in zip(X, G):
                    slope += g[part] * x[l]
                move[part] -= lr * slope * new[l]
        return move

    def rates(a, b, counts, days):
        expected = []
        for i in range(len(counts)):
            expected.append((counts[i] + a) / (days[i] + b))
        return expected

    def bound(u, steps):
        off = Fraction(0)
        for part, step in zip(u, steps):
            off += max(part, -part) * step / 2
        return off

    def candidates(scores, bound, k):
        best, count = sorted(scores)[::-1], k
        while count < len(best) and best[k - 1] - best[count] <= 2 * bound:
            count += 1
        return count


class vectorised:
    """NumPy, without loops."""

    import math
    from fractions import Fraction

    import numpy as np

    def sampled(rank, others, m, k):
        ways, better = np.frompyfunc(math.comb, 2, 1), np.arange(min(k, m + 1))
        hits = ways(rank - 1, better) * ways(others - rank + 1, m - better)
        return Fraction(int(hits.sum()), math.comb(others, m))

    def holm(ps):
        ps = np.array(ps, dtype=object)
        order, found = np.argsort(ps), np.empty_like(ps)
        factors = np.arange(len(ps), 0, -1).astype(object)
        found[order] = np.minimum(np.maximum.accumulate(ps[order] * factors), Fraction(1))
        return found

    def mixture(counts, uniform):
        counts = np.array(counts, dtype=object)
        return uniform / len(counts) + (1 - uniform) / int(counts.sum()) * counts

    def served(p, q, hits, weight, correction):
        p, q, hits = np.array(p, dtype=object), np.array(q, dtype=object), np.array(hits, dtype=object)
        learned = p / q if correction in ("none", "serving") else p
        scores = learned * hits**weight * (q if correction in ("serving", "both") else 1)
        return scores / scores.sum()

    def floor(n, tau):
        tau = np.asarray(tau, dtype=float)
        return np.log1p((n - 1) * np.exp(-n / (n - 1) / tau))

    def largest_tau(n, probability):
        probability = np.asarray(probability, dtype=float)
        return n / (n - 1) / (np.log(n - 1) + np.log(probability) - np.log1p(-probability))

    def moves(X, G, new, lr):
        X, G, new = np.array(X, dtype=object), np.array(G, dtype=object), np.array(new, dtype=object)
        return (-lr * (G.T @ X)) @ new

    def rates(a, b, counts, days):
        return (np.array(counts, dtype=object) + a) / (np.array(days, dtype=object) + b)

    def bound(u, steps):
        return np.abs(np.array(u, dtype=object)) @ np.array(steps, dtype=object) / 2

    def candidates(scores, bound, k):
        best = np.sort(np.array(scores, dtype=object))[::-1]
        far = np.flatnonzero(best[k - 1] - best[k:] > 2 * bound)
        return k + far[0] if far.size else len(best)


class torch:
    """Torch, where the task is not exact."""

    import torch

    def floor(n, tau):
        tau = torch.tensor(tau, dtype=torch.float64)
        return torch.nn.functional.softplus(torch.tensor(n - 1, dtype=torch.float64).log() - n / ((n - 1) * tau))

    def largest_tau(n, probability):
        probability = torch.tensor(probability, dtype=torch.float64)
        return n / ((n - 1) * (probability.logit() + torch.tensor(n - 1, dtype=torch.float64).log()))
