import torch


def own_gradient(Q, K, rank, size, tau):
    Q = torch.tensor(Q, dtype=torch.float64, requires_grad=True)
    K = torch.tensor(K, dtype=torch.float64, requires_grad=True)
    mine = torch.arange(len(Q)).reshape(size, -1)[rank]
    torch.nn.functional.cross_entropy(Q[mine] @ K.T / tau, mine).backward()
    return Q.grad[mine], K.grad
