"""The neighbours of a reader's choice: the page builds the gauge of `gauge_for_neighbours`, or refuses as it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course_lib import gauge, geometry
from course_lib.lessons.gauge_freedom import films as chapter
from course_lib.lessons.gauge_freedom import make_chosen_neighbours
from course_lib.lessons.gauge_freedom.chosen_neighbours import STORED, THOUSANDTHS, ChosenNeighbours
from tests.widget_pages import replacing, run, settled

MATH = "chosen_neighbours_math"
FIRST = "Fast & Furious 6"
TITLES = ChosenNeighbours().model["titles"]
EVALUATE = """([people, films, asked]) => {
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
    library: Callable[..., Any],
    people: np.ndarray,
    films: np.ndarray,
    rows: tuple[int, list[int]],
    *,
    stretch: float,
    source: Callable[[str], str] = lambda text: text,
) -> dict[str, Any]:
    asked = {"query": rows[0], "chosen": rows[1], "stretch": stretch}
    evaluate = f"(given) => (({AS_LISTS.replace('run', f'({EVALUATE})')}))(given)"
    return library(MATH, source)(evaluate, [people.tolist(), films.tolist(), asked])


# ---- the JavaScript computes what course_lib computes


@pytest.mark.parametrize("count", [1, 2, 6, 10, 14])
@pytest.mark.parametrize("stretch", [1.0, 3.0, 100.0])
def test_the_page_builds_the_gauge_of_the_library(library: Callable[..., Any], count: int, stretch: float) -> None:
    one = shown(min(count, 10), seed=count)
    people, films = one.tables
    rows = (one.rows[0], np.random.default_rng(count).permutation(one.rows[0])[:count].tolist())
    answer = on_the_page(library, people, films, rows, stretch=stretch)
    R = gauge.gauge_for_neighbours(films, *rows, stretch=stretch)
    new_people, new_films = gauge.apply_linear_gauge(people, films, R)
    for name, ours in (
        ("people", new_people),
        ("films", new_films),
        ("after", geometry.cosine(new_films[rows[0]], new_films)),
    ):
        np.testing.assert_allclose(answer[name], ours, atol=1e-8 * np.abs(ours).max())  # the inverse costs digits
    assert answer["order"] == gauge.neighbours(new_films, len(films) - 1, queries=[rows[0]])[0].tolist()
    np.testing.assert_allclose(np.array(answer["people"]) @ np.array(answer["films"]).T, people @ films.T, atol=1e-8)


@pytest.mark.parametrize("width", [4, 8, 16])
def test_the_page_refuses_what_the_library_refuses(library: Callable[..., Any], width: int) -> None:
    """More films than there are directions; and a film that is a mixture of two others."""
    one = shown(0, width=width)
    people, films = one.tables
    for count in range(1, 16):
        chosen = list(range(count))
        answer = on_the_page(library, people, films, (20, chosen), stretch=50)
        if count + 1 < width:
            assert "refusal" not in answer
            gauge.gauge_for_neighbours(films, 20, chosen)
        else:
            assert (answer["refusal"], answer["at"]) == ("width", chosen[width - 2])
            with pytest.raises(ValueError, match="fewer than the width"):
                gauge.gauge_for_neighbours(films, 20, chosen)
    films[7] = 2 * films[20] - 0.5 * films[3]
    if width > 4:
        answer = on_the_page(library, people, films, (20, [1, 3, 7, 9]), stretch=50)
        assert answer == {"refusal": "dependent", "at": 7}
        with pytest.raises(ValueError, match="linearly dependent"):
            gauge.gauge_for_neighbours(films, 20, [1, 3, 7, 9])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("within: 1 / stretch, beside: stretch }", "within: stretch, beside: stretch }"),
        ("(1 + stretch * mean * size)", "(stretch * mean * size)"),
        ("within: stretch, beside: 1 / stretch }", "within: stretch, beside: stretch }"),
        ("{ along: mean / size,", "{ along: mean,"),
    ],
)
def test_a_wrong_formula_would_be_found(library: Callable[..., Any], right: str, wrong: str) -> None:
    one = shown(5)
    people, films = one.tables
    answer = on_the_page(library, people, films, one.rows, stretch=2, source=replacing(right, wrong))
    R = gauge.gauge_for_neighbours(films, *one.rows, stretch=2)
    new_people, new_films = gauge.apply_linear_gauge(people, films, R)
    assert not np.allclose(answer["people"], new_people) or not np.allclose(answer["films"], new_films)


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
    for seed in range(8):
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
    assert {"0 of 1,776", "predictions changed"} <= {*names}


def test_films_are_chosen_by_touch_and_no_more_than_ten(site_page: Callable[..., Any]) -> None:
    page = site_page(opened(chosen=[]).static_html(), width=360, has_touch=True)
    options = page.locator(".cw-pick")
    for place in range(12):
        options.nth(place).tap(force=place >= 10)  # the last two are disabled
    assert page.locator('.cw-pick[aria-selected="true"]').all_inner_texts() == TITLES[:10]
    settled(page, opened(chosen=TITLES[:10]).summary())
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


def test_presets_stretch_and_width_say_what_python_says(site_page: Callable[..., Any]) -> None:
    page = site_page(opened().static_html())
    pressed = page.locator('[aria-pressed="true"]')
    for name, state in [
        ("cartoons", {"chosen": ChosenNeighbours().model["cartoons"]}),
        ("oldest", {"chosen": TITLES[:10]}),
        ("narrow", {"chosen": TITLES[:10], "width": 8}),
        ("none", {"chosen": []}),
    ]:
        page.locator(f'[data-preset="{name}"]').click()
        settled(page, opened(**state).summary())
        assert pressed.evaluate_all("chips => chips.map(chip => chip.dataset.preset)") == [name]
    page.locator('[data-preset="oldest"]').click()
    page.locator('input[name="stretch"]').focus()
    page.keyboard.press("Home")
    settled(page, opened(chosen=TITLES[:10], stretch=1.0).summary())
