"""Typical wrong answers to the assignment cosine-orthogonality."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-unit-only": Wrong(  # thinks of unit vectors everywhere: no division by ||q||
        answers={
            "cosine_gradient": """
def cosine_gradient(q, k):
    q, k = np.asarray(q, dtype=float), np.asarray(k, dtype=float)
    direction, key = q / np.linalg.norm(q), k / np.linalg.norm(k)
    return key - (direction @ key) * direction
""",
            "squared_norm_after": """
def squared_norm_after(squared_norm, cos_squared, slope, lr):
    return squared_norm + lr**2 * slope**2 * (1 - cos_squared)
""",
        },
        lost=("test_gradient_any", "test_norm_after"),
        message="divided by ||q||",
    ),
    "wrong-always-tangent": Wrong(  # does not believe in the clamp, and takes one key for the strongest loss
        answers={
            "shrinking_step": """
def shrinking_step():
    return [-1.0, 0.2], [1.0, 0.0], 1.5
""",
            "radial_part": """
def radial_part(norm, cosine, eps):
    return Fraction(0)
""",
            "longest_loss": """
def longest_loss(q, keys):
    lengths = [np.linalg.norm(cosine_gradient(q, key)) for key in keys]
    return np.eye(len(keys))[int(np.argmax(lengths))]
""",
        },
        lost=("test_shrinking", "test_radial_part", "test_longer_than_one", "test_longest"),
        message="below eps the clamp makes cos_eps linear in q",
    ),
    "wrong-keys-not-gradients": Wrong(  # forgets that only tangent parts push, and counts inward radial parts as none
        answers={
            "longest_loss": """
def longest_loss(q, keys):
    keys = np.asarray(keys, dtype=float)
    return np.linalg.svd(keys / np.linalg.norm(keys, axis=1, keepdims=True))[0][:, 0]
""",
            "share_radial": """
def share_radial(users, items, tau, tol, similarity):
    users, items = np.asarray(users, dtype=float), np.asarray(items, dtype=float)
    lengths = np.linalg.norm(users, axis=1, keepdims=True)
    directions = users / lengths
    if similarity == "cos":
        return 0.0
    scores = users @ items.T / tau
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    gradients = (odds / odds.sum(axis=1, keepdims=True) - np.eye(len(users))) @ items
    radial = (gradients * directions).sum(1)
    return float(np.mean(radial > tol * np.linalg.norm(gradients, axis=1)))
""",
        },
        lost=("test_longer_than_one", "test_longest", "test_share_small", "test_share_data"),
        message="a radial part may point inward",
    ),
}
