"""DCCL: interest and conformity told apart by two contrasts in the batch, each with its own pairs that count."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from course_lib import checking, losses
from course_lib.backbones.base import Backbone, Tables, rows, triple_scores
from course_lib.debiasing.rival import TwinRival, sample
from course_lib.interactions import Interactions


class DCCL(TwinRival):
    """Disentangle interest and conformity by two contrasts in the batch, each with its own pairs that count.

    With ``p_i = pop_i / max pop``, cosines ``cos_int`` and ``cos_con`` of the two embeddings, and the pairs b of the
    batch::

        interest    mean over b of w_b (-ln [exp(cos_int(u_b, i_b) / tau) / sum_c exp(cos_int(u_b, i_c) / tau)]),
                    w_b = exp(-min(rate * p_b, 1)): an unpopular choice says much about interest
        conformity  the same with cos_con, with 1 - w_b, and with c only over pairs whose item is no more popular
                    than i_b: to conform is to choose what is popular over what is less so
        loss = BPR of the joined embeddings + weight_interest * interest + weight_conformity * conformity
               + the backbones' penalties

    Served by the joined embeddings: interest plus conformity.

    Parameters
    ----------
    backbone : Backbone
        Gives the embeddings of interest. Its twin gives those of conformity.
    interactions : Interactions
        The training pairs, which say how popular an item is.
    weight_interest, weight_conformity : float
        The weights of the two contrasts.
    rate : float
        How fast the weight ``w_b`` falls with popularity.
    tau : float
        The temperature, above 0.
    limit : int
        At most so many pairs of the batch, drawn at random, enter the contrasts, whose cost grows with their square.
    generator : torch.Generator
        Draws the parameters of the twin.

    Raises
    ------
    ValueError
        For numbers out of range, and for a backbone that does not fit the interactions.

    Notes
    -----
    Source: Zhao et al., WWW 2023 (arXiv 2302.03248); weights and defaults after the repository ``somestudies/DCCL``.
    The paper's text was at hand only as a summary (Kuaishou's own, besthub.dev), so that repository decides. Choices:
    it gives more popular items the score 0, which leaves exp(0) = 1 in the sum, here they leave the sum; it counts the
    same user's other items of the batch as positives of the same row, here they, and copies of the same item, leave
    the sum; sums over the batch are means here.

    Widths: the twin is as wide as the backbone. For as many numbers as the backbone has alone give it half the width.

    Examples
    --------
    Item 0 has two pairs and item 1 has one, so the weights are exp(-1) and exp(-1/2).

    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2), torch.Generator().manual_seed(0)
    >>> model = debiasing.DCCL(backbones.MF(2, 2, 4, generator=generator), data, generator=generator)
    >>> [round(weight, 4) for weight in model.interest_weights().tolist()]
    [0.3679, 0.6065]
    """

    def __init__(
        self,
        backbone: Backbone,
        interactions: Interactions,
        *,
        weight_interest: float = 0.1,
        weight_conformity: float = 0.1,
        rate: float = 1.0,
        tau: float = 1.0,
        limit: int = 512,
        generator: torch.Generator,
    ) -> None:
        super().__init__(backbone, interactions, generator=generator)
        self.weight_interest = checking.real(weight_interest, "weight_interest", least=0)
        self.weight_conformity = checking.real(weight_conformity, "weight_conformity", least=0)
        self.rate, self.tau = checking.real(rate, "rate", least=0), checking.real(tau, "tau", above=0)
        self.limit = checking.whole(limit, "limit")

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """BPR of the sum of both scores, the two contrasts, and the penalties of backbone and twin."""
        interest, conformity = self.backbone.embeddings(), self.conformity.embeddings()
        halves = (triple_scores(tables, users, positives, negatives) for tables in (interest, conformity))
        loss: Tensor = losses.bpr(*(left + right for left, right in zip(*halves, strict=True)))
        chosen = sample(torch.arange(len(users), device=users.device), self.limit, self.draws)
        contrasts = self.contrasts(interest, conformity, users[chosen], positives[chosen])
        loss = loss + self.weight_interest * contrasts["interest"] + self.weight_conformity * contrasts["conformity"]
        return loss + self.penalties(users, positives, negatives, interest, conformity)

    def contrasts(self, interest: Tables, conformity: Tables, users: Tensor, items: Tensor) -> dict[str, Tensor]:
        """The terms "interest" and "conformity" of a batch of pairs (B,)."""
        popularity, weights = self.popularity[items], self.interest_weights()[items]
        known = (users[:, None] == users) | (items[:, None] == items)
        known.fill_diagonal_(False)  # (B, B): another positive of the row's user, or the row's item again
        more_popular = popularity > popularity[:, None]  # (B, B): the column's item, than the row's
        return {
            "interest": (weights * self._rows_losses(interest, users, items, known)).mean(),
            "conformity": ((1 - weights) * self._rows_losses(conformity, users, items, known | more_popular)).mean(),
        }

    def interest_weights(self) -> Tensor:
        """w_i = exp(-min(rate * pop_i / max pop, 1)): (n,), between 1/e and 1."""
        return torch.exp(-(self.rate * self.popularity / self.popularity.max()).clamp(max=1))

    def _rows_losses(self, tables: Tables, users: Tensor, items: Tensor, left_out: Tensor) -> Tensor:
        """-ln softmax of each row's own pair among the pairs of the batch that are not left out: (B,)."""
        left, right = normalize(rows(tables[0], users), dim=1), normalize(rows(tables[1], items), dim=1)
        scores = (left @ right.T / self.tau).masked_fill(left_out, -torch.inf)  # (B, d) @ (d, B) -> (B, B)
        return scores.logsumexp(dim=1) - scores.diagonal()
