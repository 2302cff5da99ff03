"""One step as a reader meets it: the motion of one vector, words, and pages in a real browser."""

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import words

from course_lib import geometry, losses
from course_lib.lessons.cosine_orthogonality import cosine_motion
from course_lib.lessons.shared.widgets import motion
from tests.lessons.every import Script
from tests.widget_pages import differences, run, settled, told

CASES = 120


def random_case(rng: np.random.Generator) -> dict[str, Any]:
    d, count = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    return {
        "q": (rng.normal(size=d) * 10 ** rng.uniform(-1, 1)).tolist(),
        "keys": rng.normal(size=(count, d)).tolist(),
        "loss": sorted(motion.LOSSES)[int(rng.integers(len(motion.LOSSES)))],
        "lr": float(10 ** rng.uniform(-2, 0)),
        "tau": float(rng.uniform(0.2, 2)),
        "steps": int(rng.integers(0, 12)),
    }


def random_state(rng: np.random.Generator) -> dict[str, Any]:
    """Arguments of CosineMotion."""
    case = random_case(rng)
    points = np.round(rng.normal(scale=1.5, size=(5, 2)), 2).tolist()
    return {
        "q": points[0],
        "k": points[1],
        "negatives": points[2 : 2 + int(rng.integers(4))],
        "loss": case["loss"],
        "lr": round(case["lr"], 2),
        "tau": round(case["tau"], 2),
        "steps": case["steps"],
    }


def by_autograd(case: dict[str, Any]) -> tuple[float, np.ndarray]:
    """Loss and gradient by torch, from course_lib.losses alone."""
    q = torch.tensor(case["q"], dtype=torch.float64, requires_grad=True)
    keys = torch.tensor(case["keys"], dtype=torch.float64)
    cos, dots = losses.cosine_scores(q[None], keys), losses.dot_scores(q[None], keys)
    loss = {
        "cosine": lambda: 1 - cos[0, 0],
        "cosine_squared": lambda: losses.one_minus_cosine_squared(cos[0, 0]),
        "infonce": lambda: losses.infonce(cos, tau=case["tau"], positives=[0]),
        "dot": lambda: -dots[0, 0],
        "infonce_dot": lambda: losses.infonce(dots, tau=case["tau"], positives=[0]),
    }[case["loss"]]()
    loss.backward()
    return loss.item(), q.grad.numpy()


def test_gradients_agree_with_autograd() -> None:
    rng = np.random.default_rng(0)
    for case in [random_case(rng) for _ in range(CASES)]:
        loss, gradient, _ = motion.loss_and_gradient(
            case["loss"], np.array(case["q"]), np.array(case["keys"]), case["tau"]
        )
        expected, slope = by_autograd(case)
        assert loss == pytest.approx(expected, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


EVALUATE = """(cases) => cases.map(({ q, keys, loss, lr, tau, steps }) => {
  const found = lib.lossAndGradient(loss, q, keys, tau);
  return {
    loss: found.loss, gradient: found.gradient, scores: found.scores,
    cosine: lib.cosine(q, keys[0]), cosineGradient: lib.cosineGradient(q, keys[0]), angle: lib.angleDegrees(q, keys[0]),
    trace: lib.descend({ q, keys, loss, lr, tau, steps }),
  };
})"""


def python_answer(case: dict[str, Any]) -> dict[str, Any]:
    q, keys = np.array(case["q"]), np.array(case["keys"])
    loss, gradient, scores = motion.loss_and_gradient(case["loss"], q, keys, case["tau"])
    return {
        "loss": loss,
        "gradient": gradient,
        "scores": scores,
        "cosine": geometry.cosine(q, keys[0]),
        "cosineGradient": geometry.cosine_gradient(q, keys[0]),
        "angle": geometry.angle_degrees(q, keys[0]),
        "trace": motion.descend(case["loss"], q, keys, lr=case["lr"], tau=case["tau"], steps=case["steps"]),
    }


# ==== one step as a reader meets it: words, and pages in a real browser

CosineMotion = partial(cosine_motion.CosineMotion, everything=True)

SHOWN = {"cosine_motion": {"loss": "infonce", "steps": 9}}
REFUSED = [
    ("cosine_motion", {"q": (1, 2, 3)}, "q has the point [1.0, 2.0, 3.0]; expected two finite numbers"),
    ("cosine_motion", {"k": (1, np.nan)}, "k has the point"),
    ("cosine_motion", {"negatives": [(1, 2)] * 4}, "negatives has 4 points; expected at most 3"),
]


def test_the_table_holds_what_course_lib_computes() -> None:
    rng = np.random.default_rng(3)
    for shown in (CosineMotion(**random_state(rng)) for _ in range(20)):
        here = shown.trace[-1]
        loss, gradient, _ = motion.loss_and_gradient(shown.loss, here, shown.candidates, shown.tau)
        length, cosine = geometry.norm(here), geometry.cosine(here, np.array(shown.k))
        heads, rows = shown.table()
        assert len(rows) == len(shown.trace) and len(heads) == len(rows[0])
        numbers = [words.number(length), words.number(cosine), words.fine(loss), words.fine(geometry.norm(gradient))]
        assert rows[-1][2:6] == numbers


def test_what_has_no_direction_is_said() -> None:
    zero = CosineMotion(negatives=[(1, 0), (0, 0)], loss="infonce")
    assert zero.summary().startswith("negative 2 is the zero vector.") and zero.table()[1] == []
    unused = CosineMotion(negatives=[(0, 0)], steps=2)  # 1 - cos has no negatives: none is shown, none can be moved
    assert unused.summary() == CosineMotion(steps=2).summary() and len(unused.trace) == len(unused.table()[1]) == 3
    assert CosineMotion(q=(1, 2), k=(2, 4)).summary().startswith("The gradient is zero: q rests.")
    ended = CosineMotion(q=(-1, 0), k=(1, 0), loss="dot", lr=1, steps=3)  # the first step ends at zero
    assert ended.summary().startswith("After 1 step q is the zero vector.") and len(ended.trace) == 2
    assert "run away" not in CosineMotion(loss="dot", lr=100, steps=500).summary()


def test_the_sentences_by_hand() -> None:
    """q = (3, 0), k = (0, 2): the gradient of 1 - cos is (0, -1/3), a step with lr 12 is (0, 4), and 3, 4, 5."""
    assert CosineMotion(q=(3, 0), k=(0, 2), lr=12).summary() == (
        "The next step is perpendicular to q: it starts along the circle on which q lies. It takes the length of q "
        "from 3 to 5 (+66.7 %), as Pythagoras says: √(3² + 4²). The loss is 1 − cos(q, k), now 1; cos(q, k) is 0, "
        "the learning rate 12."
    )
    said = CosineMotion(q=(3, 0), k=(-1, 0), loss="dot", lr=1, steps=1).summary()
    assert "The next step leaves at 180° to q, not at a right angle: it points inward." in said
    assert "After 1 step the length went from 3 to 2. It became shorter." in said


def test_the_strip_says_what_happens_where_q_rests_or_ends_at_zero() -> None:
    rests = cosine_motion.CosineMotion(q=(1, 2), k=(2, 4))
    assert rests.summary() == "The gradient is zero where q starts, so q rests."
    ends = cosine_motion.CosineMotion(q=(-1, 0), k=(1, 0), loss="dot", lr=1)
    assert ends.summary().endswith("1 step takes its length from 1 to 0, and 1 of them made q shorter.")
    small = cosine_motion.CosineMotion(q=(0, -2), k=(-2.4, -0.6), negatives=[(1.5, -0.8)], loss="infonce_dot", lr=0.01)
    assert "from 2 to 2," not in small.summary()  # the steps that made q shorter can be seen in the numbers


@pytest.mark.parametrize("loss", ["cosine", "dot"])
def test_the_film_strip_says_which_of_its_steps_shorten_q(loss: str) -> None:
    state = {"loss": loss, "k": (-0.6, 0.5), "lr": 0.5}
    shown = cosine_motion.CosineMotion(**state)
    lengths = geometry.norm(CosineMotion(**state, steps=5).trace)
    marks = [words.number(b) + (" shorter" if b < a else "") for a, b in itertools.pairwise(lengths)]
    assert re.findall(r">([\d.]+(?: shorter)?)</text>", shown.picture()) == marks and len(marks) == 5
    assert f"from {words.number(lengths[0])} to {words.number(lengths[-1])}" in shown.summary()
    shorter = sum("shorter" in mark for mark in marks)
    assert (f"and {shorter} of them made" if shorter else "so no step makes q shorter") in shown.summary()
    assert bool(shorter) == (loss == "dot") == ("cw-right-angle" not in shown.picture())


@pytest.mark.parametrize("state", [{}, {"loss": "infonce", "steps": 9}, {"loss": "dot", "lr": 0.2, "steps": 3}])
def test_the_same_in_python_computes_the_last_row(state: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    shown = CosineMotion(**state)
    assert run(shown.python()).state() | {"everything": True} == shown.state()
    said, after = capsys.readouterr().out.splitlines()
    row = shown.table()[1][-1]
    length, loss, size = (float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", said))
    assert [words.number(length), words.fine(loss), words.fine(size)] == [row[2], row[4], row[5]]
    assert f"to {words.number(float(after.split()[0]))} (" in shown.summary()


def test_the_python_of_an_undefined_step_makes_the_widget() -> None:
    shown = CosineMotion(q=(0, 0))
    assert run(shown.python()).state() | {"everything": True} == shown.state()


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


@pytest.mark.parametrize("name", ["q", "n1"])
def test_a_mouse_drags_the_tips(site_page: Callable[..., Any], name: str) -> None:
    page = site_page(CosineMotion(loss="infonce").static_html())
    page.locator(".cw-plane").scroll_into_view_if_needed()
    before = coordinates(page, name)
    drag(page, name, 60, -30)
    after = coordinates(page, name)
    move = np.subtract(after, before)
    assert move[0] > 0.2 and move[1] > 0.1 and move[0] == pytest.approx(2 * move[1], rel=0.1)
    moved = {name: after} if name != "n1" else {"negatives": [after]}
    settled(page, CosineMotion(loss="infonce", **moved).summary())
    assert page.evaluate("document.activeElement.dataset.handle") == name


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
    assert coordinates(page, "k") == (-2, 5)  # an emptied field shows the number again


def test_steps_go_forth_and_back(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion(loss="infonce").static_html())
    page.locator('[data-action="step"]').click()
    settled(page, CosineMotion(loss="infonce", steps=1).summary())
    page.locator('[data-action="steps"]').click()
    settled(page, CosineMotion(loss="infonce", steps=26).summary())
    last = words.number(float(geometry.norm(CosineMotion(loss="infonce", steps=26).trace[-1])))
    chart = f"Length of q over 26 steps: from 1.24 to {last}."
    assert page.locator(".cw-chart svg").get_attribute("aria-label") == chart
    page.locator('[data-action="reset"]').click()
    settled(page, CosineMotion(loss="infonce").summary())
    assert page.locator('[data-action="reset"]').is_disabled()
    for _ in range(20):
        page.locator('[data-action="steps"]').click()
    assert page.locator('[data-action="steps"]').is_disabled()
    settled(page, "After 500 steps")


def test_a_button_that_its_own_press_turns_off_hands_the_focus_to_one_beside_it(
    site_page: Callable[..., Any],
) -> None:
    page = site_page(CosineMotion(loss="infonce_dot", steps=1).static_html())
    for off, presses, beside in [("reset", 1, "step"), ("add-negative", 2, "drop-negative")]:
        page.locator(f'[data-action="{off}"]').focus()
        for _ in range(presses):
            page.keyboard.press("Enter")
        page.locator(f'[data-action="{beside}"]:focus').wait_for()
        assert page.locator(f'[data-action="{off}"]').is_disabled()


def test_moving_q_after_steps_starts_anew(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion(steps=5).static_html())
    now = CosineMotion(steps=5).trace[-1]
    page.locator('[data-handle="q"]').focus()
    page.keyboard.press("ArrowLeft")
    assert coordinates(page, "q") == pytest.approx(np.round(now - [0.1, 0], 2))
    page.wait_for_function("!document.querySelector('.cw-summary').textContent.includes('After')")
    assert told(page) == CosineMotion(q=coordinates(page, "q")).summary()


def test_negatives_come_and_go(site_page: Callable[..., Any]) -> None:
    page = site_page(CosineMotion().static_html())
    assert page.locator('input[name="tau"]').is_hidden() and page.locator('[data-action="add-negative"]').is_hidden()
    page.locator('select[name="loss"]').select_option("infonce_dot")
    page.locator('[data-action="add-negative"]').click()
    page.locator('[data-action="add-negative"]').click()
    assert page.locator('[data-action="add-negative"]').is_disabled()
    assert page.locator("[data-handle]").count() == 5
    settled(page, CosineMotion(loss="infonce_dot", negatives=[(1.5, -0.8), (-1.4, 0.7), (-0.6, -1.5)]).summary())
    for _ in range(3):
        page.locator('[data-action="drop-negative"]').click()
    assert page.locator("[data-handle]").count() == 2 and page.locator('[data-action="drop-negative"]').is_disabled()
    settled(page, CosineMotion(loss="infonce_dot", negatives=[]).summary())


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


SCRIPTS = [
    Script(
        "motion_math",
        EVALUATE,
        cases=lambda: [random_case(rng) for rng in [np.random.default_rng(2)] for _ in range(CASES)],
        off=lambda case, answer: differences(python_answer(case), answer),
        given=lambda case: case,
        wrong=("scale(add(target, unit, -dot(unit, target)), 1 / norm(q))", "scale(target, 1 / norm(q))"),
    ),
]
