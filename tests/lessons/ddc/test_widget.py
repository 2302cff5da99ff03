"""The interactive on the two scalars: the page computes what course_lib computes, and shows what was trained."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contourpy import contour_generator
from playwright.sync_api import Error as PageError

from course_lib import correction, popularity
from course_lib.data.interactions import Interactions
from course_lib.lessons.ddc import make_two_scalars, two_scalars
from course_lib.lessons.ddc.two_scalars import TwoScalars
from course_lib.lessons.shared import film_models
from tests.widget_pages import (
    SUMMARY,
    Elements,
    far_apart,
    made_in_python,
    mount_in_jupyter,
    none_numbers,
    reached_by_tab,
    replacing,
    settled,
    table_rows,
)

SCALARS = {"person": 0, "alpha": 0.0, "beta": 0.0, "shift": 0.0, "view": "ddc"}
SHOWN = {"two_scalars": SCALARS}
POINTS = [
    SCALARS,
    {**SCALARS, "person": 1, "alpha": 0.6, "beta": -0.35, "shift": 1.0},
    {**SCALARS, "person": 3, "alpha": -2.5, "beta": 4.9, "view": "served"},
    {**SCALARS, "person": 4, "alpha": 0.05, "beta": 0.75, "shift": -2.0, "view": "served"},
]


def scalars(**changes: Any) -> TwoScalars:
    return TwoScalars(**{**SCALARS, **changes})


# ---- TwoScalars: the JavaScript computes what course_lib computes

LOOK_AT_SCALARS = """(states) => states.map((state) => {
  const studied = lib.study(state);
  const found = lib.analyse(state, studied);
  const grid = lib.surface(studied.user, state.view);
  const { scores, a, b, tilt, gap } = studied.user;
  return { scores, a, b, tilt, gap, minimum: studied.minimum ?? [], best: studied.best, losses: found.losses,
    ranks: found.ranks, list: found.list, grid, levels: lib.levels(grid),
    words: lib.summary(state, found), rows: lib.rowsOf(state, found) };
})"""


def studied(one: TwoScalars) -> dict[str, Any]:
    user, point = one.user, (one.alpha, one.beta)
    return {
        "scores": user.scores,
        "a": user.a,
        "b": user.b,
        "tilt": user.tilt,
        "gap": user.gap,
        "minimum": user.optimum or (),
        "best": user.best,
        "losses": [user.loss(*point, view) for view in two_scalars.VIEWS],
        "ranks": user.ranks(*point),
        "list": user.shown(*point),
        "grid": user.surface(one.view).ravel(),
        "levels": two_scalars.levels(user.surface(one.view)),
    }


def apart(one: TwoScalars, answer: dict[str, Any]) -> list[str]:
    """Names of what differs; the minimum is found by two programs, each to about 1e-9, and may be far away."""
    ours = {name: np.ravel(value) for name, value in studied(one).items()}
    found = far_apart(
        {k: v for k, v in ours.items() if k != "minimum"}, {name: np.ravel(answer[name]).tolist() for name in ours}
    )
    minima = np.ravel(answer["minimum"])
    same = minima.size == ours["minimum"].size and np.allclose(minima, ours["minimum"], rtol=1e-6, atol=1e-6)
    return found if same else [*found, "minimum"]


@pytest.mark.parametrize("state", POINTS, ids=lambda state: f"{state['person']}-{state['view']}")
def test_the_page_finds_the_user_that_python_finds(library: Callable[..., Any], state: dict[str, Any]) -> None:
    one = TwoScalars(**state)
    (answer,) = library("two_scalars_math")(LOOK_AT_SCALARS, [one.state()])
    assert apart(one, answer) == []
    assert answer["words"] == one.summary() and answer["rows"] == one.table()[1]


def test_the_page_finds_random_users(library: Callable[..., Any]) -> None:
    """Models without any structure: minima far away, losses beyond what an exponential holds."""
    shown = [random_model(np.random.default_rng(seed), scale) for seed, scale in enumerate((0.3, 1, 3, 30))]
    for one, answer in zip(
        shown, library("two_scalars_math")(LOOK_AT_SCALARS, [one.state() for one in shown]), strict=True
    ):
        assert apart(one, answer) == []


def random_model(rng: np.random.Generator, scale: float = 1.0, **changes: Any) -> TwoScalars:
    users, items = scale * rng.normal(size=(4, 5)), rng.normal(size=(60, 5))
    labels = np.argsort(-users @ items.T + 2 * rng.normal(size=(4, 60)), axis=1)
    train, test = (
        Interactions(np.repeat(np.arange(4), k), np.ravel(part), n_users=4, n_items=60)
        for k, part in ((7, labels[:, :7]), (2, labels[:, 7:9]))
    )
    return TwoScalars(
        users,
        items,
        train,
        test,
        chosen=(0, 2),
        **{"alpha": 0.5, "beta": 0.25, "shift": float(rng.normal()), **changes},
    )


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("shift * Math.sqrt(average(along.map((value) => (value - middle) ** 2)))", "shift"),
        ("(value - middle) ** 2", "value ** 2"),
        ("scores[j] - scores[i]", "scores[i] - scores[j]"),
        ("Math.ceil(Number((WORLD.top * history.length).toFixed(9)))", "Math.floor(WORLD.top * history.length)"),
        ("1 / Math.sqrt(inner(sum, sum))", "1"),
        ("!known.has(item)", "true"),
        ("!hidden.has(item)", "!known.has(item)"),
        ("scores[item] + beta * a[item] + alpha * b[item]", "scores[item] + beta * a[item] - alpha * b[item]"),
        ("scores[item] + alpha * b[item]));", "scores[item]));"),
        ("slope[0] += (w * bj)", "slope[0] += bj"),
        ("rated.far < best.far - 1e-9", "rated.far > best.far"),
        ("1 + rivals.reduce", "rivals.reduce"),
        ("above + (rival > score), 0)", "above + (rival >= score), 0)"),
        ("least < 0 && most > 0", "most > 0"),
    ],
)
def test_a_wrong_scalar_would_be_found(library: Callable[..., Any], right: str, wrong: str) -> None:
    shown = [scalars(person=1, alpha=0.6, shift=0.5), scalars(person=3, alpha=0.5, beta=1.0)]
    try:
        answers = library("two_scalars_math", replacing(right, wrong))(LOOK_AT_SCALARS, [one.state() for one in shown])
    except PageError:  # the page itself has noticed it
        return
    assert any(apart(one, answer) for one, answer in zip(shown, answers, strict=True))


def test_isolines_are_those_of_contourpy(library: Callable[..., Any]) -> None:
    """The same points on the sides of the cells, for a smooth and for a rough surface."""
    for grid in (scalars(person=1).user.surface("ddc"), np.random.default_rng(0).normal(size=(6, 7))):
        level = float(np.quantile(grid, 0.4)) + 1e-6
        pieces = np.array(
            library("two_scalars_math")("([grid, level]) => lib.isoline(grid, level)", [grid.tolist(), level])
        )
        theirs = np.concatenate(contour_generator(z=grid).lines(level))
        ours = np.unique(pieces.reshape(-1, 2).round(9), axis=0)
        np.testing.assert_allclose(ours, np.unique(theirs.round(9), axis=0), atol=1e-8)
        assert (np.floor(pieces.min(1)) <= pieces.max(1)).all() and (
            pieces.max(1) - np.floor(pieces.min(1)) <= 1 + 1e-9
        ).all()  # within one cell


def test_the_worlds_are_the_same(library: Callable[..., Any]) -> None:
    world = library("two_scalars_math")("() => lib.WORLD")
    assert {name: tuple(ends) for name, ends in world["window"].items()} == two_scalars.WINDOW
    ours = (two_scalars.POINTS, two_scalars.RATIO, two_scalars.TOP, two_scalars.LIST)
    assert (world["points"], world["ratio"], world["top"], world["list"]) == ours


# ---- TwoScalars: the Python object


def test_moving_all_items_changes_no_ranking_of_the_model_and_the_minimum() -> None:
    """The freedom that DDC does not know: scores of one user move together, b moves by t, and the minimum goes away."""
    before = scalars(person=1).user
    for shift in (-1.0, 0.5, 2.0):
        after = scalars(person=1, shift=shift).user
        assert np.ptp(after.scores - before.scores) < 1e-12 and (after.ranks(0, 0) == before.ranks(0, 0)).all()
        assert after.loss(0, 0) == pytest.approx(before.loss(0, 0)) and np.allclose(
            after.b - before.b, shift * before.b.std()
        )
    alphas = [scalars(person=1, shift=shift).user.optimum[0] for shift in (-1.0, 0.0, 1.0)]
    assert alphas[0] > alphas[1] > 0 > alphas[2]
    assert scalars(person=0, shift=1.0).user.optimum is None and scalars(person=0).user.optimum is not None


def test_the_people_show_what_they_were_chosen_for() -> None:
    ann, ben, cleo, dan, eve = (scalars(person=k).user for k in range(5))
    assert (ann.ranks(*ann.optimum) < ann.ranks(0, 0)).all() and ann.loss(*ann.optimum, "served") > ann.loss(
        0, 0
    ) > ann.loss(*ann.optimum)
    assert (
        ben.optimum[0] > 0.3 and ben.counts[ben.shown(*ben.optimum)].mean() > 1.8 * ben.counts[ben.shown(0, 0)].mean()
    )
    assert cleo.ranks(0, 0).min() == 1 and cleo.ranks(*cleo.optimum).min() > 4
    assert dan.optimum is None and not correction.has_minimiser(dan.a[dan.history], dan.b[dan.others])
    assert dan.loss(0, 50) < dan.loss(0, 5) < dan.loss(0, 0)
    assert eve.counts[eve.shown(0, 0)].mean() < 80 and eve.counts[eve.shown(*eve.optimum)].mean() > 150


def test_the_minimum_is_one_and_the_best_point_is_best() -> None:
    for person in (0, 1, 2, 4):
        user = scalars(person=person).user
        rng = np.random.default_rng(person)
        assert all(
            user.loss(*user.optimum) <= user.loss(*(np.array(user.optimum) + step)) for step in rng.normal(size=(50, 2))
        )
        assert all(user.ranks(*user.best).min() <= user.ranks(*point).min() for point in two_scalars.grid_points())


def test_the_line_where_head_and_tail_change_alike() -> None:
    """alpha + beta <e_pref, e_pop> times the distance of the two means is what the head gains on the tail."""
    user = scalars(person=4).user
    head, tail = popularity.head_items(user.counts, 0.05), popularity.tail_items(user.counts, 0.05)
    for alpha, beta in ((0.5, 1.0), (-1.0, 2.0)):
        change = user.final(alpha, beta) - user.scores
        assert change[head].mean() - change[tail].mean() == pytest.approx(user.gap * (alpha + beta * user.tilt))


def test_bad_arguments_of_the_scalars_are_named() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(3, 4)), rng.normal(size=(30, 4))
    train = Interactions([0, 0, 1, 2], [1, 2, 3, 4], n_users=3, n_items=30)
    test = Interactions([0, 1], [5, 6], n_users=3, n_items=30)
    bad: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((), {"alpha": 99.0}, "alpha is 99.0; expected -50 to 50"),
        ((), {"shift": -6.0}, "shift is -6.0; expected -5 to 5"),
        ((), {"person": 5}, "person is 5; expected 0 to 4"),
        ((), {"view": "all"}, "view is 'all'; expected one of ddc, served"),
        ((users, items, train, None), {}, "test is None; expected Interactions of shape (3, 30)"),
        ((users[:2], items, train, test), {}, "expected Interactions of shape (2, 30)"),
        ((users[:, :2], items, train, test), {}, "users has shape (3, 2); expected (n, d)"),
        ((users, items, train, test), {"chosen": (7,)}, "chosen is [7]; expected 1 to 8 users, each from 0 to 2"),
        (
            (users, items, train, test),
            {"chosen": (2,)},
            "user 2 has 1 training and 0 test items; expected 1 to 40 and 1 to 6",
        ),
    ]
    for given, arguments, message in bad:
        with pytest.raises(ValueError, match=re.escape(message)):
            TwoScalars(*given, **arguments)
    one = TwoScalars(users, items, train, test, chosen=(0, 1), names={5: "Heat"}, person=1)
    assert "item 6" in one.summary() and "Ben has 1 items" in one.summary()
    assert repr(one) == "TwoScalars(person=1, alpha=0.0, beta=0.0, shift=0.0, view='ddc'; 2 people, 30 items)"


def test_both_reasons_for_no_minimum_are_named() -> None:
    text = scalars(person=3, shift=2.0).summary()
    assert (
        "no item of this user has a negative projection on e_pref" in text
        and "no negative has a negative projection on e_pop, so a smaller α only gains" in text
    )
    assert (
        "All items are moved by 2 standard deviations along e_pop" in text
        and "by 1 standard deviation along" in scalars(shift=1.0).summary()
    )
    negative = scalars(person=1, shift=-5.0).summary()
    assert "no negative has a positive projection on e_pop, so a larger α only gains" in negative


# ---- what is stored


def test_the_stored_films_are_those_of_the_data_set() -> None:
    train, _valid, test = film_models.parts()
    names = film_models.film_names(train)
    stored = json.loads(two_scalars.STORED.read_text(encoding="utf-8"))
    assert stored["counts"] == train.col_counts.tolist()
    for person, user in zip(stored["people"], make_two_scalars.PEOPLE, strict=True):
        assert (person["history"], person["test"]) == (train.items_of(user).tolist(), test.items_of(user).tolist())
    assert all(names[int(item)] == name for item, name in stored["names"].items())
    assert len(gzip.compress(json.dumps(scalars().state()).encode())) < 15_000


def test_the_models_can_be_trained_again() -> None:
    """One epoch: what comes out has the form of what is stored."""
    made, stored = make_two_scalars.data(epochs=1), json.loads(two_scalars.STORED.read_text(encoding="utf-8"))
    assert made.keys() == stored.keys() and made["counts"] == stored["counts"]
    assert [person.keys() for person in made["people"]] == [person.keys() for person in stored["people"]]


# ---- in the browser


def test_the_page_says_what_python_says(site_page: Callable[..., Any]) -> None:
    one, again = scalars(person=1, alpha=0.5), scalars(person=1, alpha=0.5)
    elements = Elements(one.static_html()).found
    assert json.loads(elements[0][1]["data-state"] or "") == one.state() and all("id" not in a for _, a in elements)
    assert [a["aria-label"] for t, a in elements if t == "svg" and a["role"] == "img"] == [one.summary()]
    assert one.static_html() == again.static_html() and len(one.static_html()) < 36_000
    page = site_page(one.static_html())
    assert page.locator(SUMMARY).inner_text() == one.summary()
    assert table_rows(page) == one.table()[1]
    assert made_in_python(page).state() == one.state()


NEAR = """(point) => ['alpha', 'beta'].every((name, k) =>
  Math.abs(Number(document.querySelector(`input[name=${name}]`).value) - point[k]) < 0.1)"""


def test_the_scalars_by_keyboard_click_and_drag(site_page: Callable[..., Any]) -> None:
    page = site_page(scalars().static_html())
    assert {"0", "alpha", "beta", "shift", "minimum", "best", "model", "ddc"} <= reached_by_tab(page, 12)
    page.locator('input[value="1"]').focus()
    page.keyboard.press("Space")
    settled(page, scalars(person=1).summary())
    page.locator('input[name="alpha"]').focus()
    page.keyboard.press("ArrowRight")
    settled(page, scalars(person=1, alpha=0.05).summary())
    page.locator('[data-action="minimum"]').click()
    alpha, beta = (round(value, 4) for value in scalars(person=1).user.optimum)
    settled(page, scalars(person=1, alpha=alpha, beta=beta).summary())
    page.locator('[data-action="model"]').click()
    page.locator(".cw-handle").focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowUp", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    settled(page, scalars(person=1, alpha=0.09, beta=0.2).summary())
    surface = page.locator(".cw-look")
    box = surface.bounding_box()

    def place(alpha: float, beta: float) -> tuple[float, float]:
        return box["width"] * (38 + 352 * (alpha + 3) / 6) / 400, box["height"] * (10 + 350 * (5 - beta) / 6) / 400

    surface.click(position=dict(zip("xy", place(-2, 4), strict=True)))
    page.wait_for_function(NEAR, arg=[-2, 4], timeout=5000)
    page.mouse.move(box["x"] + place(-2, 4)[0], box["y"] + place(-2, 4)[1])
    page.mouse.down()
    page.mouse.move(box["x"] + place(1, 1)[0], box["y"] + place(1, 1)[1], steps=3)
    page.mouse.up()
    page.wait_for_function(NEAR, arg=[1, 1], timeout=5000)
    page.locator('input[value="3"]').check()
    settled(page, scalars(person=3).summary())
    assert page.locator('[data-action="minimum"]').is_disabled()


def test_no_state_of_the_page_shows_a_number_that_is_none(site_page: Callable[..., Any]) -> None:
    page = site_page(random_model(np.random.default_rng(3), shift=5.0).static_html())
    ends = [(f'input[name="{name}"]', value) for name in ("shift", "alpha", "beta") for value in ("-3", "5")]
    clicks = [('input[value="served"]', ""), *ends, ('input[value="1"]', ""), ('[data-action="best"]', "")]
    assert none_numbers(page, [*ends, *clicks]) == []


def test_the_model_is_followed_told_and_left(browser: Any) -> None:
    page = browser.new_page()
    mount_in_jupyter(page, scalars()._esm, scalars().state())
    page.evaluate("model.set('beta', 1.0)")  # Python says
    settled(page, scalars(beta=1.0).summary())
    page.locator('input[name="beta"]').focus()
    page.keyboard.press("ArrowLeft")  # the reader says
    now = page.evaluate("[model.get('beta'), saved, bubbled]")
    assert now[0] < 1.0 and now[1:] == [1, 0]
    page.evaluate("close()")
    assert page.evaluate("Object.values(listeners).flat().length") == 0
    page.close()
