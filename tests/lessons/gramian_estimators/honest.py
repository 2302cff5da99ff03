"""What honest students hand in for gramian-estimators: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math

    def best_rate(path, batches):
        def square(x, y):
            return sum((a - b) ** 2 for one, two in zip(x, y) for a, b in zip(one, two))

        drift = sum(square(path[t], path[t + 1]) for t in range(len(path) - 1)) / (len(path) - 1)
        noise = sum(square(g, h) for g, h in zip(path, batches)) / len(path)
        r = drift / noise
        return 2 / (1 + math.sqrt(1 + 4 / r))


class vectorised:
    """NumPy, without loops."""

    from fractions import Fraction

    import numpy as np

    def all_pairs(U, V, w, z, c):
        U, V, w, z = (np.array(x, dtype=object) for x in (U, V, w, z))
        left, right = U.T @ (w[:, None] * U), V.T @ (z[:, None] * V)
        return (left * right).sum() - 2 * c * ((w @ U) @ (z @ V)) + c * c * w.sum() * z.sum()

    def gravity_gradient(U, V, pairs, x):
        left, right = np.array(pairs).T
        rows = np.array(V, dtype=object)[right]
        scores = rows @ np.array(U[x], dtype=object)
        return scores @ rows * Fraction(2 * int((left == x).sum()), len(pairs) ** 2)

    def sagram_mean(tables, beta, b):
        T = np.array(tables, dtype=object)
        n = T.shape[1]
        grams = np.array([(table.T @ table) * Fraction(1, n) for table in T])
        stays = Fraction(n - 1, n) ** b
        weights = [stays ** max(len(T) - 2, 0)] + [(1 - stays) * stays ** (len(T) - 2 - t) for t in range(1, len(T) - 1)]
        cache = sum(weight * gram for weight, gram in zip(weights, grams[:-1]))
        return (1 - beta) * cache + beta * grams[-1]

    def best_rate(path, batches):
        path, batches = np.asarray(path, dtype=float), np.asarray(batches, dtype=float)
        drift = np.einsum("tij,tij->", np.diff(path, axis=0), np.diff(path, axis=0)) / (len(path) - 1)
        noise = np.einsum("tij,tij->", batches - path, batches - path) / len(path)
        r = drift / noise
        return 2 * r / (r + np.sqrt(r * r + 4 * r))
