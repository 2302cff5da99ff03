"""The small training: the page against torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from course_lib import jacobians
from course_lib.lessons.jacobian_conditions import small_towers
from tests.widget_pages import replacing

CHOICES = [(t, o, s) for t in small_towers.TOWERS for o in small_towers.OPTIMISERS for s in small_towers.LOSSES]

TRAIN = (
    "(cases) => cases.map((one) => { const { path, losses, moves, pulls } = lib.train(one);"
    " return { path, losses, moves, pulls }; })"
)


def training_cases(steps: int) -> list[dict[str, Any]]:
    """Every combination of tower, optimiser and loss, with batches and seeds of its own."""
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
    """A shared scale has a gradient of rounding errors; optimisers that divide by the gradient make 1e-7 of that."""
    differences = []
    for case, answer in zip(cases, answers, strict=True):
        ours = python_trains(tuple(sorted(case.items())))
        exact = case["tower"] != "scale" or case["optimiser"] not in ("row_adagrad", "adagrad", "adam", "lazy_adam")
        for name, tolerance in (
            ("path", 1e-6 if exact else 1e-3),
            ("losses", 1e-6 if exact else 1e-3),
            ("moves", 1e-2 if exact else 180),  # a move of the size of rounding has any direction
            ("pulls", 1e-2 if exact else 180),
        ):
            a, b = getattr(ours, name), np.array(answer[name], dtype=float)
            if a.shape != b.shape or not np.allclose(a, b, rtol=tolerance, atol=tolerance):
                differences.append(f"{name} of {case}")
    return differences


@pytest.mark.seconds
def test_the_page_trains_as_torch_does(library: Callable[..., Any]) -> None:
    cases = training_cases(8)
    assert training_disagreements(cases, library("tower_math")(TRAIN, cases)) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("MOMENTUM * v + slope", "MOMENTUM * v + (1 - MOMENTUM) * slope"),
        ("dot(row, row) / row.length", "dot(row, row)"),
        ("slope + DECAY * value", "slope"),
        ("? 1 - lr * DECAY : 1", "? 1 : 1 - lr * DECAY"),
        (
            "const first = { table: drawn(USERS, WIDTH), items: drawn(USERS, WIDTH)",
            "const first = { items: drawn(USERS, WIDTH), table: drawn(USERS, WIDTH)",
        ),
        ("crossed(g, e)]", "crossed(g, e).map((row) => scale(row, 2))]"),
        ("- Number(i === j)) / (tau * size)", "- Number(i === j)) / size"),
        ("v / second", "v"),
        ("scale(add(gradient, u, -dot(gradient, u)), 1 / length)", "scale(gradient, 1 / length)"),
    ],
)
def test_a_wrong_training_is_noticed(library: Callable[..., Any], right: str, wrong: str) -> None:
    cases = training_cases(3)
    assert training_disagreements(cases, library("tower_math", replacing(right, wrong))(TRAIN, cases)) != []


@pytest.mark.parametrize("tower", small_towers.TOWERS)
def test_the_page_knows_how_fast_a_tower_moves_its_vectors_outwards(library: Callable[..., Any], tower: str) -> None:
    speed = small_towers.radial_speed(tower, 3)
    on_page = library("tower_math")("([tower, seed]) => lib.radialSpeed(tower, seed)", [tower, 3])
    assert on_page == pytest.approx(speed, abs=1e-9)
    assert (speed < 1e-12) == (tower in ("lookup", "one_hot", "scale", "normalised"))


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
