"""The model of the chapter's pages: a network makes the people's vectors, a table holds the films' vectors."""

from __future__ import annotations

import torch
from torch import nn

from course_lib import encoders
from course_lib.interactions import Interactions

HIDDEN, WIDTH = 64, 32


def features(films: Interactions) -> torch.Tensor:
    """(m, n): the films that each person has seen, as a row of length 1."""
    seen = torch.as_tensor(films.matrix.toarray(), dtype=torch.get_default_dtype())
    unit: torch.Tensor = seen / seen.norm(dim=1, keepdim=True)
    return unit


def network(films: Interactions, *, seed: int, bias: bool = True) -> nn.Sequential:
    """The people's tower: films seen (n) -> 64 -> ReLU -> 32 numbers, drawn by torch's global generator from `seed`."""
    torch.manual_seed(seed)
    return nn.Sequential(
        encoders.Features(features(films)),
        nn.Linear(films.n_items, HIDDEN, bias=bias),
        nn.ReLU(),
        nn.Linear(HIDDEN, WIDTH, bias=bias),
    )


def towers(films: Interactions, *, seed: int, bias: bool = True) -> encoders.TwoTower:
    """The network beside a table of film vectors, whose length is near 1."""
    people = network(films, seed=seed, bias=bias)
    return encoders.TwoTower(people, encoders.Lookup(films.n_items, WIDTH, scale=WIDTH**-0.5))
