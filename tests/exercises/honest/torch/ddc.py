import torch
from torch.nn.functional import softplus


def preference_direction(user, items, history, share):
    user, items = torch.tensor(user, dtype=torch.float64), torch.tensor(items, dtype=torch.float64)
    history = torch.tensor(history).sort().values
    size = -int(-share * len(history) // 1)
    order = torch.argsort(items[history] @ user, descending=True, stable=True)
    total = items[history[order[:size]]].sum(0)
    return total / total.norm() if total.any() else None


def user_loss(pos_scores, neg_scores, a, b, alpha, beta):
    s, t, a, b = (torch.tensor(x, dtype=torch.float64) for x in (pos_scores, neg_scores, a, b))
    return softplus((t + alpha * b)[None, :] - (s + beta * a)[:, None]).mean()


def minimisers(a, b):
    signs = [bool((torch.tensor(x) > 0).any() and (torch.tensor(x) < 0).any()) for x in (a, b)]
    if all(signs):
        return "one"
    return "many" if all(sign or not any(x) for sign, x in zip(signs, (a, b))) else "none"


def solve_user(pos_scores, neg_scores, a, b):
    if minimisers(a, b) != "one":
        return None
    s, t, a, b = (torch.tensor(x, dtype=torch.float64) for x in (pos_scores, neg_scores, a, b))

    def margins(at):
        return (s + at[1] * a)[:, None] - (t + at[0] * b)[None, :]

    at = torch.zeros(2, dtype=s.dtype)
    for _ in range(40):
        w = torch.sigmoid(-margins(at))
        v, slope = w * (1 - w), torch.stack([(w @ b).sum(), -(a @ w).sum()])
        bend = torch.stack([(v @ b**2).sum(), -(a @ v @ b), -(a @ v @ b), (a**2 @ v).sum()]).reshape(2, 2)
        step, length, here = -torch.linalg.solve(bend, slope), 1.0, softplus(-margins(at)).sum()
        while softplus(-margins(at + length * step)).sum() > here and length > 1e-6:
            length /= 2
        at = at + length * step
    return at


def sign_of_alpha(pos_scores, neg_scores, a, b, beta):
    s, t, a, b = (torch.tensor(x, dtype=torch.float64) for x in (pos_scores, neg_scores, a, b))
    alpha = torch.zeros((), dtype=s.dtype, requires_grad=True)
    softplus((t + alpha * b)[None, :] - (s + beta * a)[:, None]).mean().backward()
    return -torch.sign(alpha.grad)


def measure(users, items, histories, held_out, counts, k):
    users, items = torch.tensor(users, dtype=torch.float64), torch.tensor(items, dtype=torch.float64)
    scores, ranks = users @ items.T, []
    for row, history in zip(scores, histories):
        row[history] = -torch.inf
    top = torch.argsort(scores, dim=1, descending=True, stable=True)[:, :k]
    for row, wanted in zip(top, held_out):
        if wanted:
            hits = torch.isin(row, torch.tensor(wanted)).nonzero()
            ranks.append(1 / (1 + hits[0, 0]) if len(hits) else torch.tensor(0.0))
    return torch.stack([torch.tensor(counts)[top].double().mean(), torch.stack(ranks).double().mean()])


def without_minimiser(users, items, histories, pop, share):
    table, missing = torch.tensor(items, dtype=torch.float64), 0
    popularity = table @ torch.tensor(pop, dtype=torch.float64)
    for user, history in zip(users, histories):
        a = table[history] @ preference_direction(user, items, history, share)
        others = torch.ones(len(items), dtype=torch.bool)
        others[history] = False
        missing += minimisers(a.tolist(), popularity[others].tolist()) != "one"
    return missing
