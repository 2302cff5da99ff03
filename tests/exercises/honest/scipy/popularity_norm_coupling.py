import numpy as np
from scipy.optimize import brentq
from scipy.stats import linregress


def popularity_slope(counts, norms):
    counts, norms = np.array(counts, dtype=float), np.array(norms)
    return linregress(np.log(counts[counts > 0]), np.log(norms[counts > 0])).slope


def equilibrium_norm(probability, lr, decay, h, lazy):
    chance = 1 if lazy else probability

    def gain(log_s):
        s = np.exp(log_s)
        return (1 - lr * decay) ** 2 * s + chance * (lr * h) ** 2 / s - s

    middle = np.log(chance * (lr * h) ** 2 / (1 - (1 - lr * decay) ** 2)) / 2
    return np.exp(brentq(gain, middle - 3, middle + 2, xtol=1e-14) / 2)


def largest_lr(counts, batch_size, steps, start_norm, h_squared, ratio):
    counts = np.array([min(counts), max(counts)]) / sum(counts)
    least, most = steps * (1 - (1 - counts) ** batch_size)

    def above(log_lr):
        square = 2 * np.exp(2 * log_lr) * h_squared
        return np.log(start_norm**4 + square * most) - np.log(start_norm**4 + square * least) - 4 * np.log(ratio)

    return np.exp(brentq(above, -40, 40, xtol=1e-15)) if above(40) > 0 else None
