r"""A batch that lies on several processes: what the average of their gradients is, what meets in it, what is sent.

P = processes hold B = batch_size pairs each. The loss is a mean (or a sum) over rows, one row for each pair: its query
against the items of the batch. A row *pulls* its own item and *pushes* the items of the other pairs. Every process ends
its step with the average of the gradients of all processes, as DistributedDataParallel and `training.fit` do.

`rows` is "own" where a process computes the rows of its own pairs, and "all" where every process computes all P B rows.
`gather` is "constant" where what comes from other processes is a number for autograd, and "gradients" where its
gradient is sent back and added up, as `training.FabricProcesses.gathered` does. What a process computes and sends is
counted for "local" too: no gather, its scores are those of its own pairs.

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
    """The parts of the averaged gradient, as multiples of the same parts in one process that holds all P B pairs.

    Parameters
    ----------
    query : Fraction
        The factor on the queries' vectors.
    pull : Fraction
        The factor on an item, from its own row.
    near : Fraction
        The factor on an item, from the other rows of its own process.
    far : Fraction
        The factor on an item, from the rows of the other processes.
    direct : Fraction
        The factor on a number that the loss itself uses, such as the temperature.

    See Also
    --------
    gradient_factors : The factors of a way to compute the loss.

    Examples
    --------
    Where all parts of the vectors are half of what they should be, twice the loss repairs them. The part of the
    temperature, which was right, is then twice too large:

    >>> from fractions import Fraction
    >>> from course_lib import processes
    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> factors = processes.GradientFactors(half, half, half, half, one)
    >>> factors.right, str(factors.repair), str(factors.times(factors.repair).direct)
    (False, '2', '2')
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
    """Return what averaging the gradients of P processes does to each part of the gradient.

    Parameters
    ----------
    processes : int
        The number P of processes, at least 1.
    rows : {"own", "all"}
        Whether a process computes the rows of its own pairs, or all P B rows.
    gather : {"constant", "gradients"}
        Whether what comes from other processes is a number for autograd, or its gradient is sent back and added up, as
        ``training.FabricProcesses.gathered`` does.
    reduction : {"mean", "sum"}
        Whether each process takes the mean or the sum of its rows. So does the one process of the comparison.

    Returns
    -------
    GradientFactors
        The factors, exact. All are 1 where the averaged gradient is that of one process.

    Raises
    ------
    ValueError
        For other words, and for less than one process.

    Notes
    -----
    With gradients, the average is the gradient of the mean of the processes' losses. That mean is the one process's
    loss, but for own rows that are summed, where it is 1/P of it. Without gradients, a process keeps what its losses do
    to its own vectors: nothing from far rows (own rows), or all of it, of which the average leaves 1/P (all rows).

    Examples
    --------
    Own rows are right with gradients. Without gradients, the pushes of the other processes are lost:

    >>> from course_lib import processes
    >>> processes.gradient_factors(processes=4, rows="own", gather="gradients").right
    True
    >>> factors = processes.gradient_factors(processes=4, rows="own", gather="constant")
    >>> [str(x) for x in (factors.query, factors.pull, factors.near, factors.far, factors.direct)]
    ['1', '1', '1', '0', '1']
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
    """Return the factor of the pushes on an item, on average over who lies where.

    Parameters
    ----------
    factors : GradientFactors
        The factors of :func:`gradient_factors`.
    processes : int
        The number P of processes, at least 1.
    batch_size : int
        The number B of pairs that each process holds, at least 1.

    Returns
    -------
    Fraction
        The mean of the factors ``near`` and ``far``: ``B - 1`` of the ``P B - 1`` other rows are near.

    Raises
    ------
    ValueError
        For numbers below 1, and for a single pair in all, as nothing is pushed then.

    Examples
    --------
    2 processes hold 2 pairs each. Of the 3 other rows 1 is near; the 2 far rows do not push:

    >>> from course_lib import processes
    >>> factors = processes.gradient_factors(processes=2, rows="own", gather="constant")
    >>> str(processes.mean_push(factors, processes=2, batch_size=2))
    '1/3'
    """
    near = checking.whole(batch_size, "batch_size") - 1
    others = checking.whole(processes, "processes") * (near + 1) - 1
    if others == 0:
        raise checking.refuse(batch_size, "batch_size", "at least 2 pairs in all, or nothing is pushed")
    return (near * factors.near + (others - near) * factors.far) / others


def negatives_ratio(*, processes: int, batch_size: int) -> Fraction:
    """Return by how much the negatives of one process weigh more than those of P local batches.

    ``(P B - 1) / (B - 1)``.

    Parameters
    ----------
    processes : int
        The number P of processes, at least 1.
    batch_size : int
        The number B of pairs that each process holds, at least 2.

    Returns
    -------
    Fraction
        The ratio. Multiply every ``l-`` of an in-batch loss with local negatives by it, and its expectation is that of
        one batch of ``P B`` pairs.

    Raises
    ------
    ValueError
        For ``batch_size < 2``: there are no negatives at all.

    Notes
    -----
    This is rho of P3, equation (12), at the two batch sizes.

    Examples
    --------
    A pair has 2 negatives in a local batch of 3, and 11 in one batch of 12:

    >>> from course_lib import processes
    >>> str(processes.negatives_ratio(processes=4, batch_size=3))
    '11/2'
    """
    p = checking.whole(processes, "processes")
    b = checking.whole(batch_size, "batch_size", 2, why="for a batch of one pair has no negatives")
    return Fraction(p * b - 1, b - 1)


class Meetings(NamedTuple):
    """How often positives meet in the ``P B x P B`` grid of one step, in expectation.

    Parameters
    ----------
    once : Fraction
        Copies of one given positive in the batch.
    near : Fraction
        Cells with the row of one and the column of another given positive, inside a process.
    far : Fraction
        Cells with the row of one and the column of another given positive, between two processes.
    copies : Fraction
        Cells in which a positive meets a copy of itself that another process drew.

    See Also
    --------
    meetings : The meetings of a way to draw.

    Examples
    --------
    >>> from course_lib import processes
    >>> processes.meetings("together", processes=2, batch_size=1, n_positives=2)._fields
    ('once', 'near', 'far', 'copies')
    """

    once: Fraction
    near: Fraction
    far: Fraction
    copies: Fraction


def meetings(
    draw: str, *, processes: int, batch_size: int, n_positives: int, same_shard: bool | None = None
) -> Meetings:
    """Return the expected meetings of P processes that draw B of M positives each, without replacement.

    Parameters
    ----------
    draw : {"together", "apart", "shards"}
        How the processes draw:

        - "together": one draw of P B positives, dealt out, as a shuffled list that is cut does;
        - "apart": each process draws from all M, for itself;
        - "shards": the M positives lie in P shards of M/P for good, and each process draws from its own.
    processes : int
        The number P of processes, at least 1.
    batch_size : int
        The number B of pairs that each process draws, at least 1.
    n_positives : int
        The number M of positives, at least 2.
    same_shard : bool, optional
        For "shards" only, and needed there: whether the two given positives lie in one shard.

    Returns
    -------
    Meetings
        The expectations, exact.

    Raises
    ------
    ValueError
        Where the numbers do not fit, or ``same_shard`` is missing or idle.

    Notes
    -----
    In all ways ``once`` is ``P B / M``. What is not named here is 0.

    - Together: near ``P B (B-1) / (M (M-1))``, far ``P (P-1) B^2 / (M (M-1))``.
    - Apart: near the same, far and copies ``P (P-1) (B/M)^2``.
    - Shards: near ``(P B / M) (B-1) / (M/P - 1)`` for two positives of one shard, far ``(P B / M)^2`` for
      positives of two shards.

    Examples
    --------
    2 processes draw 2 of 4 positives each. A draw together is the whole list, so every other positive is met once.
    Apart, a process may draw what the other has:

    >>> from course_lib import processes
    >>> [str(x) for x in processes.meetings("together", processes=2, batch_size=2, n_positives=4)]
    ['1', '1/3', '2/3', '0']
    >>> [str(x) for x in processes.meetings("apart", processes=2, batch_size=2, n_positives=4)]
    ['1', '1/3', '1/2', '1/2']
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
    """Return the number of scores that one process computes in a step.

    Rows times columns, which are ``P B``, or B where they are its own.

    Parameters
    ----------
    processes : int
        The number P of processes, at least 1.
    batch_size : int
        The number B of pairs that each process holds, at least 1.
    rows : {"own", "all"}
        Whether a process computes the rows of its own pairs, or all P B rows.
    gather : {"local", "constant", "gradients"}
        What comes from other processes: nothing, numbers, or numbers whose gradients are sent back.

    Returns
    -------
    int
        The number of scores.

    Raises
    ------
    ValueError
        For other words, for numbers below 1, and for all rows of "local".

    Examples
    --------
    >>> from course_lib import processes
    >>> processes.computed_scores(processes=4, batch_size=10, rows="own", gather="local")  # 10 * 10
    100
    >>> processes.computed_scores(processes=4, batch_size=10, rows="own", gather="gradients")  # 10 * 40
    400
    >>> processes.computed_scores(processes=4, batch_size=10, rows="all", gather="gradients")  # 40 * 40
    1600
    """
    pairs = checking.whole(batch_size, "batch_size")
    everyone = checking.whole(processes, "processes") * pairs
    columns = everyone if transfers(rows=rows, gather=gather) else pairs
    return columns * (columns if rows == "all" else pairs)


def transfers(*, rows: str, gather: str) -> int:
    """Return how many tables a process puts together from all processes in a step.

    Tables (P B, d): the items, and the queries for "all" rows. With gradients as many come back.

    Parameters
    ----------
    rows : {"own", "all"}
        Whether a process computes the rows of its own pairs, or all P B rows.
    gather : {"local", "constant", "gradients"}
        What comes from other processes: nothing, numbers, or numbers whose gradients are sent back.

    Returns
    -------
    int
        The number of tables. "local" has none.

    Raises
    ------
    ValueError
        For other words, and for all rows of "local", which has its own rows only.

    Examples
    --------
    >>> from course_lib import processes
    >>> processes.transfers(rows="own", gather="constant"), processes.transfers(rows="all", gather="gradients")
    (1, 4)
    """
    ways = WAYS[checking.choice(gather, "gather", WAYS)]
    return ways * (1 + ROWS.index(checking.choice(rows, "rows", ROWS if ways else ROWS[:1])))


def gathered_bytes(*, processes: int, batch_size: int, width: int, rows: str, gather: str, itemsize: int = 4) -> int:
    """Return the bytes that one process sends in a step so that all processes have the vectors, in a ring.

    Parameters
    ----------
    processes : int
        The number P of processes, at least 1.
    batch_size : int
        The number B of pairs that each process holds, at least 1.
    width : int
        The width d of the vectors, at least 1.
    rows : {"own", "all"}
        Whether a process computes the rows of its own pairs, or all P B rows.
    gather : {"local", "constant", "gradients"}
        What comes from other processes: nothing, numbers, or numbers whose gradients are sent back.
    itemsize : int
        The bytes of a number.

    Returns
    -------
    int
        The bytes: each of the :func:`transfers` sends ``P - 1`` blocks of B rows of d numbers.

    Raises
    ------
    ValueError
        For other words, for numbers below 1, and for all rows of "local".

    Notes
    -----
    The gradients of the model's parameters are not counted: every way sends them.

    Examples
    --------
    One table; 3 blocks of 10 rows of 8 numbers of 4 bytes:

    >>> from course_lib import processes
    >>> processes.gathered_bytes(processes=4, batch_size=10, width=8, rows="own", gather="constant")
    960
    """
    others = checking.whole(processes, "processes") - 1
    row = checking.whole(width, "width") * checking.whole(itemsize, "itemsize")
    return transfers(rows=rows, gather=gather) * others * checking.whole(batch_size, "batch_size") * row


def gramian_bytes(*, processes: int, width: int, itemsize: int = 4) -> Fraction:
    """Return the bytes that one process sends in a step so that all have the sum of two Gramians.

    ``4 (P-1)/P d^2`` numbers, for two d x d Gramians. The batch size is not in it.

    Parameters
    ----------
    processes : int
        The number P of processes, at least 1.
    width : int
        The width d of the vectors, at least 1.
    itemsize : int
        The bytes of a number.

    Returns
    -------
    Fraction
        The bytes. A sum in a ring sends each number twice but for the share that stays at home.

    Raises
    ------
    ValueError
        For numbers below 1.

    Examples
    --------
    2 Gramians of 64 numbers of 4 bytes are 512 bytes; each is sent twice, but for a quarter:

    >>> from course_lib import processes
    >>> int(processes.gramian_bytes(processes=4, width=8))
    768
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
