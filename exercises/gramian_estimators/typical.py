"""Typical wrong answers to the assignment gramian-estimators."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-forgotten-factors": Wrong(  # loses the middle term, the entity's popularity, and the average over the batch
        answers={
            "all_pairs": """
def all_pairs(U, V, w, z, c):
    left, right = (
        sum(np.outer(row, row) * weight for row, weight in zip(np.array(rows, dtype=object), weights))
        for rows, weights in ((U, w), (V, z))
    )
    return (left * right).sum() + c**2 * sum(w) * sum(z)
""",
            "gravity_gradient": """
def gravity_gradient(U, V, pairs, x):
    V, n = np.array(V, dtype=object), len(pairs)
    gram = sum(np.outer(V[y], V[y]) for _, y in pairs) * Fraction(1, n)
    return (gram @ np.array(U[x], dtype=object)) * Fraction(2, n)
""",
            "sogram": """
def sogram(batches, rates):
    average, weight = 0, Fraction(0)
    for batch, rate in zip(batches, rates):
        rows = np.array(batch, dtype=object)
        average = (1 - rate) * average + rate * (rows.T @ rows)
        weight = (1 - rate) * weight + rate
    return average / weight
""",
        },
        lost=("test_pairs", "test_gradient", "test_sogram_constant", "test_sogram_rates"),
        message="the entity stands in several training pairs, and each of them pulls",
    ),
    "wrong-constant-rates": Wrong(  # knows 1 - (1 - alpha)^t, and the share of a batch in the data, and nothing else
        answers={
            "sogram": """
def sogram(batches, rates):
    average = 0
    for batch, rate in zip(batches, rates):
        rows = np.array(batch, dtype=object)
        average = (1 - rate) * average + rate * (rows.T @ rows) * Fraction(1, len(batch))
    return average / (1 - (1 - rates[-1]) ** len(rates))
""",
            "sagram_mean": """
def sagram_mean(tables, beta, b):
    n = len(tables[0])
    grams = [np.array(table, dtype=object) for table in tables]
    grams = [(rows.T @ rows) * Fraction(1, n) for rows in grams]
    cache = grams[0]
    for gram in grams[1:-1]:
        cache = (1 - Fraction(b, n)) * cache + Fraction(b, n) * gram
    return (1 - beta) * cache + beta * grams[-1]
""",
            "smallest_batches": """
def smallest_batches(share, n):
    return [-(-1 // share), min(n, -(-1 // share))]
""",
        },
        lost=("test_sogram_rates", "test_sagram_steps", "test_batch_without"),
        message="an example that is drawn twice is renewed once",
    ),
    # believes that every estimate is unbiased, and that only dying embeddings break a cone
    "wrong-always-unbiased": Wrong(
        answers={
            "sagram_mean": """
def sagram_mean(tables, beta, b):
    rows = np.array(tables[-1], dtype=object)
    return (rows.T @ rows) * Fraction(1, len(rows))
""",
            "leaving_the_cone": """
def leaving_the_cone(n, beta):
    return [[2, 0]] + [[0, 1]] * (n - 1), [[1, 0]] * n, 0
""",
            "always_outside": """
def always_outside(n):
    return [[2 * n, 0]] + [[1, 0]] * (n - 1), [[1, 0]] * n
""",
            "smallest_batches": """
def smallest_batches(share, n):
    return [int(1 / share), int(n / (1 + share * (n - 1)))]
""",
            "best_rate": """
def best_rate(path, batches):
    path, batches = np.array(path), np.array(batches)
    steps, errors = np.diff(path, axis=0), batches - path
    delta = np.sqrt((steps**2).sum(axis=(1, 2)).mean())
    sigma = np.sqrt((errors**2).sum(axis=(1, 2)).mean())
    return (2 * delta / sigma) ** (2 / 3)
""",
        },
        lost=(
            "test_sagram_one",
            "test_sagram_steps",
            "test_leaving",
            "test_always",
            "test_batch_with",
            "test_batch_without",
            "test_rate_small",
            "test_rate_films",
        ),
        message="only beta = 1 is unbiased",
    ),
}
