"""The checks of the assignment: their numbers are those of the library and of enumeration, and their messages fit."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from in_process import functions

from course_lib import index, losses, metrics, new_items
from course_lib.lessons.negatives import floors
from course_lib.lessons.shared import findings
from exercises.engine import chapters, simulate

ANSWERS = functions(simulate.reference("practice"))
HALF = Fraction(1, 2)


def test_the_reference_says_what_the_library_says() -> None:
    for rank, others, m, k in ((1, 7, 3, 2), (30, 681, 100, 10), (9, 40, 12, 3)):
        assert float(ANSWERS["sampled"](rank, others, m, k)) == pytest.approx(
            metrics.sampled_hit([rank], others, m, k)[0]
        )
    ps = [0.25, 0.01, 0.03, 0.5, 0.02]
    assert np.allclose(
        [float(p) for p in ANSWERS["holm"]([Fraction(p).limit_denominator(100) for p in ps])], findings.holm(ps)
    )
    counts = [7, 2, 1]
    assert np.allclose(np.log([float(q) for q in ANSWERS["mixture"](counts, HALF)]), losses.mixed_log_q(counts, 0.5))
    for n, tau in ((512, 0.2), (9, 1.5)):
        assert ANSWERS["floor"](n, tau) == pytest.approx(floors.loss_floor(n, tau))
    assert ANSWERS["largest_tau"](682, 0.5) == pytest.approx(floors.largest_tau(682, 0.5))
    prior = new_items.GammaPrior(0.5, 3.0)
    assert np.allclose(
        [float(x) for x in ANSWERS["rates"](HALF, Fraction(3), [0, 4], [0, 2])], prior.mean([0, 4], [0, 2])
    )


def test_a_sampled_hit_is_a_count_of_samples() -> None:
    drawn = list(combinations(range(1, 7), 3))
    for rank in range(1, 8):
        hits = sum(sum(other < rank for other in one) < 2 for one in drawn)
        assert ANSWERS["sampled"](rank, 6, 3, 2) == Fraction(hits, len(drawn))


def test_the_least_number_of_candidates_is_certified_and_one_fewer_is_not() -> None:
    best = [9.0, 8.0, 7.0, 5.0, 3.0, 1.0]
    found = ANSWERS["candidates"]([Fraction(x) for x in best], HALF, 2)
    assert found == 3
    assert index.certified([best[: found + 1]], [0.5], 2)[0] and not index.certified([best[:found]], [0.5], 2)[0]


MESSAGES = [
    ("sampled", lambda rank, others, m, k: 0.5, "no floats"),
    ("sampled", lambda rank, others, m, k: int(rank <= k), "among all items"),
    ("sampled", lambda *case: 1 - ANSWERS["sampled"](*case), "a miss"),
    ("holm", lambda ps: sorted(ANSWERS["holm"](ps)), "in the order"),
    ("holm", lambda ps: [p * (len(ps) - sorted(ps).index(p)) for p in ps], "smaller p"),
    ("mixture", lambda counts, uniform: [uniform + (1 - uniform) * Fraction(c, sum(counts)) for c in counts], "1/n"),
    ("served", lambda p, q, *_: ANSWERS["served"](p, q, [1, 1, 1], 1, "none"), "log of the hits"),
    ("floor", lambda n, tau: ANSWERS["floor"](n, 1 / tau), "divided by tau"),
    ("largest_tau", lambda n, p: 1 / ANSWERS["largest_tau"](n, p), "one over"),
    ("moves", lambda X, G, new, lr: [part / len(X) for part in ANSWERS["moves"](X, G, new, lr)], "not averaged"),
    ("rates", lambda a, b, counts, days: [(b + c) / (a + t) for c, t in zip(counts, days, strict=True)], "shape"),
    ("bound", lambda u, steps: 2 * ANSWERS["bound"](u, steps), "its step"),
    ("candidates", lambda scores, bound, k: 2.5, "whole number"),
]


def test_the_numbers_of_the_essays_are_those_of_the_reference() -> None:
    essays = chapters.file("practice", "essays.md").read_text(encoding="utf-8")
    hit, corrected = ANSWERS["sampled"](30, 681, 100, 10), ANSWERS["holm"]([Fraction(3, 100)] + [HALF] * 7)[0]
    assert f"{float(hit):.2f}"[1:] in essays and f"{float(corrected):.2f}"[1:] in essays
