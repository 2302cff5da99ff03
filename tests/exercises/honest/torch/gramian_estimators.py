import torch


def best_rate(path, batches):
    path, batches = torch.tensor(path, dtype=torch.float64), torch.tensor(batches, dtype=torch.float64)
    r = path.diff(dim=0).square().sum((1, 2)).mean() / (batches - path).square().sum((1, 2)).mean()
    return ((r * r + 4 * r).sqrt() - r) / 2
