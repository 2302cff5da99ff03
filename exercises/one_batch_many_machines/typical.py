"""Typical wrong answers to the assignment one-batch-many-machines."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-each-for-itself": Wrong(  # every process meets its own items only, and a ring sends P blocks
        answers={
            "own_gradient": """
def own_gradient(Q, K, rank, size, tau):
    Q, K = np.array(Q), np.array(K)
    own = np.arange(len(Q)).reshape(size, -1)[rank]
    logits = Q[own] @ K[own].T / tau
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    slopes = (shares - np.eye(len(own))) / (len(own) * tau)
    to_items = np.zeros_like(K)
    to_items[own] = slopes.T @ Q[own]
    return [slopes @ K[own], to_items]
""",
            "assemble": """
def assemble(parts):
    size = len(parts)
    queries = [row for q, _ in parts for row in q]
    items = sum(np.array(k, dtype=object) for _, k in parts)
    return [queries, items * Fraction(1, size)]
""",
            "constants": """
def constants(parts):
    queries = np.concatenate([np.array(q, dtype=object) for q, _ in parts])
    items = sum(np.array(k, dtype=object) for _, k in parts)
    return [queries * Fraction(1, len(parts)), items * Fraction(1, len(parts))]
""",
            "step_bytes": """
def step_bytes(processes, batch, d, rows, gather):
    return 4 * processes * batch * d * (2 if rows == "all" else 1) * (2 if gather == "gradients" else 1)
""",
        },
        lost=("test_queries", "test_items", "test_assemble", "test_constants", "test_bytes"),
        message="here nobody sends a gradient to the owner of an item",
    ),
    "wrong-always-times-P": Wrong(  # multiplies by the number of processes whatever the gather does
        answers={
            "factors": """
def factors(processes, rows, gather, reduction, times_world):
    far = 1 if gather == "gradients" else 0
    scale = Fraction(1 if times_world else Fraction(1, processes))
    return [scale, scale, scale, scale * far, scale]
""",
            "expected_weights": """
def expected_weights(labels, processes, batch):
    labels = np.array(labels, dtype=object)
    total, met = labels.sum(), np.outer(labels.sum(axis=1), labels.sum(axis=0)) - labels
    share = Fraction(batch, total)
    return [met * processes * share**2, met * (processes * share) ** 2]
""",
            "combined": """
def combined(grams, sizes):
    return sum(np.array(gram, dtype=object) for gram in grams)
""",
            "crossing": """
def crossing(processes, d, rows, gather):
    return d
""",
        },
        lost=(
            "test_factors_own",
            "test_factors_all",
            "test_weights_local",
            "test_weights_gathered",
            "test_gramians_equal",
            "test_gramians_uneven",
            "test_crossing",
        ),
        message="the batch is drawn without replacement",
    ),
    "wrong-means-of-means": Wrong(  # all processes alike, and one grid for the temperature as for the vectors
        answers={
            "factors": """
def factors(processes, rows, gather, reduction, times_world):
    scale = Fraction(processes if times_world else 1)
    if rows == "own":
        scale = scale / processes if reduction == "sum" else scale
        return [scale, scale, scale, scale if gather == "gradients" or processes == 1 else Fraction(0), scale]
    scale = scale if gather == "gradients" else scale / processes
    return [scale] * 5
""",
            "combined": """
def combined(grams, sizes):
    return sum(np.array(gram, dtype=object) for gram in grams) * Fraction(1, len(grams))
""",
        },
        lost=("test_factors_all", "test_gramians_uneven"),
        message="a process with more rows counts for more",
    ),
}
