"""The interactives on gauges: the page computes what course_lib.gauge says, and works by mouse, touch and keys."""

import ast
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import words

from course_lib import gauge, geometry
from course_lib.lessons.gauge_freedom import films as chapter
from course_lib.lessons.gauge_freedom import make_chosen_neighbours, stretched_axes
from course_lib.lessons.gauge_freedom.chosen_neighbours import STORED, THOUSANDTHS, ChosenNeighbours
from course_lib.lessons.gauge_freedom.stretched_axes import StretchedAxes
from tests.lessons.every import Script
from tests.widget_pages import Elements, differences, misfits, run, settled, told, unreadable

SHOWN = {"stretched_axes": {"sphere": "items"}}
REFUSED = [
    ("stretched_axes", {"items": [(1, 0)]}, "items has shape (1, 2); expected (n, 2) with n from 2 to 12"),
    ("stretched_axes", {"items": [(1, 0), (0, 0)]}, "expected finite rows that are not zero"),
    ("stretched_axes", {"items": "films"}, "items is 'films'; expected rows of two numbers"),
    ("stretched_axes", {"users": [(1, float("nan"))]}, "users holds"),
    ("stretched_axes", {"item_names": ["a", "a"], "selected": 0}, "expected 6 different names"),
    ("stretched_axes", {"stretch": (0, 1)}, "stretch is [0.0, 1.0]; expected two factors of size 0.05 to 20"),
    ("stretched_axes", {"selected": 6}, "selected is 6; expected 0 to 5"),
    ("chosen_neighbours", {"film": "Casablanca"}, "film is 'Casablanca'; expected one of Psycho"),
    ("chosen_neighbours", {"chosen": ["Casablanca"]}, "chosen is ['Casablanca']; expected up to 10 different films"),
    ("chosen_neighbours", {"chosen": None}, "chosen is None; expected up to 10 films"),
    ("chosen_neighbours", {"chosen": ["Drive"] * 2}, "expected up to 10 different films"),
    ("chosen_neighbours", {"width": 17}, "width is 17; expected 4 to 16"),
]

CASES = 120
MATH = "stretched_axes_math"
ROOT = math.sqrt
BOTH = {
    "items": {"a1": (ROOT(1 / 3), ROOT(2 / 3)), "a2": (ROOT(1 / 3), -ROOT(2 / 3))},
    "users": {"b1": (ROOT(2 / 3), ROOT(1 / 3)), "b2": (ROOT(2 / 3), -ROOT(1 / 3))},
    "sphere": "both",
    "stretch": (ROOT(2), ROOT(1 / 2)),
    "selected": 0,
}


def random_case(rng: np.random.Generator) -> dict[str, Any]:
    """Arguments of StretchedAxes; every third time rows whose squares are alike, for which a stretch can be
    feasible.
    """
    n, m = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    items, users = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    stretch = np.exp(rng.normal(size=2)).clip(0.1, 10) * rng.choice([1, -1], 2)
    if rng.random() < 1 / 3:
        c, e = rng.uniform(0.1, 0.9, 2)
        items = np.sqrt([c, 1 - c]) * rng.choice([1, -1], (n, 2))
        users = np.sqrt([e, 1 - e]) * rng.choice([1, -1], (m, 2))
        p = rng.choice([e / c, rng.uniform(0.1, 0.9) / c])
        stretch = np.sqrt([p, (1 - c * p) / (1 - c)]) if p < 0.99 / c else stretch
    return {
        "items": items.tolist(),
        "users": users.tolist(),
        "stretch": [float(np.clip(d, -15, 15)) for d in stretch],
        "shear": float(rng.choice([0.0, rng.uniform(-2, 2)])),
        "turn": float(rng.choice([0.0, rng.uniform(-180, 180)])),
        "sphere": str(rng.choice(stretched_axes.SPHERES)),
        "selected": int(rng.integers(n)),
    }


def cases(seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [random_case(rng) for _ in range(CASES)]


EVALUATE = """(states) => states.map((state) => {
  const found = lib.analyse(state);
  return { numbers: { items: found.items, users: found.users, newItems: found.newItems, newUsers: found.newUsers,
      matrix: found.matrix, lengths: found.lengths.map((row) => row.length),
      before: found.before, after: found.after, changed: found.changed.map(Number),
      feasible: Number(found.feasible), scoreChanges: found.scoreChanges,
      swapped: lib.swapSquares(found.items[0], found.users[0]),
      dimensions: [lib.diagonalDimension(found.items), lib.linearDimension(found.items)] },
    freedom: found.freedom };
})"""

FEASIBLE = 1e-9  # how far from 1 a length may be


def lengths(one: StretchedAxes) -> list[float]:
    """The lengths now of the rows that should have length 1."""
    held = {"free": 0, "items": 1, "both": 2}[one.sphere]
    return [float(length) for rows in one.moved[:held] for length in geometry.norm(rows)]


def feasible(one: StretchedAxes) -> bool:
    return all(abs(length - 1) <= FEASIBLE for length in lengths(one))


def neighbours(one: StretchedAxes, items: np.ndarray) -> list[int]:
    """The other items by falling cosine to the selected one."""
    return gauge.neighbours(items, len(items) - 1, queries=[one.selected])[0].tolist()


def nearest_changes(one: StretchedAxes) -> np.ndarray:
    before, after = (gauge.neighbours(items, 1)[:, 0] for items in (one.trained[0], one.moved[0]))
    return before != after


def freedom(one: StretchedAxes) -> str:
    """Which positive stretches keep the circle: "all", "family" (one parameter), "other" (one more) or "none"."""
    items, users = one.trained
    if one.sphere == "free":
        return "all"
    loose = gauge.diagonal_gauge_dimension(items) > 0
    if one.sphere == "items" or not loose:
        return "family" if loose else "none"
    if gauge.diagonal_gauge_dimension(users) == 0:
        return "none"
    if (abs(np.stack([items[0], users[0]])) < FEASIBLE).any():  # all rows on one axis: the other axis stretches freely
        return "family" if np.allclose(items[0] ** 2, users[0] ** 2, atol=FEASIBLE) else "none"
    return "none" if np.allclose(gauge.swap_squares(items[0], users[0]), 1, atol=FEASIBLE) else "other"


def python_answer(one: StretchedAxes) -> dict[str, Any]:
    (items, users), (new_items, new_users) = one.trained, one.moved
    return {
        "items": items,
        "users": users,
        "newItems": new_items,
        "newUsers": new_users,
        "matrix": one.gauge_matrix,
        "lengths": np.concatenate([geometry.norm(new_items), geometry.norm(new_users)]),
        "before": neighbours(one, items),
        "after": neighbours(one, new_items),
        "changed": nearest_changes(one),
        "feasible": float(feasible(one)),
        "scoreChanges": np.zeros(items.shape[0] * users.shape[0]),
        "swapped": gauge.swap_squares(items[0], users[0]),
        "dimensions": [gauge.diagonal_gauge_dimension(items), gauge.linear_gauge_dimension(items)],
    }


def gauge_off(one: StretchedAxes, answer: dict[str, Any]) -> bool | list[str]:
    """A stretch of 15 and its inverse lose two digits of the twelve."""
    numbers = {**answer["numbers"], "scoreChanges": np.round(answer["numbers"]["scoreChanges"], 10)}
    return answer["freedom"] != freedom(one) or differences(python_answer(one), numbers)


STAY = """(cases) => cases.map(([state, held]) => {
  const { items, users, sphere } = { ...lib.analyse(state), sphere: state.sphere };
  return lib.feasibleStretch(state.stretch, { sphere, items, users, held });
})"""


def test_staying_on_the_circle_keeps_every_length(library: Callable[..., Any]) -> None:
    shown = [StretchedAxes(**{**case, "shear": 0.0}) for case in cases(1)]
    held = [k % 2 for k in range(len(shown))]
    found = library(MATH)(STAY, [[one.state(), axis] for one, axis in zip(shown, held, strict=True)])
    for one, axis, stretch in zip(shown, held, found, strict=True):
        wanted = list(one.stretch)
        one.stretch = stretch
        assert feasible(one)
        assert np.sign(stretch).tolist() == np.sign(wanted).tolist()
        if freedom(one) == "none":
            assert np.abs(stretch).tolist() == [1, 1]
        if freedom(one) == "family" and one.sphere == "items":
            c = one.trained[0][0, axis] ** 2
            if wanted[axis] ** 2 * c < 0.98:  # the axis that the reader moves stays where he put it
                assert stretch[axis] == pytest.approx(wanted[axis])
            directions = gauge.gauge_directions(one.trained[0])
            np.testing.assert_allclose(
                np.linalg.det(np.stack([np.square(stretch) - 1, directions[:, 0]])), 0, atol=1e-9
            )
        if freedom(one) == "other":
            second = gauge.swap_squares(one.trained[0][0], one.trained[1][0])
            assert np.allclose(np.abs(stretch), 1) or np.allclose(np.abs(stretch), second)


def test_rows_on_an_axis_leave_the_other_axis_free(library: Callable[..., Any]) -> None:
    one = StretchedAxes({"a": (1, 0), "b": (-1, 0)}, {"u": (0.3, 1)}, sphere="items", stretch=(2.0, 3.0), selected=0)
    assert freedom(one) == "family" and not feasible(one)
    for axis in (0, 1):
        (stretch,) = library(MATH)(STAY, [[one.state(), axis]])
        one.stretch = stretch
        assert feasible(one) and stretch == [1, 3]


# ---- the Python object


def test_real_embeddings_can_be_given() -> None:
    rng = np.random.default_rng(0)
    one = StretchedAxes(rng.normal(size=(12, 2)), rng.normal(size=(4, 2)), item_names=[f"film {k}" for k in range(12)])
    assert one.user_names == ["user 1", "user 2", "user 3", "user 4"] and "Nearest to film 1" in one.summary()


def test_a_table_may_become_shorter_than_the_selection() -> None:
    one = StretchedAxes(selected=5)
    one.item_names, one.items = ["a", "b"], [[1.0, 0.0], [1.0, 1.0]]
    assert "Nearest to b by cosine" in one.summary() and "items[1]" in one.python()
    Elements(one.static_html())


def test_names_with_marks_are_escaped() -> None:
    one = StretchedAxes({"<b>": (1, 0), "A & B": (0, 1)}, selected=0)
    Elements(one.static_html())
    assert "<b>" not in one.static_html() and "A &amp; B" in one.static_html()


def test_the_same_in_python_computes_the_cosines_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    shown = StretchedAxes(shear=0.5, turn=30.0, selected=3)
    assert run(shown.python()).state() == shown.state()
    change, *cosines = capsys.readouterr().out.splitlines()
    assert float(change.split()[0]) < 1e-14
    rows = shown.table()[1][: len(shown.items)]
    for column, line in zip((4, 5), cosines, strict=True):
        found = ast.literal_eval(line[: line.index("]") + 1])
        assert [words.number(cosine) for cosine in found] == [row[column] for row in rows]


# ---- in the browser


def static(**arguments: Any) -> str:
    return StretchedAxes(**arguments).static_html()


PRESETS = {
    "generic": "this gauge leaves the circle. Of all stretches only the identity",
    "mirror": "as trained and now Up (0.9), Heat (0.88) and Jaws (0.44).",
    "turn": "as trained and now Up (0.9), Heat (0.88) and Jaws (0.44).",
    "family": "as trained a₂ (0); now a₂ (0.5). Items with another nearest neighbour: 0 of 2. "
    "Item rows must have length 1, and they have: this gauge is feasible. A family of stretches",
    "both": "as trained a₂ (−0.33); now a₂ (0.33). Items with another nearest neighbour: 0 of 2. "
    "Item and user rows must have length 1, and they have: this gauge is feasible. "
    "Besides the identity one other stretch keeps these rows on the circle: 1.41 and 0.71",
    "given": "as trained Up (0.9), Heat (0.88) and Jaws (0.44); now Heat (0.98)",
}


def test_presets_show_what_they_are_named_for_and_every_name_can_be_read(site_page: Callable[..., Any]) -> None:
    """Ann and Heat stood on each other in the opening state, and Psycho was cut at the left on the circle."""
    page = site_page(static())
    for preset, sentence in PRESETS.items():
        page.locator(f'[data-preset="{preset}"]').click()
        settled(page, sentence)
        pressed = page.locator('[aria-pressed="true"]').evaluate_all("chips => chips.map(chip => chip.dataset.preset)")
        assert pressed == [preset]
        assert unreadable(page) == [], preset
    assert told(page) == StretchedAxes().summary()


def test_staying_on_the_circle_follows_or_refuses(site_page: Callable[..., Any]) -> None:
    page = site_page(static())
    assert page.locator('input[name="stay"]').is_disabled()
    page.locator('[data-preset="family"]').click()
    page.locator('input[name="stay"]').check()
    assert page.locator('input[name="shear"]').is_disabled()
    page.locator('input[name="stretch_1"]').focus()
    page.keyboard.press("ArrowLeft")  # from about 1.25 to 1.1: axis 2 follows
    settled(page, "Axis 1 is stretched by 1.1, axis 2 by 0.89.")
    settled(page, "this gauge is feasible")
    page.locator('[data-preset="generic"]').click()
    page.locator('input[name="stay"]').check()
    settled(page, "Axis 1 is stretched by 1, axis 2 by 1.")
    page.locator('input[name="stretch_2"]').focus()
    page.keyboard.press("ArrowRight")
    settled(page, "Axis 1 is stretched by 1, axis 2 by 1.")
    assert page.locator('input[name="stretch_2"]').input_value() == "8"  # back at × 1: nothing else is feasible


def test_the_meter_marks_rows_off_the_circle(site_page: Callable[..., Any]) -> None:
    page = site_page(static(sphere="items"))
    meter = page.locator(".cw-meter")
    assert meter.inner_text().startswith("Not feasible: 6 of 6 rows have left the circle ✕")
    assert meter.locator(".cw-off").count() == 6 and page.get_by_text("Heat ✕", exact=True).count() == 1
    page.get_by_label("mirror axis 2").check()
    page.locator('[data-preset="mirror"]').click()
    assert page.get_by_label("mirror axis 2").is_checked()
    settled(page, "this gauge is feasible")
    assert meter.inner_text().startswith("Feasible: all 6 rows have length 1 ✓")


def test_keys_move_and_select_items(site_page: Callable[..., Any]) -> None:
    page = site_page(static())
    heat = page.locator('[data-handle="0"]')
    heat.focus()
    settled(page, "Nearest to Heat")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowLeft")
    films = {**stretched_axes.FILMS, "Heat": (1.19, 0.2)}
    settled(page, StretchedAxes(films, selected=0).summary())
    assert heat.get_attribute("aria-valuetext") == "1.19, 0.2, selected"
    assert page.evaluate("document.activeElement.dataset.handle") == "0"


def test_on_the_circle_keys_slide_along_it(site_page: Callable[..., Any]) -> None:
    page = site_page(static(sphere="items", stretch=(1, 1), selected=0))
    page.locator('[data-handle="0"]').focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    x, y = (float(part) for part in page.locator('[data-handle="0"]').get_attribute("aria-valuetext").split(", ")[:2])
    assert math.hypot(x, y) == pytest.approx(1, abs=0.01) and y > 0.3


def test_twelve_long_names_fit_every_width(site_page: Callable[..., Any]) -> None:
    items = {f"a rather long title {k}": (math.cos(5 * k), math.sin(7 * k)) for k in range(12)}
    page = site_page(static(items=items, sphere="both"), width=320)
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        # a reader's own long names may be cut or cover each other; the sentence and the sliders name them, too
        wrong = [found for found in misfits(page, width) if " covers " not in found and not found.startswith("cut: ")]
        assert wrong == [], width


# ==== the neighbours of a reader's choice: the page builds the gauge of `gauge_for_neighbours`, or refuses as it does

CHOSEN_MATH = "chosen_neighbours_math"
FIRST = "Fast & Furious 6"
TITLES = ChosenNeighbours().model["titles"]
EVALUATE_CHOSEN = """([people, films, asked]) => {
  const gauge = lib.gaugeForNeighbours(films, asked);
  if (gauge.refusal) return gauge;
  const found = lib.analyse({ people, films }, asked);
  const { after, nearestAfter: order } = found;
  return { people: people.map(gauge.user), films: films.map(gauge.item), after, order };
}"""
AS_LISTS = "(asked) => JSON.parse(JSON.stringify(run(asked), (_, x) => x instanceof Float64Array ? Array.from(x) : x))"


def opened(*chosen: Any, **state: Any) -> ChosenNeighbours:
    """With everything: all controls, and all words."""
    return ChosenNeighbours(*chosen, everything=True, **state)


def shown(count: int, seed: int = 0, **state: Any) -> ChosenNeighbours:
    """The film of the page and `count` others drawn at random."""
    others = [title for title in TITLES if title != FIRST]
    return opened(FIRST, np.random.default_rng(seed).permutation(others)[:count].tolist(), **state)


def on_the_page(
    page: Callable[..., Any], people: np.ndarray, films: np.ndarray, rows: tuple[int, list[int]], *, stretch: float
) -> dict[str, Any]:
    asked = {"query": rows[0], "chosen": rows[1], "stretch": stretch}
    evaluate = f"(given) => (({AS_LISTS.replace('run', f'({EVALUATE_CHOSEN})')}))(given)"
    return page(evaluate, [people.tolist(), films.tolist(), asked])


# ---- the JavaScript computes what course_lib computes


def test_the_page_builds_the_gauge_of_the_library(library: Callable[..., Any]) -> None:
    page = library(CHOSEN_MATH)
    for count, stretch in [(1, 3.0), (2, 1.0), (6, 100.0), (10, 3.0), (14, 100.0)]:
        one = shown(min(count, 10), seed=count)
        people, films = one.tables
        rows = (one.rows[0], np.random.default_rng(count).permutation(one.rows[0])[:count].tolist())
        answer = on_the_page(page, people, films, rows, stretch=stretch)
        R = gauge.gauge_for_neighbours(films, *rows, stretch=stretch)
        new_people, new_films = gauge.apply_linear_gauge(people, films, R)
        after = geometry.cosine(new_films[rows[0]], new_films)
        for name, ours in (("people", new_people), ("films", new_films), ("after", after)):
            np.testing.assert_allclose(answer[name], ours, atol=1e-8 * np.abs(ours).max())  # the inverse costs digits
        assert answer["order"] == gauge.neighbours(new_films, len(films) - 1, queries=[rows[0]])[0].tolist()
        scores = np.array(answer["people"]) @ np.array(answer["films"]).T
        np.testing.assert_allclose(scores, people @ films.T, atol=1e-8)


@pytest.mark.parametrize("width", [4, 8, 16])
def test_the_page_refuses_what_the_library_refuses(library: Callable[..., Any], width: int) -> None:
    """More films than there are directions; and a film that is a mixture of two others."""
    one, page = shown(0, width=width), library(CHOSEN_MATH)
    people, films = one.tables
    for count in {1, width - 2, width - 1, 15}:
        chosen = list(range(count))
        answer = on_the_page(page, people, films, (20, chosen), stretch=50)
        if count + 1 < width:
            assert "refusal" not in answer
            gauge.gauge_for_neighbours(films, 20, chosen)
        else:
            assert (answer["refusal"], answer["at"]) == ("width", chosen[width - 2])
            with pytest.raises(ValueError, match="fewer than the width"):
                gauge.gauge_for_neighbours(films, 20, chosen)
    films[7] = 2 * films[20] - 0.5 * films[3]
    if width > 4:
        answer = on_the_page(page, people, films, (20, [1, 3, 7, 9]), stretch=50)
        assert answer == {"refusal": "dependent", "at": 7}
        with pytest.raises(ValueError, match="linearly dependent"):
            gauge.gauge_for_neighbours(films, 20, [1, 3, 7, 9])


# ---- the tables


def test_the_stored_tables_are_those_of_the_chapter() -> None:
    """To half a thousandth; and with 16 numbers the ten nearest are those of the chapter's model 1."""
    made, stored = make_chosen_neighbours.data(), ChosenNeighbours().model
    assert {name: made[name] for name in ("titles", "cartoons", "oldest")} == {
        name: stored[name] for name in ("titles", "cartoons", "oldest")
    }
    for name in ("films", "people"):
        assert np.abs(np.array(made[name]) - np.array(stored[name])).max() <= 1
    assert STORED.stat().st_size < 14_000
    film = TITLES.index(FIRST)
    ours = gauge.neighbours(ChosenNeighbours().tables[1], 10, queries=[film])[0]
    assert ours.tolist() == chapter.nearest(chapter.model()[1])[film].tolist()


def test_fewer_numbers_are_the_best_model_of_that_width() -> None:
    """The first axes of the table are those of the closed form of less width."""
    people, films = shown(0, width=4).tables
    values = np.array(ChosenNeighbours().model["films"]) / THOUSANDTHS
    weights = (chapter.model()[1] ** 2).sum(0)[::-1]
    assert (np.diff(weights) < 0).all() and (films == values[:, :4]).all() and people.shape == (12, 4)


# ---- the words


def test_any_ten_films_become_the_nearest() -> None:
    for seed in range(3):
        story = shown(10, seed).summary()
        assert f"the 10 films nearest to {FIRST} are those that you chose." in story
        [score] = re.findall(r"prediction: (\d) · 10⁻([^\s.]+)\. 0 of 1,776 predictions changed", story)
        assert "".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(digit)) for digit in score[1]) >= "10"


def test_a_weak_stretch_and_a_narrow_model_say_what_fails() -> None:
    assert "Stretch more." in shown(10, stretch=1.0).summary()
    narrow = opened(chosen=TITLES[:10], width=8)
    assert "room for 6 neighbours, and you chose 10: there is no room for Forrest Gump." in narrow.summary()
    assert {row[4] for row in narrow.table()[1]} == {"none"}
    assert "Choose other films from the list" in shown(0).summary()


def test_one_film_is_spoken_of_as_one() -> None:
    near, far = (opened(chosen=["Drive"], stretch=stretch).summary() for stretch in (100.0, 1.0))
    assert f"the film nearest to {FIRST} is the one that you chose. Your film has a cosine of 1.000" in near
    assert far.startswith(f"Your film is not the nearest to {FIRST}: with a stretch of 1")
    assert "As trained, your film was not among the ten nearest." in far


def test_a_cosine_that_rounds_to_zero_has_no_sign() -> None:
    row = next(row for row in opened("Gladiator", ["Life of Pi"]).table()[1] if row[0] == "Life of Pi")
    _, films = opened().tables
    assert -0.0005 < geometry.cosine(*(films[TITLES.index(title)] for title in ("Gladiator", "Life of Pi"))) < 0
    assert row[2] == "0.000"


@pytest.mark.parametrize(
    "state", [{}, {"stretch": 10.0, "width": 12}, {"chosen": TITLES[:10], "width": 8}, {"chosen": []}]
)
def test_the_same_in_python_computes_the_table(state: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    one = opened(**state)
    assert run(one.python()).state() == one.state() | {"everything": False}
    first, *lines = capsys.readouterr().out.splitlines()
    if state.get("width") == 8:
        assert "11 rows; expected different ones, fewer than the width 8" in first
        return
    assert float(first.split()[0]) < 1e-10
    said = {row[5]: (row[4].replace("−", "-"), row[0]) for row in one.table()[1]}
    assert [tuple(line.split(" ", 1)) for line in lines] == [said[str(place)] for place in range(1, 11)]


# ---- in the browser


def test_films_are_chosen_by_keyboard_alone(site_page: Callable[..., Any]) -> None:
    page = site_page(opened(chosen=[]).static_html())
    find, films = page.locator('input[name="find"]'), page.get_by_role("listbox", name="Films to choose")
    find.focus()
    page.keyboard.type("despic")
    assert films.get_by_role("option").all_inner_texts() == ["Despicable Me", "Despicable Me 2"]
    page.keyboard.press("Enter")
    settled(page, opened(chosen=["Despicable Me"]).summary())
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    settled(page, opened(chosen=["Despicable Me", "Despicable Me 2"]).summary())
    assert films.get_attribute("aria-activedescendant") == films.get_by_role("option").nth(1).get_attribute("id")
    page.keyboard.press("Space")
    settled(page, opened(chosen=["Despicable Me"]).summary())
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    settled(page, "Choose other films")


def test_three_films_are_chosen_in_the_hero_and_no_film_twice(site_page: Callable[..., Any]) -> None:
    page = site_page(ChosenNeighbours().static_html())
    assert ChosenNeighbours().summary().endswith("are those that you chose. 0 of 1,776 predictions changed.")
    first, second, third = page.locator(".cw-hero-controls select").all()
    for taken in (FIRST, "Monsters, Inc.", "Before Sunrise"):
        assert first.locator(f'option[value="{taken}"]').is_disabled()
    first.select_option("The Godfather")
    settled(page, ChosenNeighbours(FIRST, ["The Godfather", "Monsters, Inc.", "Before Sunrise"]).summary())
    second.select_option("")
    assert [one.input_value() for one in (first, second, third)] == ["The Godfather", "Before Sunrise", ""]
    third.select_option("Drive")
    settled(page, ChosenNeighbours(FIRST, ["The Godfather", "Before Sunrise", "Drive"]).summary())
    names = page.locator(".cw-hero-picture text").all_text_contents()
    assert sum(name.startswith(("The Godfather", "Before Sunrise", "Drive")) for name in names) == 6
    assert {"0 of 1,776", "predicted scores changed"} <= {*names}


def test_films_are_chosen_by_touch_and_no_more_than_ten(site_page: Callable[..., Any]) -> None:
    page = site_page(opened(chosen=TITLES[:9]).static_html(), width=360, has_touch=True)
    options = page.locator(".cw-pick")
    options.nth(9).tap()
    settled(page, opened(chosen=TITLES[:10]).summary())
    options.nth(10).tap(force=True)  # disabled
    assert page.locator('.cw-pick[aria-selected="true"]').all_inner_texts() == TITLES[:10]
    assert page.locator('.cw-pick[aria-disabled="true"]').count() == len(TITLES) - 10
    page.get_by_role("button", name="Ten at random").tap()
    settled(page, "the 10 films nearest to Fast & Furious 6 are those that you chose")


def test_accents_need_not_be_typed_and_another_film_can_be_taken(site_page: Callable[..., Any]) -> None:
    page = site_page(opened(chosen=[]).static_html())
    page.locator('input[name="find"]').fill("MISERABLES")
    page.keyboard.press("Enter")
    page.locator('select[name="film"]').select_option("The Godfather")
    settled(page, opened("The Godfather", ["Les Misérables"]).summary())
    page.locator('select[name="film"]').select_option("Les Misérables")  # no film is its own neighbour
    settled(page, "As trained, the films nearest to Les Misérables are")


def test_a_chosen_film_that_is_taken_as_the_film_leaves_room_for_another(site_page: Callable[..., Any]) -> None:
    page = site_page(opened(chosen=TITLES[:10]).static_html())
    page.locator('select[name="film"]').select_option(TITLES[0])
    settled(page, opened(TITLES[0], TITLES[1:10]).summary())
    page.locator(".cw-pick").nth(10).click()
    settled(page, opened(TITLES[0], TITLES[1:11]).summary())


SCRIPTS = [
    Script(
        MATH,
        EVALUATE,
        cases=lambda: [StretchedAxes(**case) for case in cases()] + [StretchedAxes(**BOTH)],
        off=gauge_off,
        wrong=("[-b / determinant, a / determinant]", "[b / determinant, a / determinant]"),
    ),
]
