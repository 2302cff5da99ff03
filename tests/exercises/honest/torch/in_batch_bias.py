import torch


def share_pushed_down(users, items, batch_size):
    users, items = torch.tensor(users), torch.tensor(items)
    pop = torch.bincount(users)[users] * torch.bincount(items)[items]
    return ((pop - 1) * (batch_size - 1) > len(users) - 1).double().mean()
