import numpy as np
from scipy.optimize import brentq


def best_rate(path, batches):
    path, batches = np.array(path), np.array(batches)
    drift = (np.diff(path, axis=0) ** 2).sum() / (len(path) - 1)
    noise = ((batches - path) ** 2).sum() / len(path)

    def slope(rate):  # of (1 - rate)^2 drift / (rate (2 - rate)) + rate noise / (2 - rate), times rate^2 (2 - rate)^2 / 2
        return noise * rate**2 - (1 - rate) * drift

    return brentq(slope, 0, 1, xtol=1e-15, rtol=1e-14)
