"""The checks of the assignment on the popularity direction: what solutions and messages say, by another way."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import functions, with_arguments
from sample_essays import printed, unaccounted
from scipy import optimize, stats

from course_lib.lessons.popularity_direction import checks
from course_lib.lessons.shared.forms import plainly
from exercises.engine import inputs, simulate
from exercises.popularity_direction import hidden

ROOT = Path(__file__).resolve().parents[3]
ANSWERS = functions(simulate.reference("popularity-direction"))


def test_the_sum_of_all_items_is_what_a_run_with_decay_leaves() -> None:
    """Task 4b against a run: a step of task 4a without, and one with the decay of all items."""
    rng, lr, decay = np.random.default_rng(0), Fraction(1, 4), Fraction(1, 5)
    users, items = rng.normal(size=(3, 2)), rng.integers(-3, 4, size=(5, 2)).astype(float)
    total = items.sum(axis=0).astype(int).tolist()
    names = ANSWERS
    for _ in range(6):
        i, j = rng.choice(5, size=2, replace=False)
        moved_users, moved = names["bpr_steps"](users, items, [(int(rng.integers(3)), i, j)], float(lr))
        shrink = float(2 * lr * decay)
        users, items = moved_users - shrink * users, moved - shrink * items
    assert items.sum(axis=0) == pytest.approx([float(x) for x in names["sum_after"](total, lr, decay, 6)], abs=1e-12)


def test_a_step_follows_the_gradient_of_the_loss() -> None:
    users, items = np.array(checks.TABLES[0]), np.array(checks.TABLES[1])
    after = ANSWERS["bpr_steps"](users, items, [(0, 2, 1)], 1e-6)

    def loss(flat: np.ndarray) -> float:
        taste, table = flat[:4].reshape(2, 2), flat[4:].reshape(3, 2)
        return float(np.logaddexp(0, -taste[0] @ (table[2] - table[1])))

    slope = optimize.approx_fprime(np.concatenate([users.ravel(), items.ravel()]), loss, 1e-7)
    moved = np.concatenate([(after[0] - users).ravel(), (after[1] - items).ravel()])
    assert moved / -1e-6 == pytest.approx(slope, abs=1e-5)


def test_positives_and_the_sum_determine_the_negatives() -> None:
    items = np.random.default_rng(1).integers(-4, 5, size=(9, 2))
    found = ANSWERS["gap"](items[:3].tolist(), items.sum(axis=0).tolist(), 9)
    assert [float(x) for x in found] == pytest.approx((items[:3].mean(axis=0) - items[3:].mean(axis=0)).tolist())


@pytest.mark.parametrize("seed", [11, 59])
def test_every_seed_keeps_the_promise_of_the_task_on_negatives(seed: int) -> None:
    """With these two a user would lack nothing but what nobody has, if the first draw were taken."""

    def careful(labels: Any, law: str) -> Any:
        table = np.array(labels)
        assert table.any(axis=1).all() and ((1 - table) @ table.sum(axis=0)).all()
        return ANSWERS["times_negative"](labels, law)

    with inputs.seeded(seed):
        hidden.negatives_uniform(plainly(careful))
        hidden.negatives_popular(plainly(careful))


@pytest.mark.seconds
def test_the_essay_on_the_direction_quotes_its_numbers() -> None:
    text, names = ("".join(simulate.source("popularity-direction")["cells"][-1]["source"]), ANSWERS)
    found = {}
    for epochs in (0, 1, 5):
        items, counts, _ = checks.films(epochs, 256)
        table = np.array(items)
        direction = names["popularity_direction"](items, counts, 0.05)
        part = np.random.default_rng(0).permutation(len(counts)) % 2
        found[epochs] = np.corrcoef(table @ direction, counts)[0, 1], names["cross_fitted"](items, counts, 0.05, part)
    assert f"{found[0][0]:.2f} at the start" in text and abs(found[0][1]) < 0.1
    assert f"give {names['null_correlation'](counts, 256, 0.05):.2f} on average" in text
    assert found[5] == pytest.approx((0.95, 0.95), abs=0.006) and "a correlation of 0.95" in text
    assert f"the plain value is {found[1][0]:.2f}" in text and found[1][1] == pytest.approx(0.6, abs=0.03)
    stored = json.loads((ROOT / "book" / "results" / "P1-X2-laptop.json").read_text(encoding="utf-8"))["rows"]
    axis = np.mean(
        [
            row["value"]
            for row in stored
            if (row["data"], row["law"], row["metric"]) == ("lastfm-10core", "RecBole", "first axis")
        ]
    )
    assert f"on Last.fm its correlation with popularity is {axis:.2f}" in text
    mean = table.mean(axis=0)
    assert np.linalg.norm(mean) / np.sqrt((table**2).sum(axis=1).mean()) == pytest.approx(
        0.03, abs=0.005
    )  # "about 3 %"
    assert abs(mean @ direction) / np.linalg.norm(mean) < 0.1  # "at a right angle to e_pop nearly"
    plain, null = found[0][0], f"{names['null_correlation'](counts, 256, 0.05):.2f}"
    t = plain * np.sqrt((len(counts) - 2) / (1 - plain**2))
    assert 2 * stats.t.sf(t, len(counts) - 2) < 1e-16  # the weak essay's p, of a direction that was fixed in advance
    assert printed("popularity-direction")["lastfm-first"] == f"{axis:.2f}"
    assert not unaccounted(
        "popularity-direction",
        f"{plain:.2f} over {len(counts)} films is highly significant ($p<10^{{-16}}$)",
        f"{100 * found[5][0] ** 2:.0f} % of the variance",
        "even closer to 1",
        "20 epochs",
        null,
        f"${found[0][1]:.2f}$",
        f"{found[1][0]:.2f} plain and {found[1][1]:.2f} cross-fitted",
        f"{found[5][1]:.2f}",
        f"with popularity is {axis:.2f}",
        f"{100 * np.linalg.norm(mean) / np.sqrt((table**2).sum(axis=1).mean()):.0f} % of an item's length",
        f"(cosine ${mean @ direction / np.linalg.norm(mean):.2f}$)",
        "widths 16, 64 and 256",
        "is near 0.3",
    )


# ---- messages: wrong answers that the usual misconceptions give ----


def by(name: str, **changed: Any) -> Any:
    """The reference's function of that name, with some of its arguments replaced."""
    return with_arguments(ANSWERS[name], **changed)


MESSAGES = [
    (
        "direction",
        by("popularity_direction", ratio=lambda items, counts, ratio: ratio + 0.2),
        "head and tail have 1 items",
    ),
    (
        "direction",
        lambda items, counts, ratio: -ANSWERS["popularity_direction"](items, counts, ratio),
        "from the tail to the head",
    ),
    (
        "direction",
        lambda items, counts, ratio: by("popularity_direction")(items[::-1], counts[::-1], ratio),
        "lower id is the more popular",
    ),
    ("direction", lambda items, counts, ratio: [1.0], "a list of numbers"),
    ("pull_even", lambda Y, users: -by("first_pull")(Y, users), "descent goes against the gradient"),
    ("pull_even", lambda Y, users: 2 * by("first_pull")(Y, users), "the sigmoid is 1/2"),
    ("pull_uneven", lambda Y, users: by("first_pull")(Y, users).astype(float), "no floats"),
    ("negatives_uniform", lambda Y, law: by("times_negative")(Y, "unseen"), 'this is the law "unseen"'),
    ("negatives_popular", lambda Y, law: np.sum(Y, axis=0), "only among|as a positive"),
    ("step", lambda *a: checks.descend(*a, slip="batch"), "one triple after another"),
    ("step", lambda *a: checks.descend(*a, slip="kept negative"), "the negative item moves"),
    ("step", lambda *a: checks.descend(*a, slip="ascent"), "makes the margin smaller"),
    ("step", lambda users, items, triples, lr: items, "two tables"),
    ("decayed_sum", lambda total, lr, decay, steps: total, "the decay does not"),
    (
        "decayed_sum",
        lambda total, lr, decay, steps: [x * (1 - 2 * lr * decay * steps) for x in total],
        "what the step before has left",
    ),
    ("gap", lambda positives, total, n: -by("gap")(positives, total, n), "the positives come first"),
    ("two_tastes", lambda m, n: np.ones((m, n), dtype=int), "lacks one"),
    (
        "two_tastes",
        lambda m, n: np.kron(np.eye(2, dtype=int), np.ones((m // 2, n // 2), dtype=int)),
        "twice as many users",
    ),
    ("two_tastes", lambda m, n: [[2] * n] * m, "holds 0 and 1"),
    ("against_the_mean", lambda m, count: ([[1, 0]] * (m - 1) + [[5, 0]], list(range(count))), "length from 1/2 to 1"),
    ("against_the_mean", lambda m, count: ([[1, 0]] * m, [0] * count), "which is not negative|different ids"),
    ("against_the_mean", lambda m, count: ([[0.5, 0.5]] * m, list(range(count))), "no floats"),
    ("null_small", by("null_correlation", d=lambda counts, d, ratio: 2 * d), "squared length is 2 d / H"),
]
