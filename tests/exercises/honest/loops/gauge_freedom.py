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
