"""Typical wrong answers to the assignment popularity-norm-coupling."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-counts-add-up": Wrong(  # adds up probabilities, and so forgets that a batch updates an item once
        answers={
            "update_probability": """
def update_probability(count, total, batch_size, extra, n_items):
    return batch_size * Fraction(count, total) + extra * Fraction(1, n_items)
""",
            "predicted_slope": """
def predicted_slope(counts, batch_size, steps, lr, start_norm, h_squared):
    counts = np.asarray(counts, dtype=float)
    updates = steps * batch_size * counts / counts.sum()
    return popularity_slope(counts, (start_norm**4 + 2 * lr**2 * h_squared * updates) ** 0.25)
""",
        },
        lost=("test_update_plain", "test_update_extra", "test_predicted_slope"),
        message="B p counts how many",
    ),
    "wrong-no-feedback": Wrong(  # forgets that longer vectors get shorter gradients
        answers={
            "squared_norm_after": """
def squared_norm_after(start, squared_pulls, lr):
    return start + lr**2 * sum(squared_pulls)
""",
            "matching_lr": """
def matching_lr(lr, norm, other_norm):
    return lr * Fraction(other_norm, norm)
""",
            "equilibrium_norm": """
def equilibrium_norm(probability, lr, decay, h, lazy):
    return (probability * lr**2 * h**2 / (1 - (1 - lr * decay) ** 2)) ** 0.25
""",
        },
        lost=("test_growth", "test_symmetry", "test_equilibrium"),
        message="the probability cancels",
    ),
    "wrong-count-decides": Wrong(  # believes that the number of updates decides, and forgets the least popular item
        answers={
            "rare_but_longer": """
def rare_but_longer():
    return [1.0, 0.0], 0.5, [[0.0, 1.0]] * 10, [[0.0, 1.0]] * 100
""",
            "sum_of_squared_pulls": """
def sum_of_squared_pulls(start, lr, keys):
    return len(keys)
""",
            "largest_lr": """
def largest_lr(counts, batch_size, steps, start_norm, h_squared, ratio):
    most = steps * (1 - (1 - max(counts) / sum(counts)) ** batch_size)
    return float(np.sqrt(start_norm**4 * (ratio**4 - 1) / (2 * h_squared * most)))
""",
        },
        lost=("test_rare_longer", "test_sum_of_pulls", "test_largest_lr"),
        message="the least popular item grows, too",
    ),
}
