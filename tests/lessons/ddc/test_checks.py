"""The checks of the assignment on DDC: what its solutions and messages say, found by another way."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from in_process import functions, with_arguments
from sample_essays import unaccounted

from course_lib import correction, metrics, popularity
from course_lib.interactions import Interactions
from course_lib.lessons.ddc import checks
from exercises.engine import simulate

ANSWERS = functions(simulate.reference("ddc"))


def test_the_number_of_minimisers_is_that_of_the_directions_without_end() -> None:
    """Task 2a by convex analysis: none if along some (alpha, beta) no term rises and one falls, many if no term
    moves.
    """
    kinds = [[-1, 3, 2], [1, 3], [0, 1], [-2, 0], [0, 0], [-1, 0, 1]]
    for a, b in itertools.product(kinds, kinds):
        found = "one"
        for alpha, beta in itertools.product(range(-3, 4), repeat=2):
            growth = [alpha * y - beta * x for x in a for y in b]  # of -margin along (alpha, beta)
            if (alpha, beta) != (0, 0) and max(growth) <= 0 and found != "none":
                found = "none" if min(growth) < 0 else "many"
        assert ANSWERS["minimisers"](a, b) == found, (a, b)


def test_the_surrogate_is_that_of_the_library() -> None:
    for case in (checks.SMALL, checks.LOPSIDED):
        found = [float(x) for x in ANSWERS["surrogate"](*case)]
        s, t, a, b = (np.array(values, dtype=float) for values in case)
        assert found == pytest.approx(correction.surrogate_user(s, t, a, b), abs=1e-10)


def test_the_scale_is_the_smallest_that_does() -> None:
    rng = np.random.default_rng(3)
    for margins, fraction in (
        (rng.exponential(size=50).tolist(), 0.05),
        ([1.0, 2.0, 3.0, -0.05], 0.7),
        ([1.0, 0.0], 0.9),
    ):
        scale = ANSWERS["inflation"](margins, fraction)
        grid = np.linspace(1, 2 * scale, 20_001)
        loss = np.logaddexp(0, -grid[:, None] * np.array(margins)).mean(axis=1)
        assert grid[np.argmax(loss <= fraction * loss[0])] == pytest.approx(scale, abs=2 * scale / 20_000)
    margins = np.array([1.0, 2.0, 3.0, -0.05])
    grid = np.geomspace(1, 1e5, 100_001)
    assert np.logaddexp(0, -grid[:, None] * margins).mean(axis=1).min() > 0.65 * np.logaddexp(0, -margins).mean()
    assert ANSWERS["inflation"](margins.tolist(), 0.65) is None


@pytest.mark.seconds
def test_lists_are_measured_as_the_library_measures_them() -> None:
    users, items, histories, held_out, counts, _ = checks.films(5, 4)
    lists = {"train": histories, "test": held_out}
    shape = {"n_users": len(users), "n_items": len(items)}
    data = {
        key: Interactions(
            np.repeat(np.arange(len(users)), list(map(len, rows))), np.concatenate(rows).astype(int), **shape
        )
        for key, rows in lists.items()
    }
    popular, right = ANSWERS["measure"](users, items, histories, held_out, counts, 10)
    ranked = metrics.top_k(np.array(users), np.array(items), data["train"], 10)
    assert popular == pytest.approx(popularity.average_popularity(ranked, np.array(counts)))
    assert right == pytest.approx(metrics.metrics_from_ranking(ranked, data["test"], (10,))["mrr@10"])


@pytest.mark.seconds
def test_the_essay_on_ddc_quotes_its_numbers() -> None:
    text, names = "".join(simulate.source("ddc")["cells"][-1]["source"]), ANSWERS
    share = Fraction(3, 10)
    films = {epochs: checks.films(epochs) for epochs in (20, 40)}
    missing = {epochs: names["without_minimiser"](*films[epochs][:3], films[epochs][5], share) for epochs in films}
    users, items, histories, held_out, counts, pop = films[20]
    assert f"{missing[20]} of {len(users):,} users after 20 epochs, {missing[40]} after 40" in text
    tastes, table = np.array(users), np.array(items)
    alone = {"alpha": tastes.copy(), "beta": tastes.copy(), "both": tastes.copy()}
    negative, losses = [], []
    for u, (s, t, a, b) in enumerate(checks.projections(users, items, histories, pop, share)):
        best = (
            correction.solve_user(s, t, a, b) if u % 4 == 0 else None
        )  # a quarter of the users, for the time it takes
        if best is not None:
            axis = names["preference_direction"](users[u], items, histories[u], share)
            steps = {"alpha": best[0] * np.array(pop), "beta": best[1] * axis}
            for key, moves in (("alpha", ("alpha",)), ("beta", ("beta",)), ("both", ("alpha", "beta"))):
                alone[key][u] += sum(steps[move] for move in moves)
            final = table @ alone["both"][u]
            lacking = np.delete(final, histories[u])
            served = correction.user_loss(final[np.sort(histories[u])], lacking, a, b, 0.0, 0.0)
            losses.append((correction.user_loss(s, t, a, b, 0.0, 0.0), correction.user_loss(s, t, a, b, *best), served))
            negative.append(best[0] < 0)
    some = slice(None, None, 4)
    lists = {
        key: names["measure"](rows[some], items, histories[some], held_out[some], counts, 10)
        for key, rows in {"plain": tastes, **alone}.items()
    }
    quoted = {"plain": (182, 0.21), "both": (176, 0.21), "alpha": (93, 0.14), "beta": (210, 0.22)}
    for key, (popular, right) in quoted.items():
        assert lists[key] == [pytest.approx(popular, rel=0.1), pytest.approx(right, abs=0.035)], key
        assert str(popular) in text and f"{right}" in text
    assert np.mean(negative) == pytest.approx(0.94, abs=0.03)
    assert np.mean(losses, axis=0) == pytest.approx([0.25, 0.17, 0.33], abs=0.02)
    (plain, before), (both, _), (half, after), (raised, _) = quoted.values()
    assert not unaccounted(
        "ddc",
        "above 90 %",
        "(94 %)",
        *(f"{missing[20]} of {len(users):,} users {how}" for how in ("without", "who")),
        f"{missing[20]} of {len(users):,} users after 20 epochs and {missing[40]} after 40",
        f"the {missing[20]} users",
        f"from {plain} only to {both}",
        f"from {plain} to {both}; $\\alpha$ alone would have brought it to {half}, and cost accuracy (MRR {before} to"
        f" {after}), $\\beta$ alone to {raised}",
        f"your {before}",
        "rose to 0.33",
    )


# ---- messages: wrong answers that the usual misconceptions give ----


def by(name: str, **changed: Any) -> Any:
    """The reference's function of that name, with some of its arguments replaced."""
    return with_arguments(ANSWERS[name], **changed)


MESSAGES = [
    (
        "preference",
        by("preference_direction", share=lambda user, items, history, share: share / 2),
        "round the number of items up",
    ),
    (
        "preference",
        by("preference_direction", user=lambda user, items, history, share: [-x for x in user]),
        "not the lowest",
    ),
    (
        "preference",
        lambda user, items, history, share: (
            by("preference_direction")(user, items, history, share) if any(user) else user
        ),
        "return None",
    ),
    (
        "loss",
        lambda s, t, a, b, alpha, beta: correction.user_loss(s, t, a, b, beta, alpha),
        "beta belongs to the positives",
    ),
    ("loss", lambda s, t, a, b, alpha, beta: correction.user_loss(s, t, a, b, -alpha, beta), "taken away as a whole"),
    (
        "loss",
        lambda s, t, a, b, alpha, beta: len(s) * len(t) * correction.user_loss(s, t, a, b, alpha, beta),
        "not the sum",
    ),
    ("loss", lambda *a: float("inf"), "exp overflows"),
    ("minimisers", lambda a, b: "none", "both signs, strictly|does not matter"),
    ("minimisers", lambda a, b: 1, 'the words "none"'),
    ("without", lambda users, *rest: len(users) - by("without_minimiser")(users, *rest), "who have one"),
    ("surrogate", lambda *case: by("surrogate")(*case)[::-1], "alpha comes first"),
    ("surrogate", lambda *case: [float(x) for x in by("surrogate")(*case)], "no floats"),
    ("solve", lambda *case: None, "exactly one minimiser"),
    ("solve", lambda *case: [0.0, 0.0], "The gradient is not zero there"),
    ("solve", lambda *case: [x + 1e-4 for x in by("solve_user")(*case)], "It is near"),
    ("solve", lambda *case: by("solve_user")(*case)[::-1], "alpha comes first"),
    ("sign", lambda *case: 0, "-1 or 1 is expected"),
    ("sign", lambda s, t, a, b, beta: -by("sign_of_alpha")(s, t, a, b, beta), "the best alpha lies below|mean of b"),
    ("flip", lambda user, liked, others, pop: [100 * x for x in pop], "b has one sign"),
    ("flip", lambda user, liked, others, pop: [1e9 * x for x in pop], "between -1,000 and 1,000"),
    ("worse", lambda drop: ([0, 1], [[1, 0], [0, 1]], [[0, 0]], [1, 0]), "every positive stands above"),
    ("worse", lambda drop: ([0, 1], [[1, 1]] * 61, [[0, 0]], [1, 0]), "at most 60"),
    (
        "worse",
        lambda drop: ([0, 1, 0], [[1, 0.1, 0]] * 20 + [[-3, 3, 0]], [[0, 0, 1], [0, 0, -1]], [0, 0, 1]),
        "carries beta e_pref to the negatives",
    ),
    ("inflation", lambda margins, fraction: None, "some scale does"),
    ("inflation", lambda margins, fraction: 2.0, "of the first"),
    ("average_popularity", lambda *a: by("measure")(*a)[::-1], "AvgPop comes first"),
    ("reciprocal_rank", lambda *a: [0.0, float(np.mean([1.0, 0.0, 0.0]))], "No usual slip|left out of MRR"),
]
