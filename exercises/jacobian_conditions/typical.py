"""Typical wrong answers to the assignment jacobian-conditions."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-last-layer-only": Wrong(  # differentiates with respect to the last layer only, and forgets the bias
        answers={
            "kernel_block": """
def kernel_block(A, B, x_i, x_j, bias):
    codes = int((np.array(A) @ x_i) @ (np.array(A) @ x_j))
    return [[codes if r == c else 0 for c in range(len(B))] for r in range(len(B))]
""",
            "dense_inputs": """
def dense_inputs(n, bias):
    return np.hstack([np.eye(n), np.eye(n)])
""",
        },
        lost=("test_kernel_plain", "test_kernel_bias", "test_inputs_bias"),
        message="A is trained, too",
    ),
    "wrong-lookups-only": Wrong(  # takes the sufficient conditions for necessary ones
        answers={
            "stays_tangent": """
def stays_tangent(kernel, embeddings):
    n, d = len(embeddings), len(embeddings[0])
    for i in range(n):
        for j in range(n):
            for r in range(d):
                for c in range(d):
                    entry = kernel[i][j][r][c]
                    if (r != c or embeddings[i] != embeddings[j]) and entry != 0:
                        return False
    return True
""",
            "tangent_tower": """
def tangent_tower(condition):
    return [[1, 0], [0, 1]], [[1, 0], [0, 1]]
""",
        },
        lost=("test_stays_tangent", "test_tower_i", "test_tower_ii"),
        message="what counts is where they send tangent gradients",
    ),
    # every example moves by its own gradient alone, momentum included; the null of the plane
    "wrong-own-gradient": Wrong(
        answers={
            "squared_norm_with_momentum": """
def squared_norm_with_momentum(start, squared_velocities, lr, momentum):
    return start + lr**2 * sum(squared_velocities)
""",
            "share_near_right_angle": """
def share_near_right_angle(weights, inputs, gradients):
    weights, inputs, gradients = (np.asarray(x, dtype=float) for x in (weights, inputs, gradients))
    embeddings = inputs @ weights.T
    cosines = (embeddings * gradients).sum(1)
    cosines /= np.linalg.norm(embeddings, axis=1) * np.linalg.norm(gradients, axis=1)
    return float(np.mean(np.abs(np.degrees(np.arccos(np.clip(cosines, -1, 1))) - 90) <= 10))
""",
            "chance_share": """
def chance_share(d):
    return 20 / 180
""",
        },
        lost=("test_momentum", "test_share", "test_chance"),
        message="a step on W moves every example",
    ),
}
