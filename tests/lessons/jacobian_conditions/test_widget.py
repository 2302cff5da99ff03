"""The small training: the page against torch, words, and pages in a real browser."""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
import words
from drafts import one_quickly

from course_lib import geometry, jacobians
from course_lib.lessons.jacobian_conditions import small_towers, tower_motion
from course_lib.papers import p0
from tests.lessons.every import Script
from tests.widget_pages import run, settled

# Every tower with every optimiser, and each of both with every loss.
CHOICES = [
    (tower, optimiser, list(small_towers.LOSSES)[(i + j) % len(small_towers.LOSSES)])
    for i, tower in enumerate(small_towers.TOWERS)
    for j, optimiser in enumerate(small_towers.OPTIMISERS)
]

TRAIN = (
    "(cases) => cases.map((one) => { const { path, losses, moves, pulls } = lib.train(one);"
    " return { path, losses, moves, pulls }; })"
)


def training_cases(steps: int) -> list[dict[str, Any]]:
    """One of each choice, with batches and seeds of its own."""
    rng = np.random.default_rng(4)
    return [
        dict(
            zip(("tower", "optimiser", "loss"), choice, strict=True),
            batch_size=int(rng.integers(4, 25)),
            lr=0.1,
            steps=steps,
            seed=int(rng.integers(100)),
        )
        for choice in CHOICES
    ]


@cache
def python_trains(case: tuple[tuple[str, Any], ...]) -> small_towers.Run:
    """A training that many wrong ones are compared with."""
    return small_towers.train(**dict(case))


def training_disagreements(cases: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[str]:
    differences = []
    for case, answer in zip(cases, answers, strict=True):
        ours = python_trains(tuple(sorted(case.items())))
        for name, tolerance in (("path", 1e-6), ("losses", 1e-6), ("moves", 1e-2), ("pulls", 1e-2)):
            a, b = getattr(ours, name), np.array(answer[name], dtype=float)
            if a.shape != b.shape or not np.allclose(a, b, rtol=tolerance, atol=tolerance):
                differences.append(f"{name} of {case}")
    return differences


def test_the_run_is_that_of_steps_which_the_library_measures() -> None:
    """Momentum and two layers: path, losses and angles against `measure_step` on towers with the same start."""
    settings: dict[str, Any] = {"tower": "two_layers", "optimiser": "momentum", "loss": "infonce"}
    run = small_towers.train(**settings, batch_size=9, lr=0.2, steps=5, seed=5)
    draws = small_towers.draw(5, steps=5, batch_size=9)
    users, items = small_towers.tower_at_start("two_layers", draws), torch.nn.Parameter(torch.tensor(draws.items))
    sgd = torch.optim.SGD(users.parameters(), 0.2, momentum=small_towers.MOMENTUM), torch.optim.SGD([items], 0.2)
    everyone = torch.arange(small_towers.USERS)
    for t, batch in enumerate(draws.batches):
        rows, liked = map(torch.tensor, small_towers.pair(batch))
        motion = jacobians.measure_step(
            users, rows, lambda q, liked=liked: small_towers.LOSSES["infonce"](q, items[liked]), sgd, probe=everyone
        )
        np.testing.assert_allclose(run.path[t + 1], motion.after, rtol=1e-12)
        angles = {int(user): angle for step, user, angle in run.moves if step == t}
        assert sorted(angles) == sorted(set(rows.tolist()))
        assert [angles[u] for u in sorted(angles)] == pytest.approx([float(motion.angle[u]) for u in sorted(angles)])


# ==== the small training as a reader meets it: words, and pages in a real browser

TowerMotion = partial(tower_motion.TowerMotion, everything=True)
SHOWN = {"tower_motion": {"loss": "infonce", "steps": 9}}


def shares(angles: np.ndarray, count: int) -> np.ndarray:
    """The share of the angles in each of `count` equal parts of 0 to 180 degrees."""
    return np.histogram(angles, bins=np.linspace(0, 180, count + 1))[0] / len(angles)


def near_tangent(shown: tower_motion.TowerMotion) -> float:
    """The share of all moves within 90 +- 10 degrees."""
    return float((np.abs(shown.run().moves[:, 2] - 90) <= 10).mean())


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"tower": "two_layers", "lr": 0.1, "steps": 30},
        {"tower": "dense", "loss": "cosine_squared", "batch_size": 24, "lr": 0.05, "steps": 12, "seed": 3},
        {"optimiser": "momentum", "loss": "infonce_dot", "lr": 0.05, "steps": 20},
    ],
)
def test_words_and_table_hold_what_course_lib_computes(state: dict[str, Any]) -> None:
    shown = TowerMotion(**state)
    run = shown.run()
    assert f"from {words.number(run.norms[0].mean())} to {words.number(run.norms[-1].mean())}." in shown.summary()
    said = [row[1] for row in shown.table()[1]]
    assert said == [f"{words.number(100 * share)} %" for share in shares(run.moves[:, 2], 9)]


def leaf(shown: tower_motion.TowerMotion) -> str:
    """The verdict of the leaf: kept, longer or lost."""
    [verdict] = re.findall(r'data-verdict="(\w+)"', shown.picture())
    return str(verdict)


def test_what_a_training_says() -> None:
    calm = TowerMotion(steps=40).summary()
    assert "stood perpendicular to their vectors" in calm and "No vector ever became shorter." in calm
    assert "Every move is perpendicular, and no vector becomes shorter." in calm
    scaled = TowerMotion("scale", steps=40)
    assert near_tangent(scaled) == 1 and "Theorem “Sharp criterion”" in scaled.picture()
    rounding = TowerMotion("scale", optimiser="row_adagrad", lr=10, steps=25, batch_size=4).summary()
    assert "to a thousandth of a degree" in rounding and "No vector ever became shorter." in rounding
    assert "24 of 24 vectors became shorter at some step." in TowerMotion("bias").summary()  # the guess of the page
    both = TowerMotion("bias", optimiser="momentum", loss="infonce_dot", steps=5)
    assert "The gradient itself is not perpendicular. Counterexample: step " in both.summary()
    assert both.picture().count("Not asked.") == 2
    still = TowerMotion(steps=0)
    assert "Nothing has moved yet." in still.summary() and still.table()[1] == []


@pytest.mark.seconds
@pytest.mark.parametrize("tower", one_quickly(list(small_towers.TOWERS)))
def test_every_leaf_holds_in_the_training(tower: str) -> None:
    """Kept: right angles, or a length that stays; longer: no right angle, nothing shrinks; lost: a vector shrinks."""
    for optimiser, loss in [*((name, "infonce") for name in small_towers.OPTIMISERS), ("sgd", "infonce_dot")]:
        shown = TowerMotion(tower, optimiser=optimiser, loss=loss, lr=0.3, steps=30)
        run = shown.run()
        shrinks, bend = np.diff(run.norms, axis=0).min() < -1e-5, np.abs(run.moves[:, 2] - 90).max()
        # AdaGrad divides gradients that are 0 but for rounding by their own size: a tenth of a degree
        expected = "lost" if shrinks else "kept" if bend < 1 or tower == "normalised" else "longer"
        assert leaf(shown) == expected, optimiser
        assert ("Counterexample: step " in shown.summary()) == shrinks


def test_the_counterexample_is_a_move_of_the_training() -> None:
    shown = TowerMotion("two_layers", lr=0.2)
    step, user, angle, before, after = (
        float(x)
        for x in re.search(
            r"step (\d+) moves person (\d+) from \(.*?\) at (\S+)° .* goes from (\S+) to (\S+)\. Of", shown.summary()
        ).groups()
    )
    run, (t, u) = shown.run(), (int(step) - 1, int(user) - 1)
    assert [f"{norm:.3f}" for norm in run.norms[[t, t + 1], u]] == [f"{before:.3f}", f"{after:.3f}"]
    [found] = [move[2] for move in run.moves if tuple(move[:2]) == (t, u)]
    assert words.number(found) == words.number(angle)


def test_a_counterexample_has_as_many_digits_as_show_it() -> None:
    small = TowerMotion("dense", lr=0.01, steps=5).summary()
    before, after = re.search(r"its length goes from (\S+) to (\S+)\. Of", small).groups()
    assert float(after) < float(before) and len(before) == len("0.1960")


@pytest.mark.parametrize("tower", small_towers.TOWERS)
def test_one_push_is_a_step_of_torch_on_one_person(library: Callable[..., Any], tower: str) -> None:
    """The gradient of the pushed embedding has length 1 and stands at a right angle to it; who shrinks is said.

    And how fast the tower moves its vectors outwards.
    """
    shown, page = tower_motion.TowerMotion(tower, follow=5, lr=0.2), library("tower_math")
    speed = small_towers.radial_speed(tower, 3)
    assert page("([tower, seed]) => lib.radialSpeed(tower, seed)", [tower, 3]) == pytest.approx(speed, abs=1e-9)
    assert (speed < 1e-12) == (tower in ("lookup", "one_hot", "scale", "normalised"))
    found = page("(state) => lib.pushed(state)", shown.state())
    made = small_towers.tower_at_start(tower, small_towers.draw(0, steps=0, batch_size=0))
    before = made(torch.arange(small_towers.USERS))
    np.testing.assert_allclose(found["before"], before.detach(), rtol=1e-9)
    q = before.detach()[4] / before.detach()[4].norm()
    before[4].dot(torch.stack([q[1], -q[0]])).backward()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.sub_(0.2 * parameter.grad)
        after = made(torch.arange(small_towers.USERS))
    np.testing.assert_allclose(found["after"], after, rtol=1e-9, atol=1e-12)
    moved = int((geometry.norm(after.numpy() - found["before"]) > 1e-9).sum()) - 1
    shorter = int((geometry.norm(after.numpy()) - geometry.norm(np.array(found["before"])) < -1e-9).sum())
    assert (f"moves {moved} other people" if moved else "moves nobody else") in shown.summary()
    assert f"and {shorter or 'none'} of the 24 vectors become" in shown.summary().replace("becomes", "become")
    assert f">{shorter} of 24</text>" in shown.picture()
    assert (moved == 0) == (tower in {"lookup", "one_hot", "scale", "normalised"})


def test_the_null_is_the_share_of_uniform_directions() -> None:
    chance = words.number(100 * p0.chance_of_right_angle(2))
    assert f"(uniform directions: {chance} %)" in TowerMotion("bias", lr=0.1).summary()


def test_the_same_in_python_counts_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TowerMotion("two_layers", lr=0.1, steps=30, follow=5)
    assert run(shown.python()).state() | {"everything": True} == shown.state()
    printed = capsys.readouterr().out
    [numbers] = re.findall(r"\[(.*?)\]", printed, re.DOTALL)
    gradient, radial, _ = (float(line.split()[0]) for line in printed.splitlines()[:3])
    assert gradient < 0.005 and "gradient off the right angle: 0°" in shown.picture()
    assert f"speed along q: up to {words.number(radial)} %" in shown.picture()
    assert [f"{words.number(float(share))} %" for share in numbers.split()] == [row[1] for row in shown.table()[1]]


def test_a_training_goes_on_where_it_stopped(library: Callable[..., Any]) -> None:
    """Back and forth on the slider of the steps: the same as trained at once."""
    found = library("tower_math")(
        """(state) => { const one = new lib.Training(state);
          return [one.to(9), one.to(30), one.to(9)].map((run) => [run.path.at(-1), run.moves.length]); }""",
        TowerMotion("dense", optimiser="adam").state(),
    )
    assert found[0] == found[2]
    whole = TowerMotion("dense", optimiser="adam", steps=30).run()
    np.testing.assert_allclose(found[1][0], whole.path[-1], rtol=1e-9)
    assert found[1][1] == len(whole.moves)


def test_the_buttons_of_a_training(site_page: Callable[..., Any]) -> None:
    page = site_page(TowerMotion(batch_size=9, lr=0.7, steps=61, follow=2).static_html())
    plane = page.locator(".cw-plane")
    run = TowerMotion(batch_size=9, lr=0.7, steps=61).run()
    first, last = (words.number(length) for length in run.norms[[0, -1], 1])
    assert (
        f"The vector of person 2 went from length {first} to {last}. Its last move stood at 90° to it."
        in plane.get_attribute("aria-label")
    )
    page.locator('[data-action="step"]').click()
    page.locator('[data-action="steps"]').click()
    settled(page, TowerMotion(batch_size=9, lr=0.7, steps=82).summary())
    page.locator('[data-action="again"]').click()
    settled(page, TowerMotion(batch_size=9, lr=0.7, steps=82, seed=1).summary())
    page.locator('[data-action="reset"]').click()
    settled(page, "Nothing has moved yet.")
    assert page.locator(".cw-petal").count() == 0


def test_the_petals_are_the_shares(site_page: Callable[..., Any]) -> None:
    """The area of each petal, from its path, against the shares that Python counts."""
    shown = TowerMotion("two_layers", lr=0.1, steps=30)
    page = site_page(shown.static_html())
    lengths = [
        float(d)
        for d in page.evaluate(
            """[...document.querySelectorAll('.cw-rose .cw-petal')]
              .map((petal) => petal.getAttribute('d').match(/A([0-9.]+)/)[1])"""
        )
    ]
    expected = shares(shown.run().moves[:, 2], 27)
    np.testing.assert_allclose(np.array(lengths) ** 2 / 150**2, expected[expected > 0] / expected.max(), atol=2e-4)
    text = page.locator(".cw-share").inner_text()
    assert text.startswith(words.number(100 * near_tangent(shown)) + " % of ") and text.endswith(
        "uniform directions: 11.1 %"
    )


SCRIPTS = [
    Script(
        "tower_math",
        TRAIN,
        cases=lambda: training_cases(5),
        off=lambda case, answer: training_disagreements([case], [answer]),
        given=lambda case: case,
        wrong=("MOMENTUM * v + slope", "MOMENTUM * v + (1 - MOMENTUM) * slope"),
    ),
]
