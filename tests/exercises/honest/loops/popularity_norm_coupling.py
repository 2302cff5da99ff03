import math
from fractions import Fraction


def update_probability(count, total, batch_size, extra, n_items):
    missed = Fraction(1)
    for _ in range(batch_size):
        missed *= Fraction(total - count, total)
    for _ in range(extra):
        missed *= Fraction(n_items - 1, n_items)
    return 1 - missed


def sum_of_squared_pulls(start, lr, keys):
    q, total = list(start), 0.0
    for key in keys:
        norm, size = math.sqrt(sum(x * x for x in q)), math.sqrt(sum(x * x for x in key))
        cosine = sum(x * y for x, y in zip(q, key)) / (norm * size)
        pull = [y / size - cosine * x / norm for x, y in zip(q, key)]
        total += sum(x * x for x in pull)
        q = [x + lr * p / norm for x, p in zip(q, pull)]
    return total


def popularity_slope(counts, norms):
    points = [(math.log(c), math.log(n)) for c, n in zip(counts, norms) if c > 0]
    mx, my = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
    return sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)


def predicted_slope(counts, batch_size, steps, lr, start_norm, h_squared):
    total, norms = sum(counts), []
    for count in counts:
        updates = steps * (1 - (1 - count / total) ** batch_size)
        norms.append((start_norm**4 + 2 * lr * lr * h_squared * updates) ** (1 / 4))
    return popularity_slope(counts, norms)


def largest_lr(counts, batch_size, steps, start_norm, h_squared, ratio):
    def quotient(lr):
        ends = []
        for count in (max(counts), min(counts)):
            updates = steps * (1 - (1 - count / sum(counts)) ** batch_size)
            ends.append((start_norm**4 + 2 * lr**2 * h_squared * updates) ** 0.25)
        return ends[0] / ends[1]

    low, high = 0.0, 1.0
    while quotient(high) <= ratio:
        high *= 2
        if high > 1e12:
            return None
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if quotient(middle) <= ratio else (low, middle)
    return low
