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
