"""What the seven rivals of P1's Table 3 have in common: a backbone inside, and a ranking by an inner product."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib import checking
from course_lib.backbones.base import Backbone, Recommender, Tables
from course_lib.interactions import Interactions


class Rival(Recommender):
    """Wrap a backbone in a method: the backbone gives the embeddings and its own penalty, the method all the rest.

    Parameters
    ----------
    backbone : Backbone
        Any backbone, trained or not.
    interactions : Interactions
        The training data, which say how popular an item is.
    generator : torch.Generator
        Draws what the method adds to the parameters. What it draws in an epoch comes from the ``rng`` that
        ``begin_epoch`` is given.

    Raises
    ------
    ValueError
        For a backbone of another kind or another shape than the interactions, and for a generator that is none of
        torch's.

    Examples
    --------
    The base class changes nothing: its embeddings are those of the backbone.

    >>> import torch
    >>> from course_lib import backbones
    >>> from course_lib.debiasing.rival import Rival
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2), torch.Generator().manual_seed(0)
    >>> model = Rival(backbones.MF(2, 2, 4, generator=generator), data, generator=generator)
    >>> torch.equal(model()[0], model.backbone.users), model.popularity.tolist()
    (True, [2.0, 1.0])
    """

    popularity: Tensor

    def __init__(self, backbone: Backbone, interactions: Interactions, *, generator: torch.Generator) -> None:
        super().__init__()
        if not isinstance(backbone, Backbone):
            raise ValueError(f"backbone is {backbone!r}; expected a Backbone such as backbones.MF(...)")
        shape = (backbone.n_users, backbone.n_items)
        if checking.instance(interactions, "interactions", Interactions).shape != shape:
            raise ValueError(f"interactions has shape {interactions.shape}; expected that of the backbone, {shape}")
        self.backbone, self.interactions, self.draws = (
            backbone,
            interactions,
            checking.instance(generator, "generator", torch.Generator, checking.TORCH_GENERATOR),
        )
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
    """Give each user and item two embeddings: the backbone's say interest, its twin's conformity to the crowd.

    The twin is a second copy of the backbone with parameters of its own. Users are served by the sum of both scores,
    which is the inner product of the joined embeddings, 2d numbers per row.

    Parameters
    ----------
    backbone : Backbone
        Any backbone, trained or not.
    interactions : Interactions
        The training data, which say how popular an item is.
    generator : torch.Generator
        Draws the parameters of the twin.

    Raises
    ------
    ValueError
        As ``Rival`` does.

    Examples
    --------
    >>> import torch
    >>> from course_lib import backbones
    >>> from course_lib.debiasing.rival import TwinRival
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2), torch.Generator().manual_seed(0)
    >>> model = TwinRival(backbones.MF(2, 2, 4, generator=generator), data, generator=generator)
    >>> [tuple(table.shape) for table in model()]
    [(2, 8), (2, 8)]
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
    """Copy a backbone with parameters that are drawn anew: normal, with the deviation that each table has.

    Parameters
    ----------
    backbone : Backbone
        The model to copy. It stays as it is.
    generator : torch.Generator
        Draws the parameters.

    Returns
    -------
    Backbone
        The copy. Buffers and interactions are shared with the original.

    Examples
    --------
    >>> import torch
    >>> from course_lib import backbones
    >>> from course_lib.debiasing.rival import twin
    >>> generator = torch.Generator().manual_seed(0)
    >>> one = backbones.MF(2, 3, 4, generator=generator)
    >>> other = twin(one, generator)
    >>> other.items.shape == one.items.shape, torch.equal(other.items, one.items)
    (True, False)
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
    """Put two pairs of tables side by side, so that their inner products add up.

    Parameters
    ----------
    left, right : tuple of Tensor, shape (m, c) and (n, c) each
        Tables of users and items. The two widths may differ.

    Returns
    -------
    tuple of Tensor
        The joined tables of users and of items.

    Examples
    --------
    >>> import torch
    >>> from course_lib.debiasing.rival import joined
    >>> left, right = (torch.tensor([[1.0]]), torch.tensor([[2.0]])), (torch.tensor([[3.0]]), torch.tensor([[4.0]]))
    >>> users, items = joined(left, right)
    >>> users.tolist(), (users @ items.T).item()  # 1 * 2 + 3 * 4
    ([[1.0, 3.0]], 14.0)
    """
    return torch.cat((left[0], right[0]), dim=1), torch.cat((left[1], right[1]), dim=1)


def pair_keys(interactions: Interactions) -> Tensor:
    """Number the training pairs by their cells, ``u n + i``.

    Parameters
    ----------
    interactions : Interactions
        The training pairs.

    Returns
    -------
    Tensor of int64, shape (``|O|``,)
        The numbers, ascending: what ``pair_positions`` searches.

    Examples
    --------
    >>> from course_lib.debiasing.rival import pair_keys
    >>> from course_lib.interactions import Interactions
    >>> pair_keys(Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2)).tolist()
    [0, 2, 3]
    """
    return torch.as_tensor(interactions.users * interactions.n_items + interactions.items)


def pair_positions(keys: Tensor, users: Tensor, items: Tensor, n_items: int) -> Tensor:
    """Find where each pair stands among the training pairs.

    Parameters
    ----------
    keys : Tensor of int64, shape (``|O|``,)
        The numbers of the training pairs, from ``pair_keys``.
    users, items : Tensor of int, shape (B,)
        The pairs to find.
    n_items : int
        The number of items.

    Returns
    -------
    Tensor of int64, shape (B,)
        The positions; -1 for a pair that is none of the training pairs.

    Examples
    --------
    >>> import torch
    >>> from course_lib.debiasing.rival import pair_keys, pair_positions
    >>> from course_lib.interactions import Interactions
    >>> keys = pair_keys(Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2))
    >>> pair_positions(keys, torch.tensor([1, 0]), torch.tensor([1, 1]), 2).tolist()
    [2, -1]
    """
    wanted = users.long() * n_items + items  # int32 would wrap around
    found = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where(keys[found] == wanted, found, -1)


def sample(ids: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Return the ids as they are, or ``most`` of them drawn without replacement.

    Parameters
    ----------
    ids : Tensor, shape (B,)
        The ids to draw from.
    most : int
        The largest number of ids that comes back.
    generator : torch.Generator
        Draws them.

    Returns
    -------
    Tensor, shape (min(B, most),)
        The ids.

    Examples
    --------
    >>> import torch
    >>> from course_lib.debiasing.rival import sample
    >>> ids, generator = torch.tensor([4, 7, 9]), torch.Generator().manual_seed(0)
    >>> sample(ids, 5, generator).tolist(), len(sample(ids, 2, generator))
    ([4, 7, 9], 2)
    """
    if len(ids) <= most:
        return ids
    order = torch.randperm(len(ids), generator=generator, device=generator.device)
    return ids[order[:most].to(ids.device)]
