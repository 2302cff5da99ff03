"""What the seven rivals of P1's Table 3 have in common: a backbone inside, and a ranking by an inner product."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.backbones.base import Backbone, Recommender, Tables, check_generator
from course_lib.interactions import Interactions


class Rival(Recommender):
    """A backbone in the hands of a method: it gives the embeddings and its own penalty, the method all the rest.

    backbone: any `Backbone`, trained or not. interactions: the training data, which say how popular an item is.
    generator: draws what the method adds to the parameters; what it draws in an epoch comes from the `rng` that
    `begin_epoch` is given.
    """

    popularity: Tensor

    def __init__(self, backbone: Backbone, interactions: Interactions, *, generator: torch.Generator) -> None:
        super().__init__()
        if not isinstance(backbone, Backbone):
            raise ValueError(f"backbone is {backbone!r}; expected a Backbone such as backbones.MF(...)")
        shape = (backbone.n_users, backbone.n_items)
        if interactions.shape != shape:
            raise ValueError(f"interactions has shape {interactions.shape}; expected that of the backbone, {shape}")
        self.backbone, self.interactions, self.draws = backbone, interactions, check_generator(generator)
        self.n_users, self.n_items, self.d = backbone.n_users, backbone.n_items, backbone.d
        popularity = torch.as_tensor(interactions.col_counts.copy(), dtype=next(backbone.parameters()).dtype)
        self.register_buffer("popularity", popularity, persistent=False)  # (n,) pairs of each item

    def forward(self) -> Tables:
        """The backbone's embeddings."""
        return self.backbone.embeddings()

    def penalty(self, users: Tensor, positives: Tensor, negatives: Tensor, tables: Tables) -> Tensor:
        """The backbone's penalty: every rival changes the ranking loss and keeps regulariser and contrastive terms."""
        return self.backbone.penalty(users, positives, negatives, tables)

    def begin_epoch(self, epoch: int, rng: np.random.Generator) -> None:
        """Tells the backbone, and seeds this epoch's draws from a child of `rng`: `rng` goes on as without a rival."""
        self.backbone.begin_epoch(epoch, rng)
        seed = int(rng.spawn(1)[0].integers(2**62))
        self.draws = torch.Generator(device=self.popularity.device).manual_seed(seed)


class TwinRival(Rival):
    """A rival with two embeddings per user and item: the backbone's say interest, its twin's conformity to the crowd.

    The twin is a second copy of the backbone with parameters of its own. Users are served by the sum of both scores,
    which is the inner product of the joined embeddings, 2d numbers per row.
    """

    def __init__(self, backbone: Backbone, interactions: Interactions, *, generator: torch.Generator) -> None:
        super().__init__(backbone, interactions, generator=generator)
        self.conformity = twin(backbone, generator)

    def forward(self) -> Tables:
        """The joined embeddings [interest, conformity]: (m, 2d) and (n, 2d)."""
        return joined(self.backbone.embeddings(), self.conformity.embeddings())

    def penalties(
        self, users: Tensor, positives: Tensor, negatives: Tensor, interest: Tables, conformity: Tables
    ) -> Tensor:
        """The backbone's penalty for both halves."""
        batch = (users, positives, negatives)
        return self.backbone.penalty(*batch, interest) + self.conformity.penalty(*batch, conformity)

    def begin_epoch(self, epoch: int, rng: np.random.Generator) -> None:
        """Tells the twin as well."""
        super().begin_epoch(epoch, rng)
        self.conformity.begin_epoch(epoch, rng)


def twin(backbone: Backbone, generator: torch.Generator) -> Backbone:
    """A copy of the backbone whose parameters are drawn anew: normal, with the deviation that each table has.

    Buffers are shared.
    """
    shared: dict[int, Any] = {id(buffer): buffer for buffer in backbone.buffers()}
    shared |= {id(value): value for value in vars(backbone).values() if isinstance(value, Interactions)}
    other = copy.deepcopy(backbone, shared)
    with torch.no_grad():
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator, device=generator.device, dtype=parameter.dtype)
            parameter.copy_(noise * parameter.std(correction=0))
    return other


def joined(left: Tables, right: Tables) -> Tables:
    """Two pairs of tables side by side; the inner products add up."""
    return torch.cat((left[0], right[0]), dim=1), torch.cat((left[1], right[1]), dim=1)


def pair_keys(interactions: Interactions) -> Tensor:
    """(|O|,) u n + i of the training pairs, ascending: what `pair_positions` searches."""
    return torch.as_tensor(interactions.users * interactions.n_items + interactions.items)


def pair_positions(keys: Tensor, users: Tensor, items: Tensor, n_items: int) -> Tensor:
    """(B,) where each pair stands among the training pairs; -1 for one that is none of them."""
    wanted = users * n_items + items
    found = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where(keys[found] == wanted, found, -1)


def sample(ids: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """The ids as they are, or `most` of them drawn without replacement."""
    if len(ids) <= most:
        return ids
    order = torch.randperm(len(ids), generator=generator, device=generator.device)
    return ids[order[:most].to(ids.device)]


def as_weights(values: Any, n: int, name: str) -> Tensor:
    """A finite non-negative vector (n,), or a ValueError that names it."""
    vector = torch.as_tensor(np.asarray(values, dtype=np.float64))
    if vector.shape != (n,):
        raise ValueError(f"{name} has shape {tuple(vector.shape)}; expected one number per item, ({n},)")
    if not bool((torch.isfinite(vector) & (vector >= 0)).all()):
        raise ValueError(f"{name} must be finite and not negative")
    return vector
