import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist


def diagonal_gauges(A):
    return null_space(np.array([[float(x) ** 2 for x in row] for row in A])).shape[1]


def linear_gauges(A):
    rows = np.array(A, dtype=float)
    k = rows.shape[1]
    products = np.array([np.outer(row, row)[np.triu_indices(k)] for row in rows])
    return null_space(products).shape[1]


def decay_gauge(A, B):
    A, B = np.array(A, dtype=float), np.array(B, dtype=float)
    found = []
    for a, b in zip((A**2).sum(axis=0), (B**2).sum(axis=0)):
        best = minimize_scalar(lambda x, a=a, b=b: a * np.exp(2 * x) + b * np.exp(-2 * x), tol=1e-15).x
        for _ in range(3):  # Newton's method, as a minimum is known to half of the digits only
            best -= (a * np.exp(2 * best) - b * np.exp(-2 * best)) / (2 * (a * np.exp(2 * best) + b * np.exp(-2 * best)))
        found.append(np.exp(best))
    return found


def neighbours_left(before, after, k):
    lists = []
    for table in (before, after):
        distances = cdist(table, table, "cosine")
        np.fill_diagonal(distances, np.inf)
        lists.append(np.argsort(distances, axis=1)[:, :k])
    return np.mean([len(np.intersect1d(one, two)) / k for one, two in zip(*lists)])
