import numpy as np
from scipy.linalg import helmert
from scipy.spatial.distance import cosine
from scipy.stats import beta


def dense_inputs(n, bias):
    corners = np.sqrt(n) * helmert(n).T if bias else np.eye(n)  # n points of n - 1 numbers, their products -1
    return np.hstack([corners, corners]) / np.sqrt(2)


def share_near_right_angle(weights, inputs, gradients):
    weights, inputs, gradients = map(np.array, (weights, inputs, gradients))
    q, step = inputs @ weights.T, inputs @ (inputs.T @ gradients)
    return np.mean([abs(1 - cosine(x, y)) <= np.cos(np.radians(80)) for x, y in zip(q, step)])


def chance_share(d):
    law = beta((d - 1) / 2, (d - 1) / 2)  # (1 + cosine) / 2
    return law.cdf((1 + np.sin(np.radians(10))) / 2) - law.cdf((1 - np.sin(np.radians(10))) / 2)
