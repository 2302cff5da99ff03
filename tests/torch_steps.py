"""Small towers in torch and one step of training, written out by hand: what the tests of P0's statements share.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import torch
from torch import nn

TAU = 0.2
EXACT = 1e-12  # float64, after one step


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(shape, generator=generator(seed), dtype=torch.float64)


def infonce(left, right, *, similarity="cos"):
    """Mean over the rows of a batch of the cross entropy of the diagonal; cosine or dot product, temperature TAU."""
    if similarity == "cos":
        left, right = (x / x.norm(dim=-1, keepdim=True) for x in (left, right))
    return nn.functional.cross_entropy(left @ right.T / TAU, torch.arange(len(left)))


def squared_cosine_distance(left, right):
    """(1 - cos)^2 of each pair of a batch, in the mean."""
    return (1 - (left * right).sum(-1) / (left.norm(dim=-1) * right.norm(dim=-1))).square().mean()


def margin_loss(left, right):
    """A margin loss with a kink: every wrong cosine pushes until it is 0.3 below the right one."""
    left, right = (x / x.norm(dim=-1, keepdim=True) for x in (left, right))
    cosines = left @ right.T
    return (cosines - cosines.diagonal()[:, None] + 0.3).clamp(min=0).square().mean()


COSINE_LOSSES = {"infonce": infonce, "squared": squared_cosine_distance, "margin": margin_loss}


def module(build, seed=1):
    """A module in float64 with parameters drawn from N(0, 1)."""
    made = build().double()
    with torch.no_grad():
        for number, parameter in enumerate(made.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=seed + number))
    return made


def two_layers(features=4, hidden=5, d=3):
    return nn.Sequential(nn.Linear(features, hidden, bias=False), nn.Linear(hidden, d, bias=False))


INDICES = torch.tensor([0, 1, 2, 3])
ONE_HOT = torch.eye(4, dtype=torch.float64)


def output_gradients(made, inputs, loss):
    """Embeddings q (batch, d) and g_j = dL/dq_j, the other tower held fixed."""
    q = made(inputs).detach().requires_grad_()
    (g,) = torch.autograd.grad(loss(q), q)
    return q.detach(), g


def step(made, inputs, loss, *, lr, optimiser=None):
    """dq (batch, d) of one real optimiser step (plain SGD unless one is given)."""
    optimiser = optimiser or torch.optim.SGD(made.parameters(), lr=lr)
    before = made(inputs).detach()
    optimiser.zero_grad()
    loss(made(inputs)).backward()
    optimiser.step()
    return made(inputs).detach() - before


def cosines(q, dq):
    return (q * dq).sum(-1) / (q.norm(dim=-1) * dq.norm(dim=-1))


def radial_share(q, dq):
    """|<q, dq>| / (|q| (|q| + |dq|)): the radial part of a move; unlike the cosine it is also defined for no move."""
    return (q * dq).sum(-1).abs() / (q.norm(dim=-1) * (q.norm(dim=-1) + dq.norm(dim=-1)))


def against(loss, n, d=3, seed=5):
    """A loss of the left embeddings alone: the right ones are fixed."""
    right = normal(n, d, seed=seed)
    return lambda left: loss(left, right)


def close(a, b, tolerance=1e-10):
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance)


# ---- Section 4 and 5: experiments


def toy_run(build_user, user_inputs, loss, *, lr=0.5, momentum=0.0, steps=40, d=2, seed=0):
    """|cos(q, dq)| of all user and item moves of a short run on toy data; users in order, six items, full batches."""
    users, items = module(build_user, seed=seed + 1), module(lambda: nn.Embedding(6, d), seed=seed + 4)
    optimiser = torch.optim.SGD(
        [p for m in (users, items) for p in m.parameters() if p.requires_grad], lr=lr, momentum=momentum
    )
    columns = torch.arange(6)
    angles = {"user": [], "item": []}
    for _ in range(steps):
        before = users(user_inputs).detach(), items.weight.detach().clone()
        optimiser.zero_grad()
        loss(users(user_inputs), items(columns)).backward()
        optimiser.step()
        for side, old, new in (("user", before[0], users(user_inputs)), ("item", before[1], items.weight)):
            angles[side].append(cosines(old, new.detach() - old).abs())
    return {side: torch.stack(values) for side, values in angles.items()}


def dot_infonce(left, right):
    return infonce(left, right, similarity="dot")


def embedding_then_linear(frozen):
    made = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 2, bias=False))
    made[0].weight.requires_grad_(not frozen)
    return made


class History(nn.Module):
    """A small BERT-like tower: attention over the items of a history, then the mean; all in float64."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(8, 4)
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.layer(self.table(x)).mean(1))


SIX = torch.arange(6)
HISTORIES = torch.tensor([[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7]])
TABLE_1 = {
    1: (lambda: nn.Embedding(6, 2), SIX, infonce),
    2: (lambda: nn.Embedding(6, 2), SIX, dot_infonce),
    3: (History, HISTORIES, infonce),
    4: (lambda: embedding_then_linear(False), SIX, infonce),
    5: (lambda: embedding_then_linear(True), SIX, infonce),
    6: (lambda: nn.Linear(6, 2, bias=False), torch.eye(6, dtype=torch.float64), infonce),
    7: (lambda: nn.Embedding(6, 2), SIX, squared_cosine_distance),
}
