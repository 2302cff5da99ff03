"""What honest students hand in for gramian-estimators: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math
    from fractions import Fraction

    def all_pairs(U, V, w, z, c):
        d, wide = len(U[0]), range(len(U[0]))
        left = [[sum(a * u[r] * u[s] for a, u in zip(w, U)) for s in wide] for r in wide]
        right = [[sum(b * v[r] * v[s] for b, v in zip(z, V)) for s in wide] for r in wide]
        mean_u = [sum(a * u[r] for a, u in zip(w, U)) for r in wide]
        mean_v = [sum(b * v[r] for b, v in zip(z, V)) for r in wide]
        squares = sum(left[r][s] * right[r][s] for r in range(d) for s in range(d))
        return squares - 2 * c * sum(x * y for x, y in zip(mean_u, mean_v)) + c * c * sum(w) * sum(z)

    def gravity_gradient(U, V, pairs, x):
        d, n = len(V[0]), len(pairs)
        times, found = 0, [0] * d
        for left, _ in pairs:
            times += left == x
        for _, y in pairs:
            score = sum(U[x][l] * V[y][l] for l in range(d))
            found = [f + score * V[y][l] for l, f in enumerate(found)]
        return [Fraction(2 * times, n * n) * f for f in found]

    def sogram(batches, rates):
        d = len(batches[0][0])
        total, rest = [[Fraction(0)] * d for _ in range(d)], Fraction(1)
        for rows, rate in zip(batches, rates):
            rest *= 1 - rate
            for r in range(d):
                for s in range(d):
                    mean = sum(Fraction(row[r]) * row[s] for row in rows) / len(rows)
                    total[r][s] = (1 - rate) * total[r][s] + rate * mean
        return [[entry / (1 - rest) for entry in row] for row in total]

    def sagram_mean(tables, beta, b):
        n, d = len(tables[0]), len(tables[0][0])

        def gram(table):
            return [[Fraction(sum(row[r] * row[s] for row in table)) / n for s in range(d)] for r in range(d)]

        cache, stays = gram(tables[0]), Fraction(n - 1, n) ** b
        for table in tables[1:-1]:
            new = gram(table)
            cache = [[stays * cache[r][s] + (1 - stays) * new[r][s] for s in range(d)] for r in range(d)]
        now = gram(tables[-1])
        return [[(1 - beta) * cache[r][s] + beta * now[r][s] for s in range(d)] for r in range(d)]

    def smallest_batches(share, n):
        first = 1
        while Fraction(1, first) > share:
            first += 1
        second = 1
        while Fraction(n - second, second * (n - 1)) > share:
            second += 1
        return first, second

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


class torch:
    """Torch."""

    import torch

    def best_rate(path, batches):
        path, batches = torch.tensor(path, dtype=torch.float64), torch.tensor(batches, dtype=torch.float64)
        r = path.diff(dim=0).square().sum((1, 2)).mean() / (batches - path).square().sum((1, 2)).mean()
        return ((r * r + 4 * r).sqrt() - r) / 2
