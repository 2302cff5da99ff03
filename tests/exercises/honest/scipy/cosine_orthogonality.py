import numpy as np
from scipy.linalg import null_space, svd
from scipy.special import softmax


def cosine_gradient(q, k):
    q, k = np.array(q), np.array(k)
    tangent = null_space(q[None, :])  # an orthonormal basis of what is orthogonal to q
    return tangent @ (tangent.T @ k) / (np.linalg.norm(q) * np.linalg.norm(k))


def longest_loss(q, keys):
    return svd(np.array([cosine_gradient(q, key) for key in keys]))[0][:, 0]


def share_radial(users, items, tau, tol, similarity):
    users, items = np.array(users), np.array(items)
    directions = users / np.linalg.norm(users, axis=1, keepdims=True)
    left, right = users, items
    if similarity == "cos":
        left, right = directions, items / np.linalg.norm(items, axis=1, keepdims=True)
    gradients = (softmax(left @ right.T / tau, axis=1) - np.eye(len(users))) @ right
    if similarity == "cos":
        gradients -= np.einsum("id,id->i", gradients, directions)[:, None] * directions
    radial = np.abs(np.einsum("id,id->i", gradients, directions))
    return np.mean(radial > tol * np.linalg.norm(gradients, axis=1))
