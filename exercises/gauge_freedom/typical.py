"""Typical wrong answers to the assignment gauge-freedom."""

from exercises.engine.chapters import Wrong

WRONG = {
    "wrong-spanning-rows": Wrong(  # believes that rows which span the space leave no gauge but signs
        answers={
            "diagonal_gauges": """
def diagonal_gauges(A):
    rows = np.array([[float(entry) for entry in row] for row in A])
    return rows.shape[1] - int(np.linalg.matrix_rank(rows))
""",
            "feasible_gauge": """
def feasible_gauge(k, n):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, k))
    return A / np.linalg.norm(A, axis=1, keepdims=True), [1.2] + [1.0] * (k - 1)
""",
            "pinning_rows": """
def pinning_rows(k):
    return np.eye(k)
""",
        },
        lost=("test_diagonal_dimension", "test_feasible_square", "test_feasible_many", "test_pinning"),
        message="the rank of the matrix of squares counts",
    ),
    "wrong-diagonal-world": Wrong(  # knows diagonal gauges only, and gives them to the wrong side
        answers={
            "linear_gauges": """
def linear_gauges(A):
    return diagonal_gauges(A)
""",
            "nearest_by_gauge": """
def nearest_by_gauge(B, i, j):
    B, rng = np.asarray(B, dtype=float), np.random.default_rng(0)
    best, found = -np.inf, np.ones(B.shape[1])
    for _ in range(4000):
        d = np.exp(rng.normal(scale=1.5, size=B.shape[1]))
        rows = B * d / np.linalg.norm(B * d, axis=1, keepdims=True)
        cosines = rows @ rows[i]
        ahead = cosines[j] - np.delete(cosines, [i, j]).max()
        if ahead > best:
            best, found = ahead, d
    return found
""",
            "decay_gauge": """
def decay_gauge(A, B):
    return np.linalg.norm(B, axis=0) / np.linalg.norm(A, axis=0)
""",
        },
        lost=("test_linear_dimension", "test_nearest", "test_decay_gauge"),
        message="these are the diagonal gauges only",
    ),
    "wrong-normalising-heals": Wrong(  # takes invariance for equivariance, and counts an item as its own neighbour
        answers={
            "what_survives": """
def what_survives(M):
    k = len(M)
    diagonal = all(M[r][c] == 0 for r in range(k) for c in range(k) if r != c)
    same = diagonal and len({M[r][r] for r in range(k)}) == 1
    return [same, same, same]
""",
            "neighbours_left": """
def neighbours_left(before, after, k):
    lists = []
    for table in (before, after):
        rows = np.asarray(table, dtype=float)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        cosines = rows @ rows.T
        np.fill_diagonal(cosines, 2.0)
        lists.append(np.argsort(-cosines, axis=1)[:, :k].tolist())
    return float(np.mean([len(set(first) & set(second)) / k for first, second in zip(*lists)]))
""",
        },
        lost=("test_what_survives", "test_neighbours_small", "test_neighbours_films"),
        message="an item is not its own neighbour",
    ),
}
