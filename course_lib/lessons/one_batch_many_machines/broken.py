"""Counterexamples: each assumption of the chapter dropped once, each popular factor used where it does not belong.

All are exact. The losses are in-batch softmax of numbers (vectors of width one) or of three probabilities; the mean
over processes is that of `proofs.averaged`, slope by slope.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import sympy as sp

from course_lib import processes
from course_lib.lessons.one_batch_many_machines import proofs
from course_lib.lessons.shared.counterexample import Counterexample


def constants_have_no_loss() -> Counterexample:
    """Own rows without gradients: the two mixed derivatives at the origin, which a gradient has equal (1/4 and 0).

    claimed: the change of the gradient in q1 with k2; actual: the change of the gradient in k2 with q1.
    """
    q, k, field = proofs.numbers_on(2, 1)
    origin = dict.fromkeys([*q, *k], 0)
    there, back = field[0].diff(k[1]).subs(origin), field[3].diff(q[0]).subs(origin)
    return Counterexample("far items carry gradients", there, back, -sp.Rational(1, 4))


def no_factor_brings_pushes_back(factor: int = 2) -> Counterexample:
    """Own rows without gradients, times P: the push of the other process on an item is still 0, not 1."""
    found = processes.gradient_factors(processes=2, rows="own", gather="constant").times(factor)
    return Counterexample("far items carry gradients", Fraction(1), found.far, Fraction(-1))


def factor_on_own_rows(p: int = 8) -> Counterexample:
    """Own rows with gradients, times P: all is P times too large. claimed: the factor 1 of the pulls."""
    found = processes.gradient_factors(processes=p, rows="own", gather="gradients").times(p)
    return Counterexample(
        "every process computes all rows, without gradients", Fraction(1), found.pull, Fraction(p - 1)
    )


def factor_on_the_temperature(p: int = 8) -> Counterexample:
    """All rows without gradients, times P: the vectors are right, the temperature's gradient is P times too large."""
    found = processes.gradient_factors(processes=p, rows="all", gather="constant").times(p)
    return Counterexample("the loss uses no parameter itself", Fraction(1), found.direct, Fraction(p - 1))


def sums_on_own_rows(p: int = 8) -> Counterexample:
    """Own rows that are summed, with gradients and no factor: 1/P of the one process's sum."""
    found = processes.gradient_factors(processes=p, rows="own", gather="gradients", reduction="sum")
    return Counterexample("the processes take means", Fraction(1), found.query, Fraction(1, p) - 1)


def parts_of_two_lengths(lengths: Sequence[int] = (1, 3)) -> Counterexample:
    """The mean of two processes' means of 1 and 3 rows, as the weight of the lone row: 1/2 and not 1/4."""
    of_process = Fraction(1, lengths[0]) / len(lengths)
    of_batch = Fraction(1, sum(lengths))
    return Counterexample("every process has B rows", of_batch, of_process, Fraction(1, 2) - of_batch)


def local_softmax_cannot_be_weighed() -> Counterexample:
    """Softmax: 3 times the one near negative of two pairs, averaged over the negatives, is not log of the sum.

    Two processes of two pairs, exponentials 1 of the positive and 0, 0, 3 of the negatives. claimed: the loss with all
    three, log 4; actual: the mean of log(1 + 3 x) over them, log(10)/3.
    """
    numbers = [sp.Integer(0), sp.Integer(0), sp.Integer(3)]
    ratio = sp.Integer(processes.negatives_ratio(processes=2, batch_size=2).numerator)
    weighed = sum(sp.log(1 + ratio * x) for x in numbers) / len(numbers)
    return Counterexample("the loss is a sum over pairs", sp.log(1 + sum(numbers)), weighed, sp.log(10) / 3 - sp.log(4))


def fixed_shards_never_meet() -> Counterexample:
    """Four positives in two fixed shards, each process draws two of its own: positives of two shards never meet.

    claimed: how often two given positives meet inside a process when all four are dealt out anew, 2/6 of the time.
    """
    dealt = processes.meetings("together", processes=2, batch_size=2, n_positives=4).near
    sharded = processes.meetings("shards", processes=2, batch_size=2, n_positives=4, same_shard=False).near
    return Counterexample("the list is shuffled before it is cut", dealt, sharded, -Fraction(1, 3))


def processes_that_draw_apart() -> Counterexample:
    """A positive that is alone in row and column: dealt out it is never called a negative, drawn apart it is.

    Two processes draw one of two positives each. Both draw the first with probability 1/4, in two orders of rows.
    """
    drawn = [step for step in itertools.product((0, 1), repeat=2) if step == (0, 0)]
    dealt = processes.meetings("together", processes=2, batch_size=1, n_positives=2).copies
    apart = processes.meetings("apart", processes=2, batch_size=1, n_positives=2).copies
    return Counterexample("one draw without replacement", dealt, apart, Fraction(2 * len(drawn), 4))
