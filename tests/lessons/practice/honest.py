"""What honest students hand in for practice: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math

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
