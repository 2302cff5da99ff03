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


def share_radial(users, items, tau, tol, similarity):
    def scaled(x):
        return [a / length(x) for a in x]

    above = 0
    for i, user in enumerate(users):
        left = scaled(user) if similarity == "cos" else user
        right = [scaled(item) if similarity == "cos" else item for item in items]
        scores = [dot(left, item) / tau for item in right]
        top = max(scores)
        odds = [math.exp(score - top) for score in scores]
        gradient = [0.0] * len(user)
        for j, item in enumerate(right):
            share = odds[j] / sum(odds) - (i == j)
            gradient = [g + share * x for g, x in zip(gradient, item)]
        if similarity == "cos":
            along = dot(gradient, left)
            gradient = [g - along * x for g, x in zip(gradient, left)]
        above += abs(dot(user, gradient)) > tol * length(user) * length(gradient)
    return above / len(users)
