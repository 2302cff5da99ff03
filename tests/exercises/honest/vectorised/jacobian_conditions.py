import numpy as np


def kernel_block(A, B, x_i, x_j, bias):
    A, B, x_i, x_j = map(np.array, (A, B, x_i, x_j))
    eye = np.eye(len(B), dtype=int)
    return (x_i @ x_j) * (B @ B.T) + ((A @ x_i) @ (A @ x_j) + int(bias)) * eye


def stays_tangent(kernel, embeddings):
    K, q = np.array(kernel, dtype=object), np.array(embeddings, dtype=object)
    pushed = np.einsum("ijab,ia->ijb", K, q)
    minors = pushed[:, :, :, None] * q[None, :, None, :]
    return np.all(minors == np.swapaxes(minors, 2, 3))


def dense_inputs(n, bias):
    centred = np.eye(n, dtype=float) - np.asarray(1 / n, dtype=float) * int(bias)
    return np.sqrt(np.asarray(n / 2, dtype=float)) * np.hstack([centred, centred])


def share_near_right_angle(weights, inputs, gradients):
    weights, inputs, gradients = (np.asarray(x, dtype=float) for x in (weights, inputs, gradients))
    q, step = inputs @ weights.T, -inputs @ (inputs.T @ gradients)
    cosines = (q * step).sum(axis=1) / (np.linalg.norm(q, axis=1) * np.linalg.norm(step, axis=1))
    return np.mean(np.abs(cosines) <= np.sin(np.radians(10)))


def chance_share(d):
    nodes, weights = np.polynomial.legendre.leggauss(400)
    near, half = np.radians(10) * nodes, np.pi / 2 * nodes  # the angle from the equator; its law is cos^(d-2)
    top = np.cos(near) ** (d - 2) @ weights * np.radians(10)
    return np.asarray(top / (np.cos(half) ** (d - 2) @ weights * np.pi / 2), dtype=float)
