"""TPAB: a score of its own for popularity at the time of the choice, so that serving can use tomorrow's popularity."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from course_lib import checking, losses
from course_lib.backbones.base import Backbone, Tables, rows, triple_scores
from course_lib.debiasing.rival import Rival, joined, pair_keys, pair_positions
from course_lib.interactions import Interactions


class TPAB(Rival):
    """Learn a separate score for popularity at the time of a choice, so that serving can use tomorrow's popularity.

    With ``s_ui(t) = <e_u, e_i> + <p_u, q_g>``, g the group of item i's count in stage t::

        loss = BPR of s in the stage t of the pair's time + bootstrap * BPR of s with the pair's popularity shuffled
               + penalties

    Stages cut the time of the training data into parts of equal length. Groups ("coarsening") cut the counts 1..top,
    top the largest count of a stage, at powers ``top^(1/K), top^(2/K), ...`` with ``K = groups``. Users have ``p_u``
    (m, d), groups q (K, d), beside the backbone. In the shuffled ("bootstrapping") term each triple takes the two
    popularity embeddings of another triple of the batch: what is then left to tell positive from negative is
    ``<e_u, e_i>`` alone, so popularity cannot stand in for taste.

    Served by s in the stage after the last, its counts drawn on as a line: ``n_T + slope (n_T - n_(T-1))``. The tables
    are ``[e_u, p_u]`` and ``[e_i, q_g]``, 2d numbers per row. Without times there is one stage: the paper's variant
    without time.

    Parameters
    ----------
    backbone : Backbone
        The model of taste.
    interactions : Interactions
        The training pairs, with times or without.
    stages : int
        The number of parts of the time.
    groups : int
        The number K of groups of counts.
    bootstrap : float
        The weight of the shuffled term.
    slope : float
        How far the counts are drawn on beyond the last stage.
    decay : float
        The weight of the squared norms of the popularity embeddings.
    scale : float
        The standard deviation of the popularity embeddings at the start.
    generator : torch.Generator
        Draws the popularity embeddings.

    Raises
    ------
    ValueError
        For numbers out of range, and for a backbone that does not fit the interactions.

    Notes
    -----
    Source: Yoo et al., KDD 2025 (doi 10.1145/3690624.3709299), as its authors' repository ``hsyoo32/tpab_`` has it;
    the paper's text was not at hand. p and q are not propagated along the graph (``layer_p = 0`` there). Choices:
    counts of the training data alone (there the groups see all counts), the last stages of the training data for the
    line (there the validation stage when testing), one decay for backbone and popularity, shuffling as one draw per
    batch. The method expects a split by time; under P1's random split the test pairs lie in all stages, but it serves
    the next one.

    Examples
    --------
    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2, times=[10, 20, 30])
    >>> generator = torch.Generator().manual_seed(0)
    >>> model = debiasing.TPAB(backbones.MF(2, 2, 4, generator=generator), data, stages=2, generator=generator)
    >>> model.stages.tolist(), [tuple(table.shape) for table in model()]
    ([0, 1, 1], [(2, 8), (2, 8)])
    """

    stages: Tensor
    groups: Tensor
    served: Tensor
    keys: Tensor
    user_popularity: Tensor
    group_popularity: Tensor

    def __init__(
        self,
        backbone: Backbone,
        interactions: Interactions,
        *,
        stages: int = 8,
        groups: int = 20,
        bootstrap: float = 1.0,
        slope: float = 0.2,
        decay: float = 0.0,
        scale: float = 0.1,
        generator: torch.Generator,
    ) -> None:
        super().__init__(backbone, interactions, generator=generator)
        checking.whole(stages, "stages")
        checking.whole(groups, "groups")
        self.bootstrap, self.decay = (
            checking.real(bootstrap, "bootstrap", least=0),
            checking.real(decay, "decay", least=0),
        )
        checking.real(slope, "slope", least=0)
        checking.real(scale, "scale", least=0)
        stage = stage_of_pairs(interactions.times, len(interactions), stages)
        counts = stage_counts(interactions.items, stage, self.n_items)  # (n, T)
        top = counts.max()
        buffers = {
            "stages": stage,  # (|O|,)
            "groups": coarse(counts, top, groups),  # (n, T)
            "served": coarse(next_counts(counts, slope), top, groups),  # (n,)
            "keys": pair_keys(interactions),
        }
        for name, values in buffers.items():
            self.register_buffer(name, torch.as_tensor(values), persistent=False)
        for name, size in (("user_popularity", self.n_users), ("group_popularity", groups)):
            shape, dtype = (size, self.d), self.popularity.dtype
            noise = torch.randn(shape, generator=generator, device=generator.device, dtype=dtype)
            self.register_parameter(name, nn.Parameter(scale * noise))

    def forward(self) -> Tables:
        """[e_u, p_u] (m, 2d) and [e_i, q_g] (n, 2d), the items in their groups of the coming stage."""
        return joined(self.backbone.embeddings(), (self.user_popularity, rows(self.group_popularity, self.served)))

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """BPR at the pair's time, shuffled BPR, penalties."""
        tables = self.backbone.embeddings()
        taste = triple_scores(tables, users, positives, negatives)
        popular = self.popularity_parts(users, positives, negatives)
        loss = self.bpr_with(taste, popular)
        if self.bootstrap:
            order = torch.randperm(len(users), generator=self.draws, device=self.draws.device).to(users.device)
            loss = loss + self.bootstrap * self.bpr_with(taste, self.shuffled(popular, order))
        of_users, of_positives, of_negatives = (part.square().sum() for part in popular)
        shrinkage = (of_users + of_positives + of_negatives) / len(users)
        return loss + self.decay * shrinkage + self.backbone.penalty(users, positives, negatives, tables)

    def popularity_parts(self, users: Tensor, positives: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """p_u, q of the positive's group and q of the negative's, at the stage of the pair (u, i): each (B, d)."""
        stage = self.stages[pair_positions(self.keys, users, positives, self.n_items)]
        first, second = (rows(self.group_popularity, self.groups[items, stage]) for items in (positives, negatives))
        return rows(self.user_popularity, users), first, second

    @staticmethod
    def shuffled(popular: tuple[Tensor, Tensor, Tensor], order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The users keep their p_u; the two q go to the triples in `order` (B,)."""
        of_users, of_positives, of_negatives = popular
        return of_users, of_positives[order], of_negatives[order]

    @staticmethod
    def bpr_with(taste: tuple[Tensor, Tensor], popular: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """BPR's loss of the sums of both scores: mean of -ln sigma of their difference."""
        of_users, *of_items = popular
        summed = (score + (of_users * part).sum(dim=1) for score, part in zip(taste, of_items, strict=True))
        loss: Tensor = losses.bpr(*summed)
        return loss


def stage_of_pairs(times: NDArray[Any] | None, n_pairs: int, stages: int) -> NDArray[np.int64]:
    """Find in which of ``stages`` equal parts of [first time, last time] each pair lies.

    Parameters
    ----------
    times : ndarray, shape (``|O|``,), or None
        The time of each pair.
    n_pairs : int
        The number ``|O|`` of pairs.
    stages : int
        The number of parts.

    Returns
    -------
    ndarray of int64, shape (``|O|``,)
        The stage of each pair, from 0; 0 for all pairs without times, or where all times are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.debiasing.tpab import stage_of_pairs
    >>> stage_of_pairs(np.array([0, 4, 5, 10]), 4, stages=2).tolist()
    [0, 0, 1, 1]
    """
    if times is None or n_pairs == 0 or times.max() == times.min():
        return np.zeros(n_pairs, dtype=np.int64)
    share = (times - times.min()) / (times.max() - times.min())
    stage: NDArray[np.int64] = np.minimum((share * stages).astype(np.int64), stages - 1)
    return stage


def stage_counts(items: NDArray[np.int64], stage: NDArray[np.int64], n_items: int) -> NDArray[np.int64]:
    """Count the pairs of each item in each stage.

    Parameters
    ----------
    items, stage : ndarray of int64, shape (``|O|``,)
        The item and the stage of each pair.
    n_items : int
        The number n of items.

    Returns
    -------
    ndarray of int64, shape (n, T)
        The counts, with T the last stage + 1.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.debiasing.tpab import stage_counts
    >>> stage_counts(np.array([0, 0, 1]), np.array([0, 1, 1]), n_items=2).tolist()
    [[1, 1], [0, 1]]
    """
    width = int(stage.max(initial=0)) + 1
    return np.bincount(items * width + stage, minlength=n_items * width).reshape(n_items, width)


def next_counts(counts: NDArray[Any], slope: float) -> NDArray[np.float64]:
    """Draw each item's count on to the coming stage: ``n_T + slope (n_T - n_(T-1))``.

    Parameters
    ----------
    counts : ndarray, shape (n, T)
        The pairs of each item in each stage.
    slope : float
        How far the line of the last two stages is drawn on.

    Returns
    -------
    ndarray of float64, shape (n,)
        The counts; those of the only stage where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.debiasing.tpab import next_counts
    >>> next_counts(np.array([[2, 4], [3, 1]]), slope=0.5).tolist()
    [5.0, 0.0]
    """
    last: NDArray[np.float64] = counts[:, -1].astype(np.float64)
    return last + slope * (last - counts[:, -2]) if counts.shape[1] > 1 else last


def coarse(counts: NDArray[Any], top: float, groups: int) -> NDArray[np.int64]:
    """Find the group of each count: the smallest k with ``count <= top^((k + 1) / K)``.

    Parameters
    ----------
    counts : ndarray
        The counts, of any shape.
    top : float
        The largest count that the groups are made for.
    groups : int
        The number K of groups.

    Returns
    -------
    ndarray of int64
        The groups, 0 to K - 1, in the shape of the counts. A count beyond ``top`` is in the last group.

    Examples
    --------
    The two groups up to 4 end at 2 and at 4.

    >>> import numpy as np
    >>> from course_lib.debiasing.tpab import coarse
    >>> coarse(np.array([0, 1, 2, 3, 4, 9]), top=4, groups=2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    edges = float(max(top, 1)) ** (np.arange(1, groups + 1) / groups)
    edges[-1] = max(top, 1)
    group: NDArray[np.int64] = np.minimum(np.searchsorted(edges, counts, side="left"), groups - 1)
    return group
