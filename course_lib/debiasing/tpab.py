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
    """Popularity as a feature that changes with time.

    With s_ui(t) = <e_u, e_i> + <p_u, q_g>, g the group of item i's count in stage t:

        loss = BPR of s in the stage t of the pair's time + bootstrap * BPR of s with the pair's popularity shuffled
               + penalties

    Stages cut the time of the training data into parts of equal length. Groups ("coarsening") cut the counts 1..top,
    top the largest count of a stage, at powers top^(1/K), top^(2/K), ...; K = groups. Users have p_u (m, d), groups q
    (K, d), beside the backbone. In the shuffled ("bootstrapping") term each triple takes the two popularity embeddings
    of another triple of the batch: what is then left to tell positive from negative is <e_u, e_i> alone, so popularity
    cannot stand in for taste.

    Served by s in the stage after the last, its counts drawn on as a line: n_T + slope (n_T - n_(T-1)). The tables are
    [e_u, p_u] and [e_i, q_g], 2d numbers per row. Without times there is one stage: the paper's variant without time.

    Source: Yoo et al., KDD 2025 (doi 10.1145/3690624.3709299), as its authors' repository hsyoo32/tpab_ has it; the
    paper's text was not at hand. p and q are not propagated along the graph (layer_p = 0 there). Choices: counts of the
    training data alone (there the groups see all counts), the last stages of the training data for the line (there the
    validation stage when testing), one decay for backbone and popularity, shuffling as one draw per batch. The method
    expects a split by time; under P1's random split the test pairs lie in all stages, but it serves the next one.
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
    """(|O|,) in which of `stages` equal parts of [first time, last time] each pair lies; 0 without times."""
    if times is None or n_pairs == 0 or times.max() == times.min():
        return np.zeros(n_pairs, dtype=np.int64)
    share = (times - times.min()) / (times.max() - times.min())
    stage: NDArray[np.int64] = np.minimum((share * stages).astype(np.int64), stages - 1)
    return stage


def stage_counts(items: NDArray[np.int64], stage: NDArray[np.int64], n_items: int) -> NDArray[np.int64]:
    """(n, T) pairs of each item in each stage, T = the last stage + 1."""
    width = int(stage.max(initial=0)) + 1
    return np.bincount(items * width + stage, minlength=n_items * width).reshape(n_items, width)


def next_counts(counts: NDArray[Any], slope: float) -> NDArray[np.float64]:
    """(n,) n_T + slope (n_T - n_(T-1)): each item's count in the coming stage; the only stage's where there is one."""
    last: NDArray[np.float64] = counts[:, -1].astype(np.float64)
    return last + slope * (last - counts[:, -2]) if counts.shape[1] > 1 else last


def coarse(counts: NDArray[Any], top: float, groups: int) -> NDArray[np.int64]:
    """The group 0..K-1 of each count: the smallest k with count <= top^((k + 1) / K), the last one beyond `top`."""
    edges = float(max(top, 1)) ** (np.arange(1, groups + 1) / groups)
    edges[-1] = max(top, 1)
    group: NDArray[np.int64] = np.minimum(np.searchsorted(edges, counts, side="left"), groups - 1)
    return group
