import math


def kernel_block(A, B, x_i, x_j, bias):
    d, h, f = len(B), len(A), len(A[0])
    table = [[0] * d for _ in range(d)]
    for r in range(d):
        for c in range(d):
            for l in range(h):
                for p in range(f):  # A[l][p] moves q_r by B[r][l] x[p]
                    table[r][c] += B[r][l] * x_i[p] * B[c][l] * x_j[p]
            if r == c:
                for l in range(h):
                    table[r][c] += sum(A[l][p] * x_i[p] for p in range(f)) * sum(A[l][p] * x_j[p] for p in range(f))
                table[r][c] += 1 if bias else 0
    return table


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
