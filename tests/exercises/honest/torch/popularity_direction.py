import torch


def popularity_direction(items, counts, ratio):
    items, counts = torch.as_tensor(items, dtype=torch.float64), torch.as_tensor(counts)
    size = max(1, round(ratio * len(counts)))
    order = torch.argsort(counts, descending=True, stable=True)
    difference = items[order[:size]].mean(0) - items[order[-size:]].mean(0)
    return difference / difference.norm()


def cross_fitted(items, counts, ratio, fold):
    items, counts, fold = torch.tensor(items, dtype=torch.float64), torch.tensor(counts), torch.tensor(fold)
    found = []
    for k in fold.unique():
        direction = popularity_direction(items[fold != k], counts[fold != k], ratio)
        both = torch.stack([items[fold == k] @ direction, counts[fold == k].to(items.dtype)])
        found.append(torch.corrcoef(both)[0, 1])
    return torch.stack(found).mean()


def bpr_steps(users, items, triples, lr):
    users, items = torch.tensor(users, dtype=torch.float64), torch.tensor(items, dtype=torch.float64)
    for u, i, j in triples:
        e, x, y = users[u].clone(), items[i].clone(), items[j].clone()
        move = lr * torch.sigmoid(-(e @ (x - y)))
        users[u], items[i], items[j] = e + move * (x - y), x + move * e, y - move * e
    return users, items


def null_correlation(counts, d, ratio):
    counts = torch.tensor(counts, dtype=torch.float64).sort(descending=True).values
    n = len(counts)
    size = max(1, round(ratio * n))
    shift = (d / (2 * size)) ** 0.5
    covariance = shift * (counts[:size].sum() - counts[-size:].sum()) / n
    return covariance / (counts.std(correction=0) * (1 + d / n) ** 0.5)
