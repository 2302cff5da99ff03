"""What honest students hand in for one-batch-many-machines: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math
    from fractions import Fraction

    def own_gradient(Q, K, rank, size, tau):
        B, d = len(Q) // size, len(Q[0])
        to_queries, to_items = [], [[0.0] * d for _ in K]
        for i in range(rank * B, (rank + 1) * B):
            scores = [sum(q * k for q, k in zip(Q[i], item)) / tau for item in K]
            top = max(scores)
            whole = sum(math.exp(score - top) for score in scores)
            row = [0.0] * d
            for j, item in enumerate(K):
                slope = (math.exp(scores[j] - top) / whole - (i == j)) / (B * tau)
                row = [x + slope * k for x, k in zip(row, item)]
                to_items[j] = [x + slope * q for x, q in zip(to_items[j], Q[i])]
            to_queries.append(row)
        return to_queries, to_items

    def assemble(parts):
        size = len(parts)
        queries = [[Fraction(x) / size for x in row] for mine, _ in parts for row in mine]
        items = []
        for j in range(len(parts[0][1])):
            items.append([Fraction(sum(table[j][l] for _, table in parts)) / size for l in range(len(parts[0][1][j]))])
        return queries, items

    def constants(parts):
        size, B = len(parts), len(parts[0][0])
        queries = [[Fraction(x) / size for x in row] for mine, _ in parts for row in mine]
        items = []
        for p, (_, table) in enumerate(parts):
            for j in range(p * B, p * B + B):
                items.append([Fraction(x) / size for x in table[j]])
        return queries, items

    def expected_weights(labels, processes, batch):
        m, n = len(labels), len(labels[0])
        total = sum(sum(row) for row in labels)
        local, gathered = [[0] * n for _ in range(m)], [[0] * n for _ in range(m)]
        for i in range(m):
            for j in range(n):
                pairs = 0
                for l in range(n):
                    for k in range(m):
                        pairs += labels[i][l] * labels[k][j] * ((i, l) != (k, j))
                step = processes * batch
                local[i][j] = Fraction(pairs * step * (batch - 1), total * (total - 1))
                gathered[i][j] = Fraction(pairs * step * (step - 1), total * (total - 1))
        return local, gathered

    def combined(grams, sizes):
        d = range(len(grams[0]))
        return [[Fraction(sum(s * g[r][c] for g, s in zip(grams, sizes))) / sum(sizes) for c in d] for r in d]

    def crossing(processes, d, rows, gather):
        gramians = Fraction(4 * (processes - 1) * d * d, processes)
        blocks = (2 if rows == "all" else 1) * (2 if gather == "gradients" else 1) * (processes - 1) * d
        batch = 1
        while batch * blocks <= gramians:
            batch += 1
        return batch


class vectorised:
    """NumPy, without loops."""

    from fractions import Fraction

    import numpy as np

    def own_gradient(Q, K, rank, size, tau):
        Q, K = np.asarray(Q, dtype=float), np.asarray(K, dtype=float)
        B = len(Q) // size
        mine = slice(rank * B, (rank + 1) * B)
        scores = Q[mine] @ K.T / tau
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        slopes = (odds / odds.sum(axis=1, keepdims=True) - np.eye(len(Q))[mine].astype(Q.dtype)) / (B * tau)
        return slopes @ K, slopes.T @ Q[mine]

    def assemble(parts):
        queries, items = zip(*parts)
        share = Fraction(1, len(parts))
        return np.array(queries, dtype=object).reshape(-1, len(queries[0][0])) * share, np.array(items, object).sum(0) * share

    def constants(parts):
        queries, items = (np.array(tables, dtype=object) for tables in zip(*parts))
        size, B, d = queries.shape
        own = items.reshape(size, size, B, d)[np.arange(size), np.arange(size)]
        return [queries.reshape(-1, d) * Fraction(1, size), own.reshape(-1, d) * Fraction(1, size)]

    def combined(grams, sizes):
        grams, sizes = np.array(grams, dtype=object), np.array(sizes, dtype=object)
        return np.tensordot(sizes, grams, axes=1) * Fraction(1, sizes.sum())


class torch:
    """Torch."""

    import torch

    def own_gradient(Q, K, rank, size, tau):
        Q = torch.tensor(Q, dtype=torch.float64, requires_grad=True)
        K = torch.tensor(K, dtype=torch.float64, requires_grad=True)
        mine = torch.arange(len(Q)).reshape(size, -1)[rank]
        torch.nn.functional.cross_entropy(Q[mine] @ K.T / tau, mine).backward()
        return Q.grad[mine], K.grad
