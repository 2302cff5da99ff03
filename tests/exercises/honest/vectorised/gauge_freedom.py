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
