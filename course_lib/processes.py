r"""A batch that lies on several processes: what the average of their gradients is, what meets in it, what is sent.

P = processes hold B = batch_size pairs each. The loss is a mean (or a sum) over rows, one row for each pair: its query
against the items of the batch. A row *pulls* its own item and *pushes* the items of the other pairs. Every process ends
its step with the average of the gradients of all processes, as DistributedDataParallel and `training.fit` do.

rows     "own": a process computes the rows of its own pairs;  "all": every process computes all P B rows
gather   "constant": what comes from other processes is a number for autograd;  "gradients": its gradient is sent back
         and added up, as `training.FabricProcesses.gathered` does.  What a process computes and sends is counted for
         "local" too: no gather, its scores are those of its own pairs

Results are exact (`fractions.Fraction`). Source: the chapter "One batch on many machines" of this course.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from course_lib import checking

ROWS = ("own", "all")
WAYS = {"local": 0, "constant": 1, "gradients": 2}  # of a gathered table: none, there, there and back
GATHERS = tuple(WAYS)[1:]
OPERATIONS = 6  # times d, for a score: 2 d for <q, k>, and twice as many for the gradients to q and to k
REDUCTIONS = ("mean", "sum")
DRAWS = ("together", "apart", "shards")


@dataclass(frozen=True)
class GradientFactors:
    """Each part of the averaged gradient, as a multiple of the same part in one process that holds all P B pairs.

    query: on the queries' vectors;  pull: on an item, from its own row;  near, far: on an item, from the other rows of
    its own process, and from the rows of the other processes;  direct: on a number that the loss itself uses, such as
    the temperature.
    """

    query: Fraction
    pull: Fraction
    near: Fraction
    far: Fraction
    direct: Fraction

    def times(self, factor: Fraction | int) -> GradientFactors:
        """The factors where the loss of every process is multiplied by `factor`."""
        return GradientFactors(*(factor * part for part in self._parts))

    @property
    def right(self) -> bool:
        """Whether the averaged gradient is that of one process."""
        return set(self._parts) == {Fraction(1)}

    @property
    def repair(self) -> Fraction | None:
        """The factor for the loss that makes all parts but `direct` right; None where no factor does."""
        vectors = set(self._parts[:-1])
        return 1 / vectors.pop() if len(vectors) == 1 else None

    @property
    def _parts(self) -> tuple[Fraction, ...]:
        return self.query, self.pull, self.near, self.far, self.direct


def gradient_factors(*, processes: int, rows: str, gather: str, reduction: str = "mean") -> GradientFactors:
    """What averaging the gradients of P processes does to each part of the gradient.

    rows, gather: see the module. reduction: each process takes the mean or the sum of its rows, and so does the one
    process of the comparison. Raises ValueError for other words, or less than one process.

    With gradients the average is the gradient of the mean of the processes' losses. That mean is the one process's
    loss, but for own rows that are summed, where it is 1/P of it. Without gradients a process keeps what its losses do
    to its own vectors: nothing from far rows (own rows), or all of it, of which the average leaves 1/P (all rows).
    """
    one, share = Fraction(1), Fraction(1, checking.whole(processes, "processes"))
    checking.choice(rows, "rows", ROWS)
    checking.choice(gather, "gather", GATHERS)
    checking.choice(reduction, "reduction", REDUCTIONS)
    if rows == "own":
        far = one if gather == "gradients" or processes == 1 else Fraction(0)
        mean = GradientFactors(one, one, one, far, one)
        return mean if reduction == "mean" else mean.times(share)
    vectors = one if gather == "gradients" else share
    return GradientFactors(vectors, vectors, vectors, vectors, one)


def mean_push(factors: GradientFactors, *, processes: int, batch_size: int) -> Fraction:
    """The factor of the pushes on an item, on average over who lies where: B - 1 of P B - 1 other rows are near."""
    near = checking.whole(batch_size, "batch_size") - 1
    others = checking.whole(processes, "processes") * (near + 1) - 1
    if others == 0:
        raise checking.refuse(batch_size, "batch_size", "at least 2 pairs in all, or nothing is pushed")
    return (near * factors.near + (others - near) * factors.far) / others


def negatives_ratio(*, processes: int, batch_size: int) -> Fraction:
    """(P B - 1) / (B - 1): by how much the negatives of one process weigh more than those of P local batches.

    Multiply every l- of an in-batch loss with local negatives by it, and its expectation is that of one batch of P B
    pairs (rho of P3, equation (12), at the two batch sizes). Raises ValueError for batch_size < 2: no negatives at all.
    """
    p = checking.whole(processes, "processes")
    b = checking.whole(batch_size, "batch_size", 2, why="for a batch of one pair has no negatives")
    return Fraction(p * b - 1, b - 1)


class Meetings(NamedTuple):
    """How often positives meet in the P B x P B grid of one step, in expectation.

    once: copies of one given positive in the batch.  near, far: cells with the row of one and the column of another
    given positive, inside a process and between two.  copies: cells in which a positive meets a copy of itself that
    another process drew.
    """

    once: Fraction
    near: Fraction
    far: Fraction
    copies: Fraction


def meetings(
    draw: str, *, processes: int, batch_size: int, n_positives: int, same_shard: bool | None = None
) -> Meetings:
    """Expected meetings of P processes that draw B of M positives each, without replacement.

    draw         "together": one draw of P B positives, dealt out, as a shuffled list that is cut does
                 "apart": each process draws from all M, for itself
                 "shards": the M positives lie in P shards of M/P for good, and each process draws from its own
    same_shard   "shards" only: whether the two given positives lie in one shard

    Together: near P B(B-1)/(M(M-1)), far P(P-1)B^2/(M(M-1)). Apart: near the same, far and copies P(P-1)(B/M)^2.
    Shards: near (PB/M)(B-1)/(M/P-1), or far (PB/M)^2 for positives of two shards. Raises ValueError where the numbers
    do not fit, or same_shard is missing or idle.
    """
    p, b, m = _sizes(draw, processes, batch_size, n_positives)
    if same_shard not in ((True, False) if draw == "shards" else (None,)):
        raise checking.refuse(same_shard, "same_shard", "True or False with draw='shards', and None otherwise")
    once, none, two = Fraction(p * b, m), Fraction(0), m * (m - 1)
    if draw == "together":
        return Meetings(once, Fraction(p * b * (b - 1), two), Fraction(p * (p - 1) * b * b, two), none)
    if draw == "apart":
        between = p * (p - 1) * Fraction(b, m) ** 2
        return Meetings(once, Fraction(p * b * (b - 1), two), between, between)
    if same_shard:
        shard = m // p
        return Meetings(once, Fraction(b * (b - 1), shard * (shard - 1)) if shard > 1 else none, none, none)
    return Meetings(once, none, once**2, none)


def computed_scores(*, processes: int, batch_size: int, rows: str, gather: str) -> int:
    """Scores that one process computes in a step: rows times columns, which are P B, or B where they are its own."""
    pairs = checking.whole(batch_size, "batch_size")
    everyone = checking.whole(processes, "processes") * pairs
    columns = everyone if transfers(rows=rows, gather=gather) else pairs
    return columns * (columns if rows == "all" else pairs)


def transfers(*, rows: str, gather: str) -> int:
    """How many tables (P B, d) a process puts together in a step: the items, and the queries for "all" rows.

    With gradients as many come back. "local" has none, and its own rows: ValueError for all.
    """
    ways = WAYS[checking.choice(gather, "gather", WAYS)]
    return ways * (1 + ROWS.index(checking.choice(rows, "rows", ROWS if ways else ROWS[:1])))


def gathered_bytes(*, processes: int, batch_size: int, width: int, rows: str, gather: str, itemsize: int = 4) -> int:
    """Bytes that one process sends in a step so that all processes have the vectors, in a ring.

    Each of the `transfers` sends P - 1 blocks of B rows of d numbers. The gradients of the model's parameters are not
    counted: every way sends them.
    """
    others = checking.whole(processes, "processes") - 1
    row = checking.whole(width, "width") * checking.whole(itemsize, "itemsize")
    return transfers(rows=rows, gather=gather) * others * checking.whole(batch_size, "batch_size") * row


def gramian_bytes(*, processes: int, width: int, itemsize: int = 4) -> Fraction:
    """Bytes that one process sends in a step so that all have the sum of two d x d Gramians: 4 (P-1)/P d^2 numbers.

    A sum in a ring sends each number twice but for the share that stays at home. The batch size is not in it.
    """
    p = checking.whole(processes, "processes")
    return Fraction(4 * (p - 1) * checking.whole(width, "width") ** 2 * checking.whole(itemsize, "itemsize"), p)


def _sizes(draw: str, processes: int, batch_size: int, n_positives: int) -> tuple[int, int, int]:
    checking.choice(draw, "draw", DRAWS)
    p, m = checking.whole(processes, "processes"), checking.whole(n_positives, "n_positives", 2)
    if draw == "shards" and m % p:
        raise checking.refuse(m, "n_positives", f"a multiple of processes={p}, or the shards differ in length")
    most = m if draw == "apart" else m // p
    return p, checking.whole(batch_size, "batch_size", 1, most, why="which is all that a process can draw"), m
