"""The interactives on motion as a reader meets them: words, HTML, and pages in a real browser."""

from __future__ import annotations

import ast
import gzip
import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course_lib import geometry
from course_lib.lessons.cosine_orthogonality.cosine_motion import CosineMotion
from course_lib.lessons.jacobian_conditions import small_towers, tower_motion
from course_lib.lessons.jacobian_conditions.tower_motion import TowerMotion
from course_lib.lessons.shared.widgets import bundle, motion, words
from course_lib.papers import p0
from tests.lessons.test_widgets_motion import CHOICES, is_exact, random_state
from tests.widget_pages import SUMMARY, Elements, mount_in_jupyter, serious_violations, settled

BOTH = [CosineMotion, TowerMotion]


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


# ---- words


def test_small_numbers_are_written_alike(library: Callable[..., Any]) -> None:
    rng = np.random.default_rng(7)
    values = [
        0.0,
        -0.0,
        0.01,
        0.00999,
        0.0001,
        0.00009,
        -0.0034,
        1e-300,
        0.00995,
        0.00005,
        3.0,
        *(rng.normal(size=200) * 10.0 ** rng.integers(-6, 3, size=200)),
    ]
    assert library("kit")("(values) => values.map(lib.fine)", values) == [words.fine(value) for value in values]
    assert [words.fine(value) for value in (0.0034, -0.0034, 0.00002, 0.0, 0.5, 0.00999)] == [
        "0.0034",
        "−0.0034",
        "less than 0.0001",
        "0",
        "0.5",
        "0.01",
    ]


def test_python_and_the_page_say_the_same_of_a_step(library: Callable[..., Any]) -> None:
    rng = np.random.default_rng(3)
    shown = [CosineMotion(**random_state(rng)) for _ in range(100)]
    shown += [
        CosineMotion(q=(0, 0)),
        CosineMotion(negatives=[(1, 0), (0, 0)]),
        CosineMotion(q=(1, 2), k=(2, 4)),  # parallel: at rest
        CosineMotion(q=(-1, 0), k=(1, 0), loss="dot", lr=1, steps=3),  # the first step ends at zero
        CosineMotion(negatives=[], loss="infonce"),
        CosineMotion(loss="dot", lr=100, steps=500),
    ]
    question = '(states) => states.map((state) => lib.sentences(lib.analyse(state)).join(" "))'
    assert library("cosine_motion_text")(question, [one.state() for one in shown]) == [one.summary() for one in shown]
    tables = library("cosine_motion_text")(
        "(states) => states.map((state) => lib.traceTable(lib.analyse(state)).slice(0, 2))",
        [one.state() for one in shown],
    )
    assert tables == [
        list(one.table()) if not one.problem() else [one.table()[0], rows]
        for one, (_, rows) in zip(shown, tables, strict=True)
    ]


def test_python_and_the_page_say_the_same_of_a_training(library: Callable[..., Any]) -> None:
    shown = [TowerMotion(**state) for state in tower_states(60)]
    question = '(states) => states.map((state) => [lib.sentences(lib.analyse(state)).join(" "), lib.angleTable(lib.analyse(state).angles).slice(0, 2)])'
    found = library("tower_motion_text")(question, [one.state() for one in shown])
    assert [said for said, _ in found] == [one.summary() for one in shown]
    assert [table for _, table in found] == [list(one.table()) for one in shown]


def test_the_line_of_python_makes_the_same_widget(library: Callable[..., Any]) -> None:
    rng = np.random.default_rng(5)
    for module, made in [
        ("cosine_motion_text", [CosineMotion(**random_state(rng)) for _ in range(20)]),
        ("tower_motion_text", [TowerMotion(**state) for state in tower_states(10)]),
    ]:
        lines = library(module)("(states) => states.map(lib.asPython)", [one.state() for one in made])
        for line, one in zip(lines, made, strict=True):
            call = ast.parse(line).body[1].value
            arguments = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
            again = type(one)(*map(ast.literal_eval, call.args), **arguments)
            assert again.state() == one.state()


def test_the_sentences_by_hand() -> None:
    """q = (3, 0), k = (0, 2): the gradient of 1 - cos is (0, -1/3), a step with lr 12 is (0, 4), and 3, 4, 5."""
    assert CosineMotion(q=(3, 0), k=(0, 2), lr=12).summary() == (
        "Loss: 1 − cos(q, k), learning rate 12. cos(q, k) = 0, loss 1. The gradient has length 0.33 and is perpendicular to q, so the step "
        "starts along the circle on which q lies. The next step takes the length of q from 3 to 5 (+66.7 %), as Pythagoras says: √(3² + 4²)."
    )
    said = CosineMotion(q=(3, 0), k=(-1, 0), loss="dot", lr=1, steps=1).summary()
    assert (
        "⟨q, k⟩ = −2, loss 2. The gradient has length 1. The step leaves at 180° to q, not at a right angle: it points inward."
        in said
    )
    assert "After 1 step the length went from 3 to 2. It became shorter in 1 of them." in said


def test_what_a_training_says() -> None:
    calm = TowerMotion(steps=40).summary()
    assert "stood perpendicular to their embeddings" in calm and "Theorem 2.1 covers this choice." in calm
    assert "No embedding ever became shorter." in calm
    scaled = TowerMotion("scale", steps=40)
    assert scaled.share_near_tangent == 1 and scaled.reasons == ["the tower is not linear in its parameters"]
    both = TowerMotion("bias", optimiser="momentum", loss="infonce_dot", steps=5)
    assert (
        "does not cover this choice: all users share the bias, the optimiser has momentum and the loss sees more than cosines."
        in both.summary()
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


# ---- the Python objects


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q": (1, 2, 3)}, r"q has the point \[1.0, 2.0, 3.0\]; expected two finite numbers"),
        ({"k": (1, np.nan)}, "k has the point"),
        ({"negatives": [(1, 2)] * 4}, "negatives has 4 points; expected at most 3"),
        ({"loss": "hinge"}, "loss is 'hinge'; expected one of cosine, cosine_squared, infonce, dot, infonce_dot"),
        ({"lr": 0}, "lr is 0.0; expected a number from 0.01 to 100"),
        ({"tau": np.inf}, "tau is inf; expected"),
        ({"steps": -1}, "steps is -1; expected 0 to 500"),
    ],
)
def test_bad_arguments_of_a_step_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CosineMotion(**arguments)


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


@pytest.mark.parametrize("kind", BOTH)
def test_html_contract(kind: Any) -> None:
    shown = kind(steps=3)
    elements = Elements(shown.static_html()).found
    tag, attributes = elements[0]
    assert (tag, attributes["class"], attributes["data-course-widget"]) == ("div", "course-widget", shown.module_name)
    assert json.loads(attributes["data-state"] or "") == shown.state()
    assert [a["aria-label"] for t, a in elements if t == "svg" and a["role"] == "img"] == [shown.summary()]
    assert all("id" not in a for _, a in elements)
    assert shown.static_html() == kind(steps=3).static_html()
    assert len(kind().static_html()) < 60_000
    assert not re.search(r"nan|inf\b", re.sub(r"<[^>]*>", "", shown.static_html()), re.IGNORECASE)


@pytest.mark.parametrize("module", ["cosine_motion", "tower_motion"])
def test_the_script_is_small(module: str) -> None:
    own = [
        path
        for path in bundle.FOLDER.glob("*.js")
        if path.stem
        in {module, f"{module}_text", "motion_math", "motion_plane", "motion_view", module.replace("motion", "math")}
    ]
    assert len(gzip.compress("".join(path.read_text() for path in own).encode())) < 12_000


def test_the_picture_marks_a_right_angle_only_where_there_is_one() -> None:
    square = 'stroke-width="1.5"/>'
    tangent, slanted = (CosineMotion(loss=loss).picture() for loss in ("cosine", "dot"))
    assert tangent.count(square) == slanted.count(square) + 1


# ---- in the browser: one step


def place(page: Any, name: str) -> dict[str, float]:
    return page.locator(f'[data-handle="{name}"] .cw-knob').bounding_box()


def drag(page: Any, name: str, dx: float, dy: float) -> None:
    box = place(page, name)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    page.mouse.up()


def coordinates(page: Any, name: str) -> tuple[float, float]:
    return tuple(float(page.locator(f'input[name="{name}-{axis}"]').input_value()) for axis in "xy")


@pytest.mark.parametrize("kind", BOTH)
def test_the_page_opens_with_the_words_of_python(site_page: Callable[..., Any], kind: Any) -> None:
    page = site_page(kind(steps=4).static_html())
    assert page.locator(SUMMARY).inner_text() == kind(steps=4).summary()
    assert page.locator(".course-widget > figure").count() == 0
    assert (
        page.locator(".cw-python pre")
        .text_content()
        .startswith("from course_lib import widgets\nwidgets." + kind.__name__)
    )


@pytest.mark.parametrize("name", ["q", "k", "n1"])
def test_a_mouse_drags_the_tips(site_page: Callable[..., Any], name: str) -> None:
    page = site_page(CosineMotion(loss="infonce").static_html())
    page.locator(".cw-plane").scroll_into_view_if_needed()
    before, unit = (
        coordinates(page, name),
        page.evaluate("document.querySelector('.cw-plane').getBoundingClientRect().width"),
    )
    drag(page, name, 60, -30)
    after = coordinates(page, name)
    move = np.subtract(after, before)
    assert move[0] > 0.2 and move[1] > 0.1 and move[0] == pytest.approx(2 * move[1], rel=0.1) and unit > 200
    moved = {name: after} if name != "n1" else {"negatives": [after]}
    settled(page, CosineMotion(loss="infonce", **moved).summary())
    assert page.evaluate("document.activeElement.dataset.handle") == name


def test_a_finger_drags_the_tips_and_scrolls_beside_them(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion().static_html(), width=360, has_touch=True)
    page.locator(".cw-plane").scroll_into_view_if_needed()
    assert page.evaluate(
        "[getComputedStyle(document.querySelector('.cw-handle')).touchAction, getComputedStyle(document.querySelector('.cw-plane')).touchAction]"
    ) == ["none", "auto"]
    box, before = place(page, "q"), coordinates(page, "q")
    session = page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2 + 8, box["y"] + box["height"] / 2 + 6  # a finger beside the knob, on its target
    for kind, points in [
        ("touchStart", [(x, y)]),
        ("touchMove", [(x - 20, y + 10)]),
        ("touchMove", [(x - 40, y + 20)]),
        ("touchEnd", []),
    ]:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]})
    page.wait_for_function(f"Number(document.querySelector('input[name=\"q-x\"]').value) < {before[0] - 0.1}")
    assert coordinates(page, "q")[1] < before[1]


def test_keys_move_a_focused_tip(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion().static_html())
    handle = page.locator('[data-handle="q"]')
    handle.focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowUp", "Shift+ArrowLeft", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert coordinates(page, "q") == (1.29, 0.49)
    assert handle.get_attribute("aria-valuetext") == "x 1.29, y 0.49, length 1.38"
    assert (handle.get_attribute("role"), handle.get_attribute("aria-label")) == ("slider", "q")
    assert page.evaluate("document.activeElement.dataset.handle") == "q"
    settled(page, CosineMotion(q=(1.29, 0.49)).summary())


def test_numbers_move_a_tip(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion().static_html())
    page.locator('input[name="k-x"]').fill("-2")
    page.keyboard.press("Tab")
    settled(page, CosineMotion(k=(-2, 1.6)).summary())
    page.locator('input[name="k-y"]').fill("99")
    page.keyboard.press("Tab")
    assert coordinates(page, "k") == (-2, 5)  # as far as the plane goes
    page.locator('input[name="k-y"]').fill("")
    page.keyboard.press("Tab")
    settled(page, CosineMotion(k=(-2, 5)).summary())


def test_steps_go_forth_and_back(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion(loss="infonce").static_html())
    page.locator('[data-action="step"]').click()
    settled(page, CosineMotion(loss="infonce", steps=1).summary())
    page.locator('[data-action="steps"]').click()
    settled(page, CosineMotion(loss="infonce", steps=26).summary())
    assert (
        page.locator(".cw-chart svg").get_attribute("aria-label")
        == "Length of q over 26 steps: from 1.24 to "
        + words.number(float(geometry.norm(CosineMotion(loss="infonce", steps=26).trace[-1])))
        + "."
    )
    page.locator(".cw-data summary").click()
    page.locator(".cw-table tbody tr").first.wait_for()
    assert page.locator(".cw-table tbody tr").count() == 27
    page.locator('[data-action="reset"]').click()
    settled(page, CosineMotion(loss="infonce").summary())
    assert page.locator('[data-action="reset"]').is_disabled()
    for _ in range(20):
        page.locator('[data-action="steps"]').click()
    assert page.locator('[data-action="steps"]').is_disabled()
    settled(page, "After 500 steps")


def test_moving_q_after_steps_starts_anew(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion(steps=5).static_html())
    now = CosineMotion(steps=5).trace[-1]
    page.locator('[data-handle="q"]').focus()
    page.keyboard.press("ArrowLeft")
    assert coordinates(page, "q") == pytest.approx(np.round(now - [0.1, 0], 2))
    page.wait_for_function("!document.querySelector('.cw-summary').textContent.includes('After')")
    assert page.locator(SUMMARY).inner_text() == CosineMotion(q=coordinates(page, "q")).summary()


def test_losses_rates_and_negatives(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion().static_html())
    assert page.locator('input[name="tau"]').is_hidden() and page.locator('[data-action="add-negative"]').is_hidden()
    for name in motion.LOSSES:
        page.locator('select[name="loss"]').select_option(name)
        settled(page, CosineMotion(loss=name).summary())
    page.locator('[data-action="add-negative"]').click()
    page.locator('[data-action="add-negative"]').click()
    assert page.locator('[data-action="add-negative"]').is_disabled()
    assert page.locator("[data-handle]").count() == 5
    page.locator('input[name="lr"]').focus()
    page.keyboard.press("ArrowLeft")
    page.locator('input[name="tau"]').focus()
    page.keyboard.press("ArrowLeft")
    settled(
        page,
        CosineMotion(loss="infonce_dot", negatives=[(1.5, -0.8), (-1.4, 0.7), (-0.6, -1.5)], lr=0.7, tau=0.3).summary(),
    )
    for _ in range(3):
        page.locator('[data-action="drop-negative"]').click()
    assert page.locator("[data-handle]").count() == 2 and page.locator('[data-action="drop-negative"]').is_disabled()
    settled(page, CosineMotion(loss="infonce_dot", negatives=[], lr=0.7, tau=0.3).summary())


def test_the_zero_vector_is_a_sentence_and_repairs_itself(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion(q=(0.1, 0)).static_html())
    page.locator('[data-handle="q"]').focus()
    page.keyboard.press("ArrowLeft")
    message = "q is the zero vector. It has no direction, so its cosine with anything is not defined. Move it."
    assert page.locator(".cw-message").inner_text() == message
    assert page.locator('[data-action="step"]').is_disabled()
    settled(page, message)
    page.keyboard.press("ArrowUp")
    assert page.locator(".cw-message").is_hidden()
    settled(page, CosineMotion(q=(0, 0.1)).summary())


def test_presets_work_and_no_state_shows_a_number_that_is_none(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion().static_html(), TowerMotion().static_html())
    for summary in page.locator("details summary").all():
        summary.click()
    wrong = page.evaluate(
        """async () => {
          const found = [];
          let seen = 0;
          const look = async (name) => {
            await new Promise((done) => setTimeout(done));
            seen += 1;
            if (/NaN|undefined|Infinity|\\[object/.test(document.querySelector("main").innerHTML)) found.push(name);
          };
          for (const root of document.querySelectorAll(".cw")) {
            for (const preset of root.querySelectorAll("[data-preset]")) {
              preset.click();
              await look(preset.dataset.preset);
              for (const select of root.querySelectorAll("select")) for (const option of select.options) {
                select.value = option.value;
                select.dispatchEvent(new Event("change"));
                await look(`${preset.dataset.preset} ${option.value}`);
                root.querySelector('[data-action="steps"]').click();
                await look(`${preset.dataset.preset} ${option.value} steps`);
              }
            }
          }
          return [found, seen];
        }"""
    )
    assert wrong[0] == [] and wrong[1] > 100


# ---- in the browser: a training


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
            "[...document.querySelectorAll('.cw-rose .cw-petal')].map((p) => p.getAttribute('d').match(/A([0-9.]+)/)[1])"
        )
    ]
    shares = tower_motion._shares(shown.run().moves[:, 2], tower_motion.PETALS)
    np.testing.assert_allclose(np.array(lengths) ** 2 / 150**2, shares[shares > 0] / shares.max(), atol=2e-4)
    text = page.locator(".cw-share").inner_text()
    assert text.startswith(words.number(100 * shown.share_near_tangent) + " % of ") and text.endswith(
        "uniform directions: 11.1 %"
    )


# ---- in the browser: both


@pytest.mark.parametrize("kind", BOTH)
def test_without_javascript_the_picture_stays(site_page: Callable[..., Any], kind: Any) -> None:
    page = site_page(kind(steps=5).static_html(), java_script_enabled=False, script=False, width=360)
    assert page.locator(".course-widget svg[role=img]").is_visible()
    assert page.locator(".course-widget p").inner_text() == kind(steps=5).summary()
    page.locator("summary").click()
    assert page.locator(".cw-static-table tbody tr").count() == len(kind(steps=5).table()[1])
    assert page.locator("main").evaluate("main => main.scrollWidth <= 360")


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_the_widget_fits_the_width(site_page: Callable[..., Any], kind: Any, width: int) -> None:
    page = site_page(kind(loss="infonce", steps=9).static_html(), width=width)
    for summary in page.locator("details summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.evaluate(
        """[...document.querySelectorAll('.cw :is(button, select, summary, input[type=range], input[type=number], .cw-touch)')]
          .filter((e) => e.checkVisibility()).map((e) => { const b = e.getBoundingClientRect(); return Math.min(b.width, b.height); })"""
    )
    assert min(sizes) >= 24  # WCAG 2.5.8, target size


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(site_page: Callable[..., Any], kind: Any, scheme: str) -> None:
    page = site_page(kind(loss="infonce", steps=9).static_html(), color_scheme=scheme, reduced_motion="reduce")
    for summary in page.locator("details summary").all():
        summary.click()
    assert serious_violations(page) == []


@pytest.mark.parametrize("kind", BOTH)
def test_keyboard_alone_reaches_every_control(site_page: Callable[..., Any], kind: Any) -> None:
    page = site_page(kind(loss="infonce", steps=9).static_html())
    wanted = set(
        page.evaluate(
            """[...document.querySelectorAll('.cw :is(button, select, input, summary, [tabindex="0"])')]
          .filter((e) => e.checkVisibility() && !e.disabled).map((e, i) => (e.dataset.number = i) + "")"""
        )
    )
    page.locator("body").focus()
    reached = set()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset?.number ?? ''"))
    assert wanted <= reached and len(wanted) > 10


@pytest.mark.parametrize("kind", BOTH)
def test_two_on_one_page_do_not_disturb_each_other(site_page: Callable[..., Any], kind: Any) -> None:
    page = site_page(kind().static_html(), kind(steps=3).static_html())
    page.locator('[data-action="step"]').nth(1).click()
    assert page.locator(SUMMARY).first.inner_text() == kind().summary()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(ids) == len(set(ids)) > 0


@pytest.mark.parametrize("kind", BOTH)
def test_in_jupyter_the_model_is_followed_and_left(browser: Any, kind: Any) -> None:
    page = browser.new_page()
    esm = kind()._esm
    assert len(re.findall(r"^export default", esm, re.MULTILINE)) == 1 and not re.search(r"^import", esm, re.MULTILINE)
    mount_in_jupyter(page, esm, kind().state())
    page.evaluate("model.set('steps', 7)")  # Python says
    settled(page, kind(steps=7).summary())
    page.locator('input[name="lr"]').focus()
    page.keyboard.press("ArrowLeft")  # the reader says
    assert page.evaluate("[saved, bubbled]") == [1, 0]  # JupyterLab never sees the key
    assert page.evaluate("model.get('lr')") < kind().lr
    page.evaluate("close()")
    assert page.evaluate("Object.values(listeners).flat().length") == 0
    page.close()


def test_the_model_gets_what_the_mouse_did(browser: Any) -> None:
    page = browser.new_page()
    shown = CosineMotion()
    mount_in_jupyter(page, shown._esm, shown.state())
    page.add_style_tag(content=shown._css)
    drag(page, "k", 40, 20)
    found = page.evaluate("[model.get('k'), model.get('steps'), saved]")
    assert found[0] != shown.k and found[1] == 0 and found[2] >= 2
    shown.k = found[0]  # Python takes it as it comes
    settled(page, shown.summary())
    page.close()


@pytest.mark.parametrize("kind", BOTH)
def test_on_paper_there_is_a_picture_and_the_words(site_page: Callable[..., Any], kind: Any) -> None:
    page = site_page(kind(steps=5).static_html())
    page.emulate_media(media="print")
    assert page.locator(".cw-plane").is_visible() and page.locator(SUMMARY).is_visible()
    assert not any(button.is_visible() for button in page.locator(".cw button").all())
