"""Typical wrong answers to the assignment ddc."""

from exercises.engine.chapters import Wrong

WRONG = {
    # believes the paper: alpha is negative, the optimum exists and is better, loss is quality
    "wrong-as-printed": Wrong(
        answers={
            "minimisers": """
def minimisers(a, b):
    return "one"
""",
            "sign_of_alpha": """
def sign_of_alpha(pos_scores, neg_scores, a, b, beta):
    return -1
""",
            "flip": """
def flip(user, positives, negatives, pop):
    return [0.0] * len(user)
""",
            "ranks_worse": """
def ranks_worse(drop):
    return [0, 1, 0], [[1, 1, 0], [-1, 2, 0]], [[0, -1, 1], [0, -1, -1]], [0, 0, 1]
""",
            "inflation": """
def inflation(margins, fraction):
    return 1 / fraction
""",
        },
        lost=(
            "test_minimisers",
            "test_without",
            "test_solve",
            "test_sign",
            "test_flip",
            "test_worse",
            "test_inflation",
        ),
        message="It does not become negative for everybody",
    ),
    "wrong-whole-history": Wrong(  # e_pref of the whole history, pairs one by one, lists that repeat the history
        answers={
            "preference_direction": """
def preference_direction(user, items, history, share):
    total = np.array(items)[history].sum(axis=0)
    return total / np.linalg.norm(total) if total.any() else None
""",
            "user_loss": """
def user_loss(pos_scores, neg_scores, a, b, alpha, beta):
    positive = np.array(pos_scores) + beta * np.array(a)
    negative = np.array(neg_scores) + alpha * np.array(b)
    return np.log(1 + np.exp(negative - positive[:, None])).mean()
""",
            "measure": """
def measure(users, items, histories, held_out, counts, k):
    lists = np.argsort(-np.array(users) @ np.array(items).T, axis=1, kind="stable")[:, :k]
    ranks = []
    for row, wanted in zip(lists, held_out):
        hits = np.flatnonzero(np.isin(row, wanted))
        ranks.append(1 / (1 + hits[0]) if len(hits) else 0.0)
    return [np.array(counts)[lists].mean(), np.mean(ranks)]
""",
        },
        lost=("test_preference", "test_loss", "test_without", "test_avgpop", "test_mrr"),
        message="only the best of the items that the user has",
    ),
    "wrong-first-order": Wrong(  # expands to the wrong order, steps without halving, and takes one sign for the other
        answers={
            "surrogate": """
def surrogate(pos_scores, neg_scores, a, b):
    a_mean, b_mean = Fraction(sum(a)) / len(a), Fraction(sum(b)) / len(b)
    top = sum((Fraction(x) * y for x, y in zip(neg_scores, b)), Fraction(0))
    return [-top / sum(Fraction(y) * y for y in b), a_mean - b_mean]
""",
            "solve_user": """
def solve_user(pos_scores, neg_scores, a, b):
    if minimisers(a, b) != "one":
        return None
    s, t, a, b = (np.array(x, dtype=float) for x in (pos_scores, neg_scores, a, b))
    at = np.zeros(2)
    for _ in range(100):
        margin = s[:, None] + at[1] * a[:, None] - t - at[0] * b
        w = np.exp(-np.logaddexp(0, margin)) / margin.size
        v = w * (1 - w * margin.size)
        mixed = -(a @ v @ b)
        bend = np.array([[(v @ b**2).sum(), mixed], [mixed, (a**2 @ v).sum()]]) + 1e-12 * np.eye(2)
        at = np.clip(at - np.linalg.solve(bend, [(w @ b).sum(), -(a @ w).sum()]), -1e6, 1e6)
    return at
""",
            "sign_of_alpha": """
def sign_of_alpha(pos_scores, neg_scores, a, b, beta):
    return -1 if np.mean(b) > 0 else 1
""",
            "minimisers": """
def minimisers(a, b):
    return "one" if min(a) < 0 < max(a) and min(b) < 0 < max(b) else "none"
""",
        },
        lost=("test_surrogate", "test_solve_hard", "test_sign", "test_minimisers"),
        message="The mean of b is not enough",
    ),
}
