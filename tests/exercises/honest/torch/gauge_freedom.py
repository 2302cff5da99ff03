import torch


def diagonal_gauges(A):
    squares = torch.tensor([[float(x) ** 2 for x in row] for row in A], dtype=torch.float64)
    return squares.shape[1] - torch.linalg.matrix_rank(squares)


def nearest_by_gauge(B, i, j):
    B = torch.tensor(B, dtype=torch.float64)
    torch.manual_seed(0)
    d = torch.exp(1.4 * torch.randn(4000, B.shape[1], dtype=B.dtype)).clamp(0.002, 500)
    rows = B[None] / d[:, None]
    rows = rows / rows.norm(dim=2, keepdim=True)
    cosines = torch.einsum("gnk,gk->gn", rows, rows[:, i])
    others = [other for other in range(len(B)) if other not in (i, j)]
    return d[torch.argmax(cosines[:, j] - cosines[:, others].max(dim=1).values)]


def pinning_rows(k):
    axes = torch.eye(k, dtype=torch.float64)
    rows = torch.stack([axes[r] + axes[c] for r in range(k) for c in range(r + 1)])
    return rows / rows.norm(dim=1, keepdim=True)


def decay_gauge(A, B):
    A, B = torch.tensor(A, dtype=torch.float64), torch.tensor(B, dtype=torch.float64)
    return (B.norm(dim=0) / A.norm(dim=0)).sqrt()


def neighbours_left(before, after, k):
    lists = []
    for table in (before, after):
        rows = torch.nn.functional.normalize(torch.tensor(table, dtype=torch.float64), dim=1)
        lists.append((rows @ rows.T).fill_diagonal_(-2).topk(k, dim=1).indices)
    return (lists[0][:, :, None] == lists[1][:, None, :]).any(2).double().mean()
