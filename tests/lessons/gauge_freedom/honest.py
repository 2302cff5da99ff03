"""What honest students hand in for gauge-freedom: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math
    import random
    from fractions import Fraction

    def rank(rows):
        rows, found = [[Fraction(x) for x in row] for row in rows], 0
        for column in range(len(rows[0])):
            pivot = next((r for r in range(found, len(rows)) if rows[r][column]), None)
            if pivot is None:
                continue
            rows[found], rows[pivot] = rows[pivot], rows[found]
            for r in range(found + 1, len(rows)):
                factor = rows[r][column] / rows[found][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[found])]
            found += 1
        return found

    def diagonal_gauges(A):
        return len(A[0]) - rank([[x * x for x in row] for row in A])

    def linear_gauges(A):
        k = len(A[0])
        return k * (k + 1) // 2 - rank([[row[i] * row[j] for i in range(k) for j in range(i + 1)] for row in A])

    def feasible_gauge(k, n):
        random.seed(4)
        while True:
            rows = []
            for i in range(n):
                row = [random.gauss(0, 1) for _ in range(k)]
                row[1] = row[0] if i % 2 else -row[0]
                size = math.sqrt(sum(x * x for x in row))
                rows.append([x / size for x in row])
            cosines = [abs(sum(x * y for x, y in zip(rows[i], rows[j]))) for i in range(n) for j in range(i)]
            import numpy as np

            if max(cosines, default=0) < 0.99 and min(np.linalg.svd(rows)[1]) > 0.02:
                return rows, [math.sqrt(1.4), math.sqrt(0.6)] + [1] * (k - 2)

    def nearest_by_gauge(B, i, j):
        random.seed(1)
        best, found = -2.0, None
        for _ in range(3000):
            d = [math.exp(random.gauss(0, 1.3)) for _ in B[0]]
            rows = []
            for row in B:
                scaled = [x / y for x, y in zip(row, d)]
                size = math.sqrt(sum(x * x for x in scaled))
                rows.append([x / size for x in scaled])
            cosines = [sum(x * y for x, y in zip(rows[i], row)) for row in rows]
            margin = cosines[j] - max(c for other, c in enumerate(cosines) if other not in (i, j))
            if margin > best:
                best, found = margin, d
        return found

    def pinning_rows(k):
        rows = []
        for i in range(k):
            for j in range(i, k):
                row = [0.0] * k
                row[i], row[j] = (1.0, 1.0) if i == j else (0.6, 0.8)
                rows.append(row)
        return rows

    def decay_gauge(A, B):
        found = []
        for l in range(len(A[0])):
            a, b = sum(row[l] ** 2 for row in A), sum(row[l] ** 2 for row in B)
            found.append((b / a) ** 0.25)
        return found

    def neighbours_left(before, after, k):
        def nearest(table, i):
            def cosine(j):
                x, y = table[i], table[j]
                return sum(a * b for a, b in zip(x, y)) / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))

            others = [j for j in range(len(table)) if j != i]
            return set(sorted(others, key=cosine)[-k:])

        return sum(len(nearest(before, i) & nearest(after, i)) / k for i in range(len(before))) / len(before)


class vectorised:
    """NumPy, without loops."""

    import numpy as np

    def what_survives(M):
        M = np.array(M, dtype=object)
        gram, eye = M.T @ M, np.eye(len(M), dtype=int)
        similar = np.all(gram == gram[0, 0] * eye)
        return np.array([np.all(M == M[0, 0] * eye) and M[0, 0] > 0, similar and gram[0, 0] == 1, similar])

    def feasible_gauge(k, n):
        rng = np.random.default_rng(3)
        while True:
            A = rng.normal(size=(n, k))
            A[:, 1] = np.where(np.arange(n) % 2 == 0, A[:, 0], -A[:, 0])
            A = np.asarray(A / np.linalg.norm(A, axis=1, keepdims=True), dtype=float)
            if np.abs(A @ A.T - np.eye(n)).max() < 0.99 and np.linalg.svd(A)[1].min() > 0.02:
                return A, np.sqrt(np.asarray([1.3, 0.7] + [1.0] * (k - 2), dtype=float))

    def nearest_by_gauge(B, i, j):
        B, rng = np.asarray(B, dtype=float), np.random.default_rng(2)
        d = np.asarray(np.exp(rng.normal(scale=1.4, size=(4000, B.shape[1]))), dtype=float)
        rows = B[None] / d[:, None]
        rows = rows / np.linalg.norm(rows, axis=2, keepdims=True)
        cosines = np.einsum("gnk,gk->gn", rows, rows[:, i])
        others = np.delete(cosines, [i, j], axis=1).max(axis=1)
        return d[np.argmax(cosines[:, j] - others)]

    def pinning_rows(k):
        r, c = np.tril_indices(k)
        axes = np.eye(k, dtype=float)
        rows = axes[r] + axes[c]
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def decay_gauge(A, B):
        A, B = np.asarray(A, dtype=float), np.asarray(B, dtype=float)
        return ((B**2).sum(axis=0) / (A**2).sum(axis=0)) ** 0.25

    def neighbours_left(before, after, k):
        def lists(table):
            rows = np.asarray(table, dtype=float)
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            cosines = rows @ rows.T - 3 * np.eye(len(rows))
            return np.argpartition(-cosines, k - 1, axis=1)[:, :k]

        one, two = lists(before), lists(after)
        return (one[:, :, None] == two[:, None, :]).any(axis=2).mean()
