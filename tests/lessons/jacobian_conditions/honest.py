"""What honest students hand in for jacobian-conditions: a class holds the answers of one style, one function each."""


class loops:
    """Loops over plain Python numbers."""

    import math

    def dense_inputs(n, bias):
        corners = []
        for i in range(n):
            centred = [(1.0 if i == j else 0.0) - 1 / n for j in range(n)]
            # differences of the corners have the products -1/n; sqrt(n) times them, and -1 is left
            corners.append([math.sqrt(n) * x for x in centred] if bias else [float(i == j) for j in range(n)] * 2)
        return corners

    def share_near_right_angle(weights, inputs, gradients):
        def dot(x, y):
            return sum(a * b for a, b in zip(x, y))

        near = 0
        for x in inputs:
            q = [dot(row, x) for row in weights]
            step = [0.0] * len(q)
            for other, gradient in zip(inputs, gradients):
                step = [s - dot(x, other) * g for s, g in zip(step, gradient)]
            angle = math.degrees(math.acos(max(-1, min(1, dot(q, step) / math.sqrt(dot(q, q) * dot(step, step))))))
            near += abs(angle - 90) <= 10
        return near / len(inputs)

    def chance_share(d):
        def area(a, b, n=2000):  # Simpson's rule for sin^(d-2)
            width = (b - a) / n
            return sum((1 if i in (0, n) else 4 if i % 2 else 2) * math.sin(a + i * width) ** (d - 2) for i in range(n + 1))

        near = area(math.radians(80), math.radians(100))
        return near * 20 / (area(0, math.pi) * 180)


class vectorised:
    """NumPy, without loops."""

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
