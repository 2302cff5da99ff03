"""Typical wrong answers to the assignment popularity-direction."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-as-printed": Wrong(  # believes the paper: no negative role, one axis for all data, a null of zero
        answers={
            "first_pull": """
def first_pull(Y, users):
    return (np.array(Y, dtype=object).T @ np.array(users, dtype=object)) * Fraction(1, 2)
""",
            "times_negative": """
def times_negative(Y, law):
    Y = np.array(Y, dtype=object)
    return [Fraction(int(Y.sum()), Y.shape[1])] * Y.shape[1]
""",
            "two_tastes": """
def two_tastes(m, n):
    Y = (np.arange(n) <= np.arange(m)[:, None] * (n - 2) // (m - 1)).astype(int)
    Y[0, -1] = 1
    return Y
""",
            "against_the_mean": """
def against_the_mean(m, count):
    return [[Fraction(1, 2), Fraction((-1) ** u, 2)] for u in range(m)], list(range(count))
""",
            "null_correlation": """
def null_correlation(counts, d, ratio):
    return 0.0
""",
        },
        lost=(
            "test_pull_even",
            "test_pull_uneven",
            "test_negatives_uniform",
            "test_negatives_popular",
            "test_two_tastes",
            "test_against_the_mean",
            "test_null_small",
            "test_null_films",
        ),
        message="every item is a negative as well",
    ),
    "wrong-measured-twice": Wrong(  # a direction with a length, measured along the items that made it
        answers={
            "popularity_direction": """
def popularity_direction(items, counts, ratio):
    items, counts = np.array(items), np.array(counts)
    size = max(1, round(ratio * len(counts)))
    order = np.argsort(-counts, kind="stable")
    return items[order[:size]].mean(axis=0) - items[order[-size:]].mean(axis=0)
""",
            "cross_fitted": """
def cross_fitted(items, counts, ratio, fold):
    return np.corrcoef(np.array(items) @ popularity_direction(items, counts, ratio), counts)[0, 1]
""",
            "times_negative": """
def times_negative(Y, law):
    Y = np.array(Y, dtype=object)
    weights = {"all": 0 * Y + 1, "unseen": 1 - Y, "popularity": 0 * Y + Y.sum(axis=0)}[law]
    draws = [Fraction(int(size), int(total)) for size, total in zip(Y.sum(axis=1), weights.sum(axis=1))]
    return np.array(draws) @ weights
""",
            "null_correlation": """
def null_correlation(counts, d, ratio):
    counts = np.sort(np.array(counts, dtype=float))[::-1]
    n, size = len(counts), max(1, round(ratio * len(counts)))
    delta = np.sqrt(d / (2 * size))
    return size / n * delta * (counts[:size].mean() - counts[-size:].mean()) / counts.std()
""",
        },
        lost=("test_direction", "test_cross_fitted", "test_negatives_popular", "test_null_small", "test_null_films"),
        message="this uses the items twice",
    ),
    "wrong-moving-user": Wrong(  # the items follow a user who has moved already; the rest of the bookkeeping slips, too
        answers={
            "bpr_steps": """
def bpr_steps(users, items, triples, lr):
    users, items = np.array(users, dtype=float), np.array(items, dtype=float)
    for u, i, j in triples:
        difference = items[i] - items[j]
        move = lr * np.exp(-np.logaddexp(0, users[u] @ difference))
        users[u] += move * difference
        items[i] += move * users[u]
        items[j] -= move * users[u]
    return [users, items]
""",
            "sum_after": """
def sum_after(total, lr, decay, steps):
    kept = (1 - Fraction(lr) * Fraction(decay)) ** steps
    return [kept * entry for entry in total]
""",
            "gap": """
def gap(positives, total, n_items):
    liked = np.array(positives, dtype=object).sum(axis=0) * Fraction(1, len(positives))
    return liked - np.array(total, dtype=object) * Fraction(1, n_items)
""",
            "first_pull": """
def first_pull(Y, users):
    Y, users = np.array(Y, dtype=object), np.array(users, dtype=object)
    size = int(Y[0].sum())
    return ((Y - (1 - Y) * Fraction(size, Y.shape[1] - size)).T @ users) * Fraction(1, 2)
""",
        },
        lost=("test_step", "test_sum", "test_gap", "test_pull_uneven"),
        message="the item steps use the user's embedding from before the step",
    ),
}
