"""Typical wrong answers to the assignment in-batch-bias."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-own-negative": Wrong(  # takes every positive for its own negative: rho pop instead of rho (pop - 1)
        answers={
            "negative_weight": """
def negative_weight(labels, i, j, batch_size):
    rows, cols = sum(labels[i]), sum(row[j] for row in labels)
    return Fraction(batch_size - 1, sum(map(sum, labels)) - 1) * rows * cols
""",
            "best_score": """
def best_score(pop, omega, batch_size, n_positives):
    return 1 / (1 + Fraction(omega) * Fraction(batch_size - 1, n_positives - 1) * pop)
""",
        },
        lost=("test_negative_weight_inside", "test_best_score"),
        message="a positive pair is not its own negative",
    ),
    "wrong-with-replacement": Wrong(  # takes s/M for rho, everywhere
        answers={
            "negative_weight": """
def negative_weight(labels, i, j, batch_size):
    rows, cols = sum(labels[i]), sum(row[j] for row in labels)
    return Fraction(batch_size, sum(map(sum, labels))) * (rows * cols - labels[i][j])
""",
            "best_score": """
def best_score(pop, omega, batch_size, n_positives):
    return 1 / (1 + Fraction(omega) * Fraction(batch_size, n_positives) * (pop - 1))
""",
            "share_pushed_down": """
def share_pushed_down(users, items, batch_size):
    pop = np.bincount(users)[users] * np.bincount(items)[items]
    return float(np.mean(pop - 1 > len(users) / batch_size))
""",
        },
        lost=(
            "test_negative_weight_outside",
            "test_negative_weight_inside",
            "test_best_score",
            "test_share_small",
            "test_share_data",
        ),
        message="(s - 1)/(M - 1), not s/M",
    ),
    "wrong-diagonal": Wrong(  # forgets the diagonal in task 4, has the sign of the gap wrong, counts ties as negative
        answers={
            "counterexample": """
def counterexample():
    return [[1, 1, 0], [0, 0, 1]], 2, (0, 2), -1
""",
            "shard_weights": """
def shard_weights(row_counts, col_counts, n_positives, shape, n_devices):
    h = len(row_counts)
    scale = Fraction(n_positives, shape[0] * shape[1] * h) * Fraction(n_positives - 1, h - 1)
    return [[scale / (r * c) for c in col_counts] for r in row_counts]
""",
            "share_pushed_down": """
def share_pushed_down(users, items, batch_size):
    pop = np.bincount(users)[users] * np.bincount(items)[items]
    return float(np.mean((pop - 1) * (batch_size - 1) >= len(users) - 1))
""",
        },
        lost=("test_gap", "test_shard_positives", "test_share_small"),
        message="a positive pair keeps some l- on average",
    ),
}
