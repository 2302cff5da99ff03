import numpy as np


def cosine_gradient(q, k):
    q, k = np.asarray(q, dtype=float), np.asarray(k, dtype=float)
    lengths = np.linalg.norm(q) * np.linalg.norm(k)
    return k / lengths - (q @ k) / lengths * q / (q @ q)


def longest_loss(q, keys):
    q, keys = np.asarray(q, dtype=float), np.asarray(keys, dtype=float)
    keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    direction = q / np.linalg.norm(q)
    tangent = keys - np.outer(keys @ direction, direction)
    return np.linalg.eigh(tangent @ tangent.T)[1][:, -1]


def share_radial(users, items, tau, tol, similarity):
    users, items = np.asarray(users, dtype=float), np.asarray(items, dtype=float)
    lengths = np.linalg.norm(users, axis=1, keepdims=True)
    directions = users / lengths
    left, right = users, items
    if similarity == "cos":
        left, right = directions, items / np.linalg.norm(items, axis=1, keepdims=True)
    scores = left @ right.T / tau
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    gradients = probabilities @ right - right
    if similarity == "cos":
        gradients = gradients - (gradients * directions).sum(axis=1, keepdims=True) * directions
    radial = np.abs((gradients * directions).sum(axis=1))
    return np.mean(radial > tol * np.linalg.norm(gradients, axis=1))
