"""Typical wrong answers to the assignment practice."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-independent-draws": Wrong(  # draws with replacement, corrects like Bonferroni, lets errors cancel
        answers={
            "sampled": """
def sampled(rank, others, m, k):
    better = Fraction(rank - 1, others)
    return sum(math.comb(m, j) * better**j * (1 - better) ** (m - j) for j in range(min(k, m + 1)))
""",
            "holm": """
def holm(ps):
    return [min(Fraction(1), p * len(ps)) for p in ps]
""",
            "mixture": """
def mixture(counts, uniform):
    return [(1 - uniform) / len(counts) + uniform * Fraction(count, sum(counts)) for count in counts]
""",
            "floor": """
def floor(n, tau):
    return math.log1p((n - 1) * math.exp(-2 / tau))
""",
            "largest_tau": """
def largest_tau(n, probability):
    return 2 / math.log((n - 1) * probability / (1 - probability))
""",
            "bound": """
def bound(u, steps):
    return abs(sum(part * step for part, step in zip(u, steps))) * Fraction(1, 2)
""",
        },
        lost=("test_sampled", "test_holm", "test_mixture", "test_floor", "test_tau", "test_bound"),
        message="the sample is drawn without replacement",
    ),
    "wrong-one-sided": Wrong(  # plain learns log p, a step goes with the gradient, one of two scores is off
        answers={
            "served": """
def served(p, q, hits, weight, correction):
    power = {"none": 0, "training": 0, "serving": 1, "both": 1}[correction]
    values = [a * b**power * count**weight for a, b, count in zip(p, q, hits)]
    return [value / sum(values) for value in values]
""",
            "moves": """
def moves(X, G, new, lr):
    kernel = [sum(a * b for a, b in zip(x, new)) for x in X]
    return [lr * sum(value * g[part] for value, g in zip(kernel, G)) for part in range(len(G[0]))]
""",
            "rates": """
def rates(a, b, counts, days):
    return [a / b + (Fraction(count, time) if time else 0) for count, time in zip(counts, days)]
""",
            "candidates": """
def candidates(scores, bound, k):
    best = sorted(scores, reverse=True)
    for count in range(k, len(best)):
        if best[k - 1] - best[count] > bound:
            return count
    return len(best)
""",
        },
        lost=("test_served", "test_moves", "test_rates", "test_candidates"),
        message="both scores can be off",
    ),
}
