"""What honest students hand in for popularity-direction: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y))

    def bpr_steps(users, items, triples, lr):
        users, items = [list(row) for row in users], [list(row) for row in items]
        for u, i, j in triples:
            margin = dot(users[u], items[i]) - dot(users[u], items[j])
            weight = 1 / (1 + math.exp(margin)) if margin < 0 else math.exp(-margin) / (1 + math.exp(-margin))
            for l in range(len(users[u])):
                e, x, y = users[u][l], items[i][l], items[j][l]
                users[u][l] = e + lr * weight * (x - y)
                items[i][l] = x + lr * weight * e
                items[j][l] = y - lr * weight * e
        return users, items

    def null_correlation(counts, d, ratio):
        n, ranked = len(counts), sorted(counts, reverse=True)
        size = max(1, round(ratio * n))
        shift = math.sqrt(d / (2 * size))
        mean = sum(counts) / n
        spread = math.sqrt(sum((c - mean) ** 2 for c in counts) / n)
        covariance = shift * (sum(ranked[:size]) - sum(ranked[-size:])) / n
        return covariance / (spread * math.sqrt(1 + 2 * size * shift**2 / n))


class vectorised:
    """NumPy, without loops."""

    from fractions import Fraction

    import numpy as np

    def popularity_direction(items, counts, ratio):
        items, counts = np.asarray(items, dtype=float), np.asarray(counts)
        size = max(1, round(ratio * len(counts)))
        order = np.lexsort((np.arange(len(counts)), -counts))
        roles = np.zeros(len(counts), dtype=items.dtype)
        roles[order[:size]], roles[order[-size:]] = 1 / size, -1 / size
        difference = roles @ items
        return difference / np.linalg.norm(difference)

    def cross_fitted(items, counts, ratio, fold):
        items, counts, fold = np.asarray(items, dtype=float), np.asarray(counts), np.asarray(fold)
        found = []
        for k in set(fold.tolist()):
            direction = popularity_direction(items[fold != k], counts[fold != k], ratio)
            x, y = items[fold == k] @ direction, counts[fold == k]
            x, y = x - x.mean(), np.asarray(y - y.mean(), dtype=float)
            found.append((x @ y) / (np.linalg.norm(x) * np.linalg.norm(y)))
        return np.mean(found)

    def times_negative(Y, law):
        Y = np.array(Y, dtype=object)
        weights = {"all": np.ones_like(Y), "unseen": 1 - Y, "popularity": (1 - Y) * Y.sum(axis=0)}[law]
        draws = np.array([Fraction(size, total) for size, total in zip(Y.sum(axis=1), weights.sum(axis=1))])
        return (draws[:, None] * weights).sum(axis=0)

    def bpr_steps(users, items, triples, lr):
        users, items = np.array(users, dtype=float), np.array(items, dtype=float)
        for u, i, j in triples:
            e, rows = users[u].copy(), items[[i, j]]
            move = lr / (1 + np.exp(np.minimum(e @ (rows[0] - rows[1]), 80)))
            users[u] += move * (rows[0] - rows[1])
            items[[i, j]] += move * np.outer([1, -1], e)
        return users, items

    def null_correlation(counts, d, ratio):
        counts = np.sort(np.asarray(counts, dtype=float))
        n = len(counts)
        size = max(1, round(ratio * n))
        shift = np.sqrt(d / (2 * size))
        covariance = shift * (counts[-size:].sum() - counts[:size].sum()) / n
        return covariance / (counts.std() * np.sqrt(1 + d / n))
