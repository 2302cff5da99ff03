"""What honest students hand in for cosine-orthogonality: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math

    def dot(x, y):
        return sum(a * b for a, b in zip(x, y))

    def length(x):
        return math.sqrt(dot(x, x))

    def cosine_gradient(q, k):
        cosine = dot(q, k) / (length(q) * length(k))
        return [k[l] / (length(q) * length(k)) - cosine * q[l] / dot(q, q) for l in range(len(q))]

    def shrinking_step():
        q, k = [-0.002, 0.0], [1.0, 0.0]
        return q, k, 0.0018 * 0.01  # inside the ball the gradient of the cosine is k / 0.01

    def longest_loss(q, keys):
        gradients = [cosine_gradient(q, key) for key in keys]
        gram = [[dot(x, y) for y in gradients] for x in gradients]
        weights = [1.0 + 0.1 * s for s in range(len(keys))]
        for _ in range(5000):  # power iteration
            weights = [dot(row, weights) for row in gram]
            size = length(weights)
            weights = [w / size for w in weights]
        return weights


class vectorised:
    """NumPy, without loops."""

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
