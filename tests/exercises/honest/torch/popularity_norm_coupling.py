import torch


def equilibrium_norm(probability, lr, decay, h, lazy):
    kept = torch.tensor(1 - lr * decay, dtype=torch.float64)
    return ((1 if lazy else probability) * (lr * h) ** 2 / (1 - kept**2)) ** 0.25


def sum_of_squared_pulls(start, lr, keys):
    q, total = torch.tensor(start, dtype=torch.float64), 0
    for key in torch.tensor(keys, dtype=torch.float64):
        key, direction = key / key.norm(), q / q.norm()
        pull = key - (key @ direction) * direction
        total, q = total + pull @ pull, q + lr * pull / q.norm()
    return total


def popularity_slope(counts, norms):
    counts, norms = torch.as_tensor(counts, dtype=torch.float64), torch.as_tensor(norms, dtype=torch.float64)
    x, y = counts[counts > 0].log(), norms[counts > 0].log()
    return torch.linalg.lstsq(torch.stack([x, torch.ones_like(x)], dim=1), y[:, None]).solution[0, 0]


def predicted_slope(counts, batch_size, steps, lr, start_norm, h_squared):
    counts = torch.tensor(counts, dtype=torch.float64)
    updates = steps * (1 - (1 - counts / counts.sum()) ** batch_size)
    return popularity_slope(counts, (start_norm**4 + 2 * lr**2 * h_squared * updates) ** 0.25)


def largest_lr(counts, batch_size, steps, start_norm, h_squared, ratio):
    counts = torch.tensor(counts, dtype=torch.float64)
    updates = steps * (1 - (1 - counts / counts.sum()) ** batch_size)
    room = updates.max() - ratio**4 * updates.min()
    return (start_norm**4 * (ratio**4 - 1) / (2 * h_squared * room)).sqrt() if room > 0 else None
