"""Counterexamples to P1's Sections 3.3 to 5.4 and Theorem A.5: each reading refuted once, in rational numbers.

One user in the plane, e_pop = (0, 1). A margin that is a multiple of log 2 has a rational weight, 1 / (1 + 2^k). Where
the projections come in pairs (c, -c) and (d, -d) the optimum of L_DDC is rational too (`proofs.prop_level_scores`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from course_lib.arrays import exact
from course_lib.lessons.shared.counterexample import Counterexample

POP = exact(np.array([0, 1]))


@dataclass(frozen=True)
class User:
    """A user of width two, with two positives (first the one with the highest score, which gives e_pref).

    The lengths are such that a = (c, -c) and b = (d, -d) and e_pref is rational.
    """

    vector: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray
    length: int  # of the first positive

    @property
    def pref(self) -> np.ndarray:
        return exact(self.positives[0] / Fraction(self.length))

    @property
    def optimum(self) -> tuple[Fraction, Fraction]:
        """(alpha*, beta*) of L_DDC over all four pairs."""
        s, t = self.positives @ self.vector, self.negatives @ self.vector
        c, d = self.positives[0] @ self.pref, self.negatives[0] @ POP
        assert self.positives[1] @ self.pref == -c and self.negatives[1] @ POP == -d
        return (t[1] - t[0]) / (2 * d), (s[1] - s[0]) / (2 * c)

    @property
    def final(self) -> np.ndarray:
        """(14)."""
        alpha, beta = self.optimum
        return np.asarray(self.vector + alpha * POP + beta * self.pref)

    def right(self, vector: np.ndarray) -> int:
        """How many of the four pairs `vector` puts in the right order."""
        return int((self.positives @ vector > (self.negatives @ vector)[:, None]).sum())


def _user(
    vector: Sequence[int], positives: Sequence[Sequence[int]], negatives: Sequence[Sequence[int]], length: int
) -> User:
    return User(exact(vector), exact(positives), exact(negatives), length)


TURNED = _user((3, 1), ((1, 0), (-1, -1)), ((-2, 1), (-2, -1)), 1)


def every_pair_wrong() -> Counterexample:
    """Theorem A.5: "a superior solution". With e_u all four pairs stand right, with L_DDC's only optimum none does.

    L_DDC falls from .0906 to .0041, to 4.5 %. The first negative is the head and the second the tail that give e_pop.
    """
    return Counterexample(
        "that (14) is what (13) optimises", TURNED.right(TURNED.vector), TURNED.right(TURNED.final), -4
    )


def scaled_margins(times: int = 6) -> Counterexample:
    """5.4.2: "less than 5 %" is "direct evidence". All margins times 6: the loss falls below 1 %, no pair moves.

    claimed: that some pair stands better than before; actual: how many do.
    """
    before, after = TURNED.right(TURNED.vector), TURNED.right(times * TURNED.vector)
    return Counterexample("that a loss sees more than the scale", 1, after - before, -1)


def alpha_positive() -> Counterexample:
    """4.1: "alpha_u becomes negative". `every_pair_wrong` with the user's second coordinate reversed: alpha* = 1.

    claimed and actual are signs.
    """
    alpha, _ = _user((3, -1), ((1, 0), (-1, -1)), ((-2, 1), (-2, -1)), 1).optimum
    return Counterexample("that negatives score higher the more popular they are", -1, int(np.sign(float(alpha))), 2)


def no_minimiser(steps: int = 12) -> Counterexample:
    """(14) needs "the optimal scalars". One positive, a = 1, at the score of two negatives with b = 1 and -1.

    dL/dbeta at beta = k log 2. claimed: 0 somewhere; it is -1 / (1 + 2^k) at every k (alpha stays 0 by symmetry). The
    loss falls for ever.
    """
    at = [2**k for k in range(steps)]
    slopes = exact(np.array([-1 / (1 + Fraction(power)) for power in at]))
    return Counterexample("a positive with a_i < 0", exact(np.zeros(steps, dtype=int)), slopes, slopes)


def popular_items_rise() -> Counterexample:
    """Table 4's reading: a negative alpha lowers popularity. alpha* = -1, and the head gains 28/25 on the tail.

    e_pref and e_pop have the cosine -3/5, beta* = -13/5. claimed: no rise. formula: ||v_diff|| (alpha + beta cos),
    `prop_net_popularity`.
    """
    user = _user((4, 1), ((4, -3), (-4, 3)), ((0, 1), (0, -1)), 5)
    apart = user.negatives[0] - user.negatives[1]  # head minus tail, of length 2
    alpha, beta = user.optimum
    assert alpha < 0
    return Counterexample(
        "alpha alone", Fraction(0), apart @ (user.final - user.vector), 2 * (alpha + beta * (user.pref @ POP))
    )


def gradient_of_beta() -> Counterexample:
    """4.2: the gradient with respect to beta "only depends on aligning with positive items".

    a = 1; the negative scores log 3 less: -1/4, not -1/2. formula: -a (w' - w), with w = 1/2 for a margin of 0 and
    w' = 1/4 for log 3.
    """
    first, second = -Fraction(1, 2), -Fraction(1, 4)
    return Counterexample("the negatives in the weights", first, second, Fraction(1, 2) - Fraction(1, 4))


def translated_items(shifts: Sequence[int] = (-3, 0, 3)) -> Counterexample:
    """One vector gamma e_pop added to every item: no score difference moves, and alpha takes any sign.

    A user with one positive and two negatives, b = (1, -1), margins (log 2, 2 log 2), so weights (1/3, 1/5): the sign
    of alpha* (given beta = 0) is minus that of sum w (b + gamma). claimed: -1 at every shift.
    """
    weights, b = exact(np.array([Fraction(1, 3), Fraction(1, 5)])), exact(np.array([1, -1]))
    signs = np.array([-int(np.sign(float(weights @ (b + shift)))) for shift in shifts])
    return Counterexample("a choice of origin", -np.ones(len(shifts), dtype=int), signs)
