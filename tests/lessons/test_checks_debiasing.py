"""The assignments popularity-direction and ddc: what their solutions and messages say, by another way."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import functions
from scipy import optimize

from course_lib import correction, popularity
from course_lib.data.interactions import Interactions
from course_lib.lessons.ddc import checks as ddc_checks
from course_lib.lessons.popularity_direction import checks as direction_checks
from course_lib.lessons.shared import forms
from exercises import simulate

ROOT = Path(__file__).resolve().parents[2]
HALF = Fraction(1, 2)
POP, DDC = direction_checks, ddc_checks


def answers(name: str) -> dict[str, Any]:
    return functions(simulate.reference(name))


# ---- popularity-direction ----

LABELS = [[1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 1, 1]]
USERS = [[2, 1], [1, -3], [0, 5]]


def test_the_first_step_is_that_of_every_triple() -> None:
    """Task 2 by its definition: each observed pair, and the mean over all items that the user lacks."""
    step = [[Fraction(0)] * 2 for _ in range(4)]
    for u, i in itertools.product(range(3), range(4)):
        lacking = [j for j in range(4) if not LABELS[u][j]]
        for j in lacking if LABELS[u][i] else ():
            for axis in range(2):
                step[i][axis] += HALF * Fraction(USERS[u][axis], len(lacking))
                step[j][axis] -= HALF * Fraction(USERS[u][axis], len(lacking))
    assert (answers("popularity-direction")["first_pull"](LABELS, USERS) == np.array(step, dtype=object)).all()


@pytest.mark.parametrize("law", ["all", "unseen", "popularity"])
def test_negatives_come_as_often_as_their_probabilities_say(law: str) -> None:
    """Task 3 by its definition: one draw for each observed pair."""
    counts, expected = np.sum(LABELS, axis=0), [Fraction(0)] * 4
    for u, i in itertools.product(range(3), range(4)):
        weights = [
            1 if law == "all" else (1 - LABELS[u][j]) * int(counts[j] if law == "popularity" else 1) for j in range(4)
        ]
        for j in range(4) if LABELS[u][i] else ():
            expected[j] += Fraction(weights[j], sum(weights))
    found = answers("popularity-direction")["times_negative"](LABELS, law)
    assert list(found) == expected and sum(found) == np.sum(LABELS)


def test_the_sum_of_all_items_is_what_a_run_with_decay_leaves() -> None:
    """Task 4b against a run: a step of task 4a without, and one with the decay of all items."""
    rng, lr, decay = np.random.default_rng(0), Fraction(1, 4), Fraction(1, 5)
    users, items = rng.normal(size=(3, 2)), rng.integers(-3, 4, size=(5, 2)).astype(float)
    total = items.sum(axis=0).astype(int).tolist()
    names = answers("popularity-direction")
    for _ in range(6):
        i, j = rng.choice(5, size=2, replace=False)
        moved_users, moved = names["bpr_steps"](users, items, [(int(rng.integers(3)), i, j)], float(lr))
        shrink = float(2 * lr * decay)
        users, items = moved_users - shrink * users, moved - shrink * items
    assert items.sum(axis=0) == pytest.approx([float(x) for x in names["sum_after"](total, lr, decay, 6)], abs=1e-12)


def test_a_step_follows_the_gradient_of_the_loss() -> None:
    users, items = np.array(POP.TABLES[0]), np.array(POP.TABLES[1])
    after = answers("popularity-direction")["bpr_steps"](users, items, [(0, 2, 1)], 1e-6)

    def loss(flat: np.ndarray) -> float:
        taste, table = flat[:4].reshape(2, 2), flat[4:].reshape(3, 2)
        return float(np.logaddexp(0, -taste[0] @ (table[2] - table[1])))

    slope = optimize.approx_fprime(np.concatenate([users.ravel(), items.ravel()]), loss, 1e-7)
    moved = np.concatenate([(after[0] - users).ravel(), (after[1] - items).ravel()])
    assert moved / -1e-6 == pytest.approx(slope, abs=1e-5)


def test_positives_and_the_sum_determine_the_negatives() -> None:
    items = np.random.default_rng(1).integers(-4, 5, size=(9, 2))
    found = answers("popularity-direction")["gap"](items[:3].tolist(), items.sum(axis=0).tolist(), 9)
    assert [float(x) for x in found] == pytest.approx((items[:3].mean(axis=0) - items[3:].mean(axis=0)).tolist())


def test_the_null_of_task_6_is_near_the_exact_law() -> None:
    counts = POP.films(0)[1]
    for d in (2, 16, 64, 256):
        mean, _ = popularity.double_dipping_law(counts, d)
        assert answers("popularity-direction")["null_correlation"](counts, d, 0.05) == pytest.approx(mean, rel=0.3 / d)


def test_the_films_of_two_seeds_differ_and_those_of_one_do_not() -> None:
    first, again, other = (np.array(POP.films(1, 2, seed=seed)[0]) for seed in (0, 0, 1))
    assert (first == again).all() and (first != other).any()
    assert np.array(POP.films(0, 2)[0]).sum(axis=0) == pytest.approx(
        first.sum(axis=0), abs=1e-10
    )  # the conservation law


def test_the_essay_on_the_direction_quotes_its_numbers() -> None:
    text, names = (
        "".join(simulate.source("popularity-direction")["cells"][-1]["source"]),
        answers("popularity-direction"),
    )
    found = {}
    for epochs in (0, 1, 5):
        items, counts, _ = POP.films(epochs, 256)
        table = np.array(items)
        direction = names["popularity_direction"](items, counts, 0.05)
        part = np.random.default_rng(0).permutation(len(counts)) % 2
        found[epochs] = np.corrcoef(table @ direction, counts)[0, 1], names["cross_fitted"](items, counts, 0.05, part)
    assert f"{found[0][0]:.2f} at the start" in text and abs(found[0][1]) < 0.1
    assert f"give {names['null_correlation'](counts, 256, 0.05):.2f} on average" in text
    assert found[5] == pytest.approx((0.95, 0.95), abs=0.006) and "a correlation of 0.95" in text
    assert f"the plain value is {found[1][0]:.2f}" in text and found[1][1] == pytest.approx(0.6, abs=0.03)
    stored = json.loads((ROOT / "book" / "results" / "P1-X2-laptop.json").read_text(encoding="utf-8"))["rows"]
    (axis,) = (
        row["value"]
        for row in stored
        if (row["data"], row["law"], row["metric"]) == ("lastfm-10core", "RecBole", "first axis")
    )
    assert f"on LastFM its correlation with popularity is {axis:.2f}" in text
    mean = table.mean(axis=0)
    assert np.linalg.norm(mean) / np.sqrt((table**2).sum(axis=1).mean()) == pytest.approx(
        0.03, abs=0.005
    )  # "about 3 %"
    assert abs(mean @ direction) / np.linalg.norm(mean) < 0.1  # "at a right angle to e_pop nearly"


# ---- ddc ----


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
        assert answers("ddc")["minimisers"](a, b) == found, (a, b)


@pytest.mark.parametrize("case", [DDC.ONE, DDC.OTHER, DDC.hard(3, 8, 25)])
def test_the_solution_of_a_user_is_stationary_and_below_its_neighbours(case: DDC.Case) -> None:
    alpha, beta = answers("ddc")["solve_user"](*case)
    best = correction.user_loss(*case, alpha, beta)
    assert max(map(abs, correction.user_gradient(*case, alpha, beta))) < 1e-11
    for a, b in itertools.product((-0.1, 0.0, 0.1), repeat=2):
        assert correction.user_loss(*case, alpha + a, beta + b) >= best


def test_the_surrogate_is_that_of_the_library_and_of_its_definition() -> None:
    for case in (DDC.SMALL, DDC.LOPSIDED):
        found = [float(x) for x in answers("ddc")["surrogate"](*case)]
        s, t, a, b = (np.array(values, dtype=float) for values in case)
        assert found == pytest.approx(correction.surrogate_user(s, t, a, b), abs=1e-10)

        def quadratic(x: np.ndarray, s=s, t=t, a=a, b=b) -> float:
            margin = (s + x[1] * a)[:, None] - t - x[0] * b
            return float((margin**2 / 8 - margin / 2).mean())

        assert optimize.minimize(quadratic, (0.0, 0.0), tol=1e-12).x == pytest.approx(found, abs=1e-4)


def test_the_sign_of_alpha_is_that_of_a_search() -> None:
    for s, t, a, b, beta in ((*DDC.ONE, 0.5), (*DDC.OTHER, 0.5), (*DDC.TOP_HEAVY, 1.0)):
        best = optimize.minimize_scalar(
            lambda alpha, c=(s, t, a, b), beta=beta: correction.user_loss(*c, alpha, beta)
        ).x
        assert answers("ddc")["sign_of_alpha"](s, t, a, b, beta) == np.sign(best)


def test_a_shift_of_all_items_changes_no_margin_and_turns_alpha() -> None:
    user, liked, others, pop = (np.array(x) for x in DDC.shifted(0, 6, 20, 3))
    shift = answers("ddc")["flip"](user, liked, others, pop)
    margins = [(p @ user)[:, None] - q @ user for p, q in ((liked, others), (liked + shift, others + shift))]
    assert margins[0] == pytest.approx(margins[1], abs=1e-9)
    before, after = DDC.settle(user, liked, others, pop), DDC.settle(user, liked + shift, others + shift, pop)
    assert before is not None and after is not None and before[0] * after[0] < 0


def test_the_optimum_that_ranks_worse_is_an_optimum_and_raises_the_loss_of_what_is_used() -> None:
    user, liked, others, pop = (np.array(x, dtype=float) for x in answers("ddc")["ranks_worse"](0.9))
    alpha, beta = DDC.settle(user, liked, others, pop)
    axis = DDC.unit(liked.sum(axis=0))
    parts = liked @ user, others @ user, liked @ axis, others @ pop
    assert max(map(abs, correction.user_gradient(*parts, alpha, beta))) < 1e-10
    final = user + alpha * pop + beta * axis
    zeros = np.zeros(len(liked)), np.zeros(len(others))
    losses = [correction.user_loss(liked @ e, others @ e, *zeros, 0.0, 0.0) for e in (user, final)]
    assert correction.user_loss(*parts, alpha, beta) < losses[0] < losses[1]


def test_the_scale_is_the_smallest_that_does() -> None:
    rng = np.random.default_rng(3)
    for margins, fraction in (
        (rng.exponential(size=50).tolist(), 0.05),
        ([1.0, 2.0, 3.0, -0.05], 0.7),
        ([1.0, 0.0], 0.9),
    ):
        scale = answers("ddc")["inflation"](margins, fraction)
        grid = np.linspace(1, 2 * scale, 20_001)
        loss = np.logaddexp(0, -grid[:, None] * np.array(margins)).mean(axis=1)
        assert grid[np.argmax(loss <= fraction * loss[0])] == pytest.approx(scale, abs=2 * scale / 20_000)
    margins = np.array([1.0, 2.0, 3.0, -0.05])
    grid = np.geomspace(1, 1e5, 100_001)
    assert np.logaddexp(0, -grid[:, None] * margins).mean(axis=1).min() > 0.65 * np.logaddexp(0, -margins).mean()
    assert answers("ddc")["inflation"](margins.tolist(), 0.65) is None


def test_lists_are_measured_as_the_library_measures_them() -> None:
    from course_lib import metrics

    users, items, histories, held_out, counts, _ = DDC.films(5, 4)
    lists = {"train": histories, "test": held_out}
    shape = {"n_users": len(users), "n_items": len(items)}
    data = {
        key: Interactions(
            np.repeat(np.arange(len(users)), list(map(len, rows))), np.concatenate(rows).astype(int), **shape
        )
        for key, rows in lists.items()
    }
    popular, right = answers("ddc")["measure"](users, items, histories, held_out, counts, 10)
    ranked = metrics.top_k(np.array(users), np.array(items), data["train"], 10)
    assert popular == pytest.approx(popularity.average_popularity(ranked, np.array(counts)))
    wanted = [set(row) for row in held_out]
    ranks = [
        next((rank for rank, item in enumerate(row, 1) if item in want), None)
        for row, want in zip(ranked.tolist(), wanted, strict=True)
        if want
    ]
    assert right == pytest.approx(np.mean([1 / rank if rank else 0.0 for rank in ranks]))


def test_the_essay_on_ddc_quotes_its_numbers() -> None:
    text, names = "".join(simulate.source("ddc")["cells"][-1]["source"]), answers("ddc")
    share = Fraction(3, 10)
    films = {epochs: DDC.films(epochs) for epochs in (20, 40)}
    missing = {epochs: names["without_minimiser"](*films[epochs][:3], films[epochs][5], share) for epochs in films}
    users, items, histories, held_out, counts, pop = films[20]
    assert f"{missing[20]} of {len(users):,} users after 20 epochs, {missing[40]} after 40" in text
    tastes, table = np.array(users), np.array(items)
    alone = {"alpha": tastes.copy(), "beta": tastes.copy(), "both": tastes.copy()}
    negative, losses = [], []
    for u, (s, t, a, b) in enumerate(DDC.projections(users, items, histories, pop, share)):
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


# ---- messages: wrong answers that the usual misconceptions give ----


def by(name: str, **changed: Any) -> Any:
    """The reference's function of that name, with some of its arguments replaced."""
    assignment = "ddc" if name in answers("ddc") else "popularity-direction"
    function = answers(assignment)[name]
    code = function.__code__.co_varnames[: function.__code__.co_argcount]
    return lambda *arguments: function(
        *(changed[key](*arguments) if key in changed else x for key, x in zip(code, arguments, strict=True))
    )


MESSAGES = [
    (
        "popularity_direction.direction",
        by("popularity_direction", ratio=lambda items, counts, ratio: ratio + 0.2),
        "head and tail have 1 items",
    ),
    (
        "popularity_direction.direction",
        lambda items, counts, ratio: -answers("popularity-direction")["popularity_direction"](items, counts, ratio),
        "from the tail to the head",
    ),
    (
        "popularity_direction.direction",
        lambda items, counts, ratio: by("popularity_direction")(items[::-1], counts[::-1], ratio),
        "lower id is the more popular",
    ),
    ("popularity_direction.direction", lambda items, counts, ratio: [1.0], "a list of numbers"),
    (
        "popularity_direction.cross_fitted",
        lambda items, counts, ratio, fold: popularity.projection_correlation(np.array(items), np.array(counts), ratio),
        "uses the items twice",
    ),
    (
        "popularity_direction.pull_even",
        lambda Y, users: -by("first_pull")(Y, users),
        "descent goes against the gradient",
    ),
    ("popularity_direction.pull_even", lambda Y, users: 2 * by("first_pull")(Y, users), "the sigmoid is 1/2"),
    ("popularity_direction.pull_uneven", lambda Y, users: by("first_pull")(Y, users).astype(float), "no floats"),
    (
        "popularity_direction.negatives_uniform",
        lambda Y, law: by("times_negative")(Y, "unseen"),
        'this is the law "unseen"',
    ),
    ("popularity_direction.negatives_popular", lambda Y, law: np.sum(Y, axis=0), "only among|as a positive"),
    ("popularity_direction.step", lambda *a: POP.descend(*a, slip="batch"), "one triple after another"),
    ("popularity_direction.step", lambda *a: POP.descend(*a, slip="kept negative"), "the negative item moves"),
    ("popularity_direction.step", lambda *a: POP.descend(*a, slip="ascent"), "makes the margin smaller"),
    ("popularity_direction.step", lambda users, items, triples, lr: items, "two tables"),
    ("popularity_direction.decayed_sum", lambda total, lr, decay, steps: total, "the decay does not"),
    (
        "popularity_direction.decayed_sum",
        lambda total, lr, decay, steps: [x * (1 - 2 * lr * decay * steps) for x in total],
        "what the step before has left",
    ),
    (
        "popularity_direction.gap",
        lambda positives, total, n: -by("gap")(positives, total, n),
        "the positives come first",
    ),
    ("popularity_direction.two_tastes", lambda m, n: np.ones((m, n), dtype=int), "lacks one"),
    (
        "popularity_direction.two_tastes",
        lambda m, n: np.kron(np.eye(2, dtype=int), np.ones((m // 2, n // 2), dtype=int)),
        "twice as many users",
    ),
    ("popularity_direction.two_tastes", lambda m, n: [[2] * n] * m, "holds 0 and 1"),
    (
        "popularity_direction.against_the_mean",
        lambda m, count: ([[1, 0]] * (m - 1) + [[5, 0]], list(range(count))),
        "length from 1/2 to 1",
    ),
    (
        "popularity_direction.against_the_mean",
        lambda m, count: ([[1, 0]] * m, [0] * count),
        "which is not negative|different ids",
    ),
    ("popularity_direction.against_the_mean", lambda m, count: ([[0.5, 0.5]] * m, list(range(count))), "no floats"),
    (
        "popularity_direction.null_small",
        by("null_correlation", d=lambda counts, d, ratio: 2 * d),
        "squared length is 2 d / H",
    ),
    (
        "ddc.preference",
        by("preference_direction", share=lambda user, items, history, share: share / 2),
        "round the number of items up",
    ),
    (
        "ddc.preference",
        by("preference_direction", user=lambda user, items, history, share: [-x for x in user]),
        "not the lowest",
    ),
    (
        "ddc.preference",
        lambda user, items, history, share: (
            by("preference_direction")(user, items, history, share) if any(user) else user
        ),
        "return None",
    ),
    (
        "ddc.loss",
        lambda s, t, a, b, alpha, beta: correction.user_loss(s, t, a, b, beta, alpha),
        "beta belongs to the positives",
    ),
    (
        "ddc.loss",
        lambda s, t, a, b, alpha, beta: correction.user_loss(s, t, a, b, -alpha, beta),
        "taken away as a whole",
    ),
    (
        "ddc.loss",
        lambda s, t, a, b, alpha, beta: len(s) * len(t) * correction.user_loss(s, t, a, b, alpha, beta),
        "not the sum",
    ),
    ("ddc.loss", lambda *a: float("inf"), "exp overflows"),
    ("ddc.minimisers", lambda a, b: "none", "both signs, strictly|does not matter"),
    ("ddc.minimisers", lambda a, b: 1, 'the words "none"'),
    ("ddc.without", lambda users, *rest: len(users) - by("without_minimiser")(users, *rest), "who have one"),
    ("ddc.surrogate", lambda *case: by("surrogate")(*case)[::-1], "alpha comes first"),
    ("ddc.surrogate", lambda *case: [float(x) for x in by("surrogate")(*case)], "no floats"),
    ("ddc.solve", lambda *case: None, "exactly one minimiser"),
    ("ddc.solve", lambda *case: [0.0, 0.0], "The gradient is not zero there"),
    ("ddc.solve", lambda *case: [x + 1e-4 for x in by("solve_user")(*case)], "It is near"),
    ("ddc.solve", lambda *case: by("solve_user")(*case)[::-1], "alpha comes first"),
    ("ddc.sign", lambda *case: 0, "-1 or 1 is expected"),
    (
        "ddc.sign",
        lambda s, t, a, b, beta: -by("sign_of_alpha")(s, t, a, b, beta),
        "the best alpha lies below|mean of b",
    ),
    ("ddc.flip", lambda user, liked, others, pop: [100 * x for x in pop], "b has one sign"),
    ("ddc.flip", lambda user, liked, others, pop: [1e9 * x for x in pop], "between -1,000 and 1,000"),
    ("ddc.worse", lambda drop: ([0, 1], [[1, 0], [0, 1]], [[0, 0]], [1, 0]), "every positive stands above"),
    ("ddc.worse", lambda drop: ([0, 1], [[1, 1]] * 61, [[0, 0]], [1, 0]), "at most 60"),
    (
        "ddc.worse",
        lambda drop: ([0, 1, 0], [[1, 0.1, 0]] * 20 + [[-3, 3, 0]], [[0, 0, 1], [0, 0, -1]], [0, 0, 1]),
        "carries beta e_pref to the negatives",
    ),
    ("ddc.inflation", lambda margins, fraction: None, "some scale does"),
    ("ddc.inflation", lambda margins, fraction: 2.0, "of the first"),
    ("ddc.average_popularity", lambda *a: by("measure")(*a)[::-1], "AvgPop comes first"),
    ("ddc.reciprocal_rank", lambda *a: [0.0, float(np.mean([1.0, 0.0, 0.0]))], "No usual slip|left out of MRR"),
]


@pytest.mark.parametrize(("check", "answer", "hint"), MESSAGES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_message_says_what_is_wrong(check: str, answer: Any, hint: str) -> None:
    module, task = check.split(".")
    with pytest.raises(forms.NotYet, match=hint):
        getattr(getattr(checks, module), task)(answer)
