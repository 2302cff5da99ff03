import torch


def cosine_gradient(q, k):
    q, k = torch.tensor(q, dtype=torch.float64), torch.tensor(k, dtype=torch.float64)
    direction, key = q / q.norm(), k / k.norm()
    return (key - (direction @ key) * direction) / q.norm()


def longest_loss(q, keys):
    q, keys = torch.tensor(q, dtype=torch.float64), torch.tensor(keys, dtype=torch.float64)
    direction, keys = q / q.norm(), keys / keys.norm(dim=1, keepdim=True)
    left, _, _ = torch.linalg.svd(keys - torch.outer(keys @ direction, direction))
    return left[:, 0]


def share_radial(users, items, tau, tol, similarity):
    users, items = torch.tensor(users, dtype=torch.float64), torch.tensor(items, dtype=torch.float64)
    lengths = users.norm(dim=1, keepdim=True)
    directions = users / lengths
    left, right = (directions, items / items.norm(dim=1, keepdim=True)) if similarity == "cos" else (users, items)
    gradients = (torch.softmax(left @ right.T / tau, dim=1) @ right - right) / (tau * len(users))
    if similarity == "cos":
        gradients = (gradients - (gradients * directions).sum(1, keepdim=True) * directions) / lengths
    return ((gradients * directions).sum(1).abs() > tol * gradients.norm(dim=1)).double().mean()
