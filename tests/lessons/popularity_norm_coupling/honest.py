"""What honest students hand in for popularity-norm-coupling: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math

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


class vectorised:
    """NumPy, without loops."""

    import numpy as np

    def sum_of_squared_pulls(start, lr, keys):
        q, keys = np.asarray(start, dtype=float), np.asarray(keys, dtype=float)
        keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        total = 0
        for key in keys:
            direction = q / np.linalg.norm(q)
            pull = key - (key @ direction) * direction
            total, q = total + pull @ pull, q + lr * pull / np.linalg.norm(q)
        return total

    def equilibrium_norm(probability, lr, decay, h, lazy):
        chance = np.where(lazy, 1.0, probability)
        lr, decay, h = np.asarray(lr, dtype=float), np.asarray(decay, dtype=float), np.asarray(h, dtype=float)
        # s (1 - (1 - lr decay)^2) = chance lr^2 h^2 / s
        return np.sqrt(np.sqrt(chance * lr * h**2 / (decay * (2 - lr * decay))))

    def popularity_slope(counts, norms):
        counts, norms = np.asarray(counts, dtype=float), np.asarray(norms, dtype=float)
        x, y = np.log(counts[counts > 0]), np.log(norms[counts > 0])
        return np.cov(x, y, bias=True)[0, 1] / x.var()

    def predicted_slope(counts, batch_size, steps, lr, start_norm, h_squared):
        counts = np.asarray(counts, dtype=float)
        updates = -steps * np.expm1(batch_size * np.log1p(-counts / counts.sum()))
        return popularity_slope(counts, (start_norm**4 + 2 * lr**2 * h_squared * updates) ** 0.25)

    def largest_lr(counts, batch_size, steps, start_norm, h_squared, ratio):
        counts = np.asarray(counts, dtype=float)
        least, most = -steps * np.expm1(batch_size * np.log1p(-np.array([counts.min(), counts.max()]) / counts.sum()))
        room = most - ratio**4 * least
        return None if room <= 0 else np.sqrt(start_norm**4 * (ratio**4 - 1) / (2 * h_squared * room))
