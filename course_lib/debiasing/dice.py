"""DICE: embeddings for interest and for conformity, told apart by how popular the negative is."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from course_lib import checking, losses
from course_lib.backbones.base import Backbone, Tables, rows, triple_scores
from course_lib.debiasing.rival import TwinRival, pair_keys, pair_positions, sample
from course_lib.dependence import distance_correlation
from course_lib.interactions import Interactions

TRIES = 5  # redraws of a negative that is one of the user's own items
ROWS = 256  # rows that the distance correlation looks at: its cost grows with their square
INDEPENDENCE = ("distance correlation", "l1", "l2")


class DICE(TwinRival):
    """Learn interest and conformity from different triples, told apart by how popular the negative is.

    With ``s = s_int + s_con``, the inner product of the joined embeddings::

        click       -ln sigma(s_ui - s_uj)            of all triples
        interest    -ln sigma(s_int_ui - s_int_uj)    where j is MORE popular than i: chosen against the crowd
        conformity  -ln sigma(s_con_uj - s_con_ui)    where j is more popular than i,
                    -ln sigma(s_con_ui - s_con_uj)    where j is less popular
        loss = click + weight * (interest + conformity) + apart * (how dependent the two embeddings are)
               + the backbones' penalties

    A pair whose item is the more popular one may be explained by popularity, so the interest task leaves it alone.
    Each term is a mean over the batch, and triples outside its case count 0. Served by the joined embeddings: interest
    plus conformity.

    Parameters
    ----------
    backbone : Backbone
        Gives the embeddings of interest. Its twin gives those of conformity.
    interactions : Interactions
        The training pairs, which say how popular an item is.
    weight : float
        The weight of the interest and the conformity task.
    apart : float
        The weight of the dependence of the two embeddings.
    margin : float, optional
        In pairs: half of the negatives come from items with more than ``margin`` above the positive's popularity, half
        from items more than ``margin`` below. The default is a tenth of the mean popularity.
    pool : int
        Of a side with fewer items than this no negative is drawn, unless the other side has none.
    decay : float
        Margin, pool and weight shrink by this factor every epoch, from easy triples to hard ones.
    independence : str
        "distance correlation", to be made small, or the mean absolute ("l1") or squared ("l2") difference, made large.
    resample : bool
        Whether the negatives are drawn here (``draw_negatives``). False takes the batch's negatives; those within the
        margin then serve the click task alone.
    generator : torch.Generator
        Draws the parameters of the twin.

    Raises
    ------
    ValueError
        For numbers out of range, an unknown ``independence``, and a backbone that does not fit the interactions.

    Notes
    -----
    Source: Zheng et al., WWW 2021 (arXiv 2006.11011), equations (3) to (10), read in a reader's notes, and the
    authors' repository ``tsinghua-fib-lab/DICE``, whose loss and gradients these are. The paper writes minus the BPR
    loss for conformity where j is more popular, which has no lower bound; the repository changes the two sides
    instead, as here. Choices: the repository's margin is 40 and its lower side "less than half the popularity", here
    both sides have the same margin, as in the paper; distance correlation sees ``ROWS`` random users and items of the
    batch (batches were 128 there).

    Widths: the twin is as wide as the backbone. For as many numbers as the backbone has alone give it half the width.
    On test sets that follow the training data's popularity (a random split) this law of negatives costs accuracy,
    whatever the embeddings: compare ``resample=False``.

    Examples
    --------
    All scores are 0 here. In the first triple the negative, item 0, is the more popular item, so interest counts it
    alone.

    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2), torch.Generator().manual_seed(0)
    >>> model = debiasing.DICE(backbones.MF(2, 2, 4, scale=0.0, generator=generator), data, generator=generator)
    >>> triples = torch.tensor([[1, 0], [1, 0], [0, 1]])  # users, positives, negatives
    >>> terms = model.terms(model.backbone(), model.conformity(), *triples)
    >>> {name: round(value.item(), 4) for name, value in terms.items()}
    {'click': 0.6931, 'interest': 0.3466, 'conformity': 0.6931, 'dependence': 0.0}
    """

    by_popularity: Tensor
    keys: Tensor

    def __init__(
        self,
        backbone: Backbone,
        interactions: Interactions,
        *,
        weight: float = 0.1,
        apart: float = 0.01,
        margin: float | None = None,
        pool: int = 1,
        decay: float = 0.9,
        independence: str = "distance correlation",
        resample: bool = True,
        generator: torch.Generator,
    ) -> None:
        super().__init__(backbone, interactions, generator=generator)
        self.weight, self.apart = checking.real(weight, "weight", least=0), checking.real(apart, "apart", least=0)
        self.decay, self.age = checking.real(decay, "decay", least=0), 1.0
        self.resample = checking.choice(resample, "resample", (True, False))
        usual = float(self.popularity.mean()) / 10
        self.margin = usual if margin is None else checking.real(margin, "margin", least=0)
        self.pool = checking.whole(pool, "pool")
        self.independence = checking.choice(independence, "independence", INDEPENDENCE)
        order = torch.argsort(self.popularity, stable=True)
        self.register_buffer("by_popularity", order, persistent=False)  # (n,) least popular first
        self.register_buffer("keys", pair_keys(interactions), persistent=False)

    def begin_epoch(self, epoch: int, rng: np.random.Generator) -> None:
        """A step from easy triples to hard ones."""
        super().begin_epoch(epoch, rng)
        self.age = self.decay**epoch

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """The loss of the class, on triples whose negatives follow DICE's law."""
        if self.resample:
            negatives = self.draw_negatives(users, positives, negatives)
        interest, conformity = self.backbone.embeddings(), self.conformity.embeddings()
        terms = self.terms(interest, conformity, users, positives, negatives)
        loss = terms["click"] + self.age * self.weight * (terms["interest"] + terms["conformity"])
        loss = loss + self.apart * terms["dependence"]
        return loss + self.penalties(users, positives, negatives, interest, conformity)

    def terms(
        self, interest: Tables, conformity: Tables, users: Tensor, positives: Tensor, negatives: Tensor
    ) -> dict[str, Tensor]:
        """The four tasks of a batch of triples, by name: "click", "interest", "conformity", "dependence"."""
        batch = (users, positives, negatives)
        of_interest, of_conformity = (triple_scores(tables, *batch) for tables in (interest, conformity))
        gap, margin = self.popularity[negatives] - self.popularity[positives], self.age * self.margin
        above, below = (gap > margin).to(gap.dtype), (gap < -margin).to(gap.dtype)  # of the positive's popularity, (B,)
        pos_scores, neg_scores = of_conformity
        against = above * losses.bpr_losses(neg_scores, pos_scores) + below * losses.bpr_losses(pos_scores, neg_scores)
        joint = (left + right for left, right in zip(of_interest, of_conformity, strict=True))
        return {
            "click": losses.bpr(*joint),
            "interest": (above * losses.bpr_losses(*of_interest)).mean(),
            "conformity": against.mean(),
            "dependence": self._dependence(0, users, interest, conformity)
            + self._dependence(1, torch.cat((positives, negatives)), interest, conformity),
        }

    def _dependence(self, side: int, ids: Tensor, interest: Tables, conformity: Tables) -> Tensor:
        """How dependent the two embeddings of the batch's users (side 0) or items (side 1) are: to be made small."""
        ids = torch.unique(ids)
        if self.independence == "distance correlation":
            ids = sample(ids, ROWS, self.draws)
        one, other = rows(interest[side], ids), rows(conformity[side], ids)
        if self.independence == "distance correlation":
            return distance_correlation(one, other)
        return -(one - other).abs().mean() if self.independence == "l1" else -(one - other).square().mean()

    def draw_negatives(self, users: Tensor, positives: Tensor, fallback: Tensor) -> Tensor:
        """(B,) negatives outside the users' items, half of them more popular than the positive, half of them less.

        With chance 1/2 uniform over the items more than the margin above the positive's popularity, else uniform over
        those more than the margin below; from one side alone where the other has fewer items than the pool. Where both
        have fewer, all come from above, unless nothing lies there. A draw that is one of the user's own items is
        repeated TRIES times. Where that does not help, and where both sides are empty, that of `fallback` stays.
        """
        popularity, margin = self.popularity[self.by_popularity], self.age * self.margin
        centre = self.popularity[positives]
        below = torch.searchsorted(popularity, centre - margin)  # items 0..below-1 in order of popularity
        above = torch.searchsorted(popularity, centre + margin, right=True)  # items above..n-1
        size_above, pool = self.n_items - above, max(1.0, self.age * self.pool)
        few_below, few_above = (below < pool) & (size_above > 0), (size_above < pool) & (below > 0)
        negatives, open_places = fallback.clone(), (below > 0) | (size_above > 0)
        for _ in range(TRIES):
            chance, place = (
                torch.rand(len(users), generator=self.draws, device=users.device, dtype=torch.float64) for _ in range(2)
            )
            upper = few_below | (~few_above & (chance < 0.5))
            size = torch.where(upper, size_above, below)
            drawn = torch.where(upper, above, 0) + (place * size).long()
            drawn = self.by_popularity[drawn.clamp(max=self.n_items - 1)]
            fits = open_places & (pair_positions(self.keys, users, drawn, self.n_items) < 0)
            negatives = torch.where(fits, drawn, negatives)
            open_places = open_places & ~fits
            if not bool(open_places.any()):
                break
        return negatives
