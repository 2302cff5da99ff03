"""The small training as a reader meets it: words, and pages in a real browser."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course_lib.lessons.jacobian_conditions import small_towers, tower_motion
from course_lib.lessons.jacobian_conditions.tower_motion import TowerMotion
from course_lib.lessons.shared.widgets import words
from course_lib.papers import p0
from tests.lessons.jacobian_conditions.test_small_towers import CHOICES, is_exact
from tests.widget_pages import (
    mount_in_jupyter,
    open_folds,
    run,
    settled,
    strange_choices,
)

SHOWN = {"tower_motion": {"loss": "infonce", "steps": 9}}


def tower_states(count: int) -> list[dict[str, Any]]:
    """Arguments of TowerMotion: calm runs, whose last digits do not grow."""
    rng = np.random.default_rng(6)
    calm = [choice for choice in CHOICES if is_exact(*choice[:2])]
    chosen = [calm[int(i)] for i in rng.permutation(len(calm))[:count]]
    return [
        {
            "tower": t,
            "optimiser": o,
            "loss": s,
            "batch_size": int(rng.integers(4, 25)),
            "lr": 0.05,
            "steps": int(rng.integers(0, 13)),
            "follow": int(rng.integers(1, 25)),
            "seed": int(rng.integers(50)),
        }
        for t, o, s in chosen
    ]


def test_python_and_the_page_say_the_same_of_a_training(library: Callable[..., Any]) -> None:
    shown = [TowerMotion(**state) for state in tower_states(60)]
    question = """(states) => states.map(lib.analyse).map((found) => [
      lib.sentences(found).join(" "), lib.angleTable(found.angles).slice(0, 2)])"""
    found = library("tower_motion_text")(question, [one.state() for one in shown])
    assert [said for said, _ in found] == [one.summary() for one in shown]
    assert [table for _, table in found] == [list(one.table()) for one in shown]


def test_what_a_training_says() -> None:
    calm = TowerMotion(steps=40).summary()
    assert "stood perpendicular to their embeddings" in calm and "Theorem 2.1 covers this choice." in calm
    assert "No embedding ever became shorter." in calm
    scaled = TowerMotion("scale", steps=40)
    assert scaled.share_near_tangent == 1 and scaled.reasons == ["the tower is not linear in its parameters"]
    both = TowerMotion("bias", optimiser="momentum", loss="infonce_dot", steps=5)
    assert (
        "does not cover this choice: all users share the bias, the optimiser has momentum and "
        "the loss sees more than cosines." in both.summary()
    )
    still = TowerMotion(steps=0)
    assert (
        "Nothing has moved yet." in still.summary() and math.isnan(still.share_near_tangent) and still.table()[1] == []
    )


def test_the_null_is_the_share_of_uniform_directions() -> None:
    assert pytest.approx(p0.chance_of_right_angle(2)) == tower_motion.NULL_SHARE


@pytest.mark.parametrize(
    ("optimiser", "expected"),
    [("sgd", 1), ("row_adagrad", 1), ("momentum", 0.9), ("decay", 0.9), ("lazy_decay", 0.9), ("adam", 0.5)],
)
def test_optimisers_that_keep_a_lookup_on_the_circle(optimiser: str, expected: float) -> None:
    share = TowerMotion(optimiser=optimiser, lr=0.3, steps=100).share_near_tangent
    assert share == 1 if expected == 1 else share < expected


def test_row_wise_adagrad_sees_rows_and_the_two_lookups_differ() -> None:
    """The same function stored as columns: its rows are coordinates, and the step is bent."""
    runs = [TowerMotion(tower, optimiser="row_adagrad", lr=0.3).run() for tower in ("lookup", "one_hot")]
    worst = [np.abs(run.moves[:, 2] - 90).max() for run in runs]
    assert worst[0] < 1e-6 and worst[1] > 1
    np.testing.assert_array_equal(runs[0].path[0], runs[1].path[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tower": "deep"}, "tower is 'deep'; expected one of lookup, one_hot, dense, two_layers, bias, scale"),
        ({"optimiser": "lion"}, "optimiser is 'lion'; expected one of sgd, "),
        ({"loss": "cosine"}, "loss is 'cosine'; expected one of infonce, cosine_squared, infonce_dot"),
        ({"batch_size": 3}, "batch_size is 3; expected 4 to 24"),
        ({"lr": 11.0}, "lr is 11.0; expected 0.01 to 10"),
        ({"steps": 301}, "steps is 301; expected 0 to 300"),
        ({"follow": 0}, "follow is 0; expected 1 to 24"),
        ({"seed": -1}, "seed is -1; expected 0 to 4294967295"),
    ],
)
def test_bad_arguments_of_a_training_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TowerMotion(**arguments)


def test_the_line_of_python_makes_the_same_widget(library: Callable[..., Any]) -> None:
    made = [TowerMotion(**state) for state in tower_states(10)]
    lines = library("tower_motion_text")("(states) => states.map(lib.asPython)", [one.state() for one in made])
    assert [run(line).state() for line in lines] == [one.state() for one in made]


def test_presets_work_and_no_state_shows_a_number_that_is_none(site_page: Callable[..., Any]) -> None:
    assert strange_choices(open_folds(site_page(TowerMotion().static_html()))) == []


def test_in_jupyter_the_model_is_followed_and_left(browser: Any) -> None:
    page = browser.new_page()
    mount_in_jupyter(page, TowerMotion()._esm, TowerMotion().state())
    page.evaluate("model.set('steps', 7)")  # Python says
    settled(page, TowerMotion(steps=7).summary())
    page.locator('input[name="lr"]').focus()
    page.keyboard.press("ArrowLeft")  # the reader says
    assert page.evaluate("[saved, bubbled]") == [1, 0]  # JupyterLab never sees the key
    assert page.evaluate("model.get('lr')") < TowerMotion().lr
    page.evaluate("close()")
    assert page.evaluate("Object.values(listeners).flat().length") == 0
    page.close()


def test_every_choice_changes_the_words(site_page: Callable[..., Any]) -> None:
    page = site_page(TowerMotion(lr=0.05, steps=10).static_html())
    state = {"tower": "lookup", "optimiser": "sgd", "loss": "infonce", "lr": 0.05, "steps": 10}
    for name, options in [
        ("tower", small_towers.TOWERS),
        ("optimiser", small_towers.OPTIMISERS),
        ("loss", small_towers.LOSSES),
    ]:
        for option in options:
            page.locator(f'select[name="{name}"]').select_option(option)
            state[name] = option
            settled(page, TowerMotion(**state).summary())
        state[name] = next(iter(options))
        page.locator(f'select[name="{name}"]').select_option(state[name])


def test_sliders_and_buttons_of_a_training(site_page: Callable[..., Any]) -> None:
    page = site_page(TowerMotion().static_html())
    for name in ("batch_size", "lr", "steps", "follow"):
        page.locator(f'input[name="{name}"]').focus()
        page.keyboard.press("ArrowRight")
    settled(page, TowerMotion(batch_size=9, lr=0.7, steps=61).summary())
    plane = page.locator(".cw-plane")
    run = TowerMotion(batch_size=9, lr=0.7, steps=61).run()
    first, last = (words.number(length) for length in run.norms[[0, -1], 1])
    assert f"User 2 went from length {first} to {last}. Its last move stood at 90° to it." in plane.get_attribute(
        "aria-label"
    )
    page.locator('[data-action="step"]').click()
    page.locator('[data-action="steps"]').click()
    settled(page, TowerMotion(batch_size=9, lr=0.7, steps=82).summary())
    page.locator('[data-action="again"]').click()
    settled(page, TowerMotion(batch_size=9, lr=0.7, steps=82, seed=1).summary())
    page.locator('[data-action="reset"]').click()
    settled(page, "Nothing has moved yet.")
    assert page.locator(".cw-petal").count() == 1  # the legend's


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
    shares = tower_motion._shares(shown.run().moves[:, 2], tower_motion.PETALS)
    np.testing.assert_allclose(np.array(lengths) ** 2 / 150**2, shares[shares > 0] / shares.max(), atol=2e-4)
    text = page.locator(".cw-share").inner_text()
    assert text.startswith(words.number(100 * shown.share_near_tangent) + " % of ") and text.endswith(
        "uniform directions: 11.1 %"
    )
