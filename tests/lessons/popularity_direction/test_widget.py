"""The interactives: the page computes what course_lib computes, and shows what was trained."""

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import words

from course_lib import popularity
from course_lib.lessons.popularity_direction import films, make_cloud_to_line, make_popularity_axis, popularity_axis
from course_lib.lessons.popularity_direction.cloud_to_line import LAWS, PASSES, STORED, CloudToLine
from course_lib.lessons.popularity_direction.popularity_axis import PopularityAxis
from course_lib.lessons.shared import film_models
from course_lib.lessons.shared.widgets import tables
from course_lib.lessons.shared.widgets.base import read
from course_lib.lessons.shared.widgets.chance import uniforms
from tests.lessons.every import Script, printed
from tests.widget_pages import far_apart, settled

AXIS = {"model": "MF", "show": "embeddings", "ratio": 0.05, "shown": 240, "seed": 0, "film": 1}
SHOWN = {"popularity_axis": AXIS}
ITEMS, COUNTS = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30)
REFUSED = [
    (
        "popularity_axis",
        {"items": ITEMS, "counts": COUNTS[:5]},
        "counts has shape (5,); expected (30,), a whole number",
    ),
    ("popularity_axis", {"items": ITEMS, "counts": 0 * COUNTS}, "not all the same"),
    (
        "popularity_axis",
        {"items": ITEMS[:9], "counts": COUNTS[:9]},
        "items has shape (9, 4); expected (n, d), n from 20",
    ),
    ("popularity_axis", {"items": {"A": ITEMS * np.nan}, "counts": COUNTS}, "items['A'] holds NaN or infinity"),
    ("popularity_axis", {"items": {}, "counts": COUNTS}, "items is empty; expected at least one table"),
    ("popularity_axis", {"items": "films", "counts": COUNTS}, "items is no table of numbers"),
    ("popularity_axis", {"items": ITEMS, "counts": COUNTS, "names": ["a"]}, "names has 1 entries; expected 30"),
]
AXES = [
    AXIS,
    {**AXIS, "model": "LightGCN", "ratio": 0.3, "film": 77},
    {**AXIS, "show": "shuffled", "seed": 5, "ratio": 0.02},
    {**AXIS, "show": "random", "shown": 30, "seed": 9},
    {**AXIS, "show": "random", "ratio": 0.4, "shown": 61},
]


def axis(**changes: Any) -> PopularityAxis:
    return PopularityAxis(**{**AXIS, **changes})


# ---- PopularityAxis: the JavaScript computes what course_lib computes

LOOK_AT_AXES = """(states) => states.map((state) => {
  const found = lib.analyse(state);
  return { items: found.rows.map((row) => [...row]), counts: found.counts, head: found.head, tail: found.tail,
    direction: [...found.direction], projections: found.projections, naive: found.naive, crossed: found.crossed,
    agreement: found.agreement, shuffled_naive: found.shuffledNaive, shuffled_crossed: found.shuffledCrossed,
    chance: found.chance };
})"""


def crossed(items: np.ndarray, counts: np.ndarray, ratio: float, halves: np.ndarray) -> float:
    """Correlation across the halves of each split, on average; a half whose counts are all alike counts as 0."""
    if all(len(np.unique(counts[half == side])) > 1 for half in halves for side in (0, 1)):
        return float(np.mean([popularity.correlation_across_parts(items, counts, half, ratio) for half in halves]))
    found = []
    for half in halves:
        parts = [np.flatnonzero(half == side) for side in (0, 1)]
        axes = [popularity.popularity_direction(items[ids], counts[ids], ratio) for ids in parts]
        for ids, axis in zip(parts, axes[::-1], strict=True):
            alike = len(np.unique(counts[ids])) == 1
            found.append(0.0 if alike else popularity.pearson(items[ids] @ axis, counts[ids]))
    return float(np.mean(found))


def measured(one: PopularityAxis) -> dict[str, Any]:
    """What the page measures, by course_lib."""
    items, counts, ratio, halves = one.embeddings, one.popularity, one.ratio, one.halves
    direction = popularity.popularity_direction(items, counts, ratio)
    given = np.array(one.counts[: one.shown])
    chance = uniforms(2, 99 * one.shown).reshape(99, one.shown)
    dealt = [given[order] for order in np.argsort(chance, axis=1, kind="stable")]
    axes = [
        [popularity.popularity_direction(items[half == side], counts[half == side], ratio) for side in (0, 1)]
        for half in halves
    ]
    return {
        "items": items,
        "counts": counts,
        "head": popularity.head_items(counts, ratio),
        "tail": popularity.tail_items(counts, ratio)[::-1],  # the page keeps the tail in the order of the ranking
        "direction": direction,
        "projections": items @ direction,
        "naive": popularity.projection_correlation(items, counts, ratio),
        "crossed": crossed(items, counts, ratio, halves),
        "agreement": np.mean([one @ other for one, other in axes]),
        "shuffled_naive": [popularity.projection_correlation(items, counts, ratio) for counts in dealt],
        "shuffled_crossed": [crossed(items, counts, ratio, halves) for counts in dealt],
        "chance": popularity.double_dipping_law(counts, items.shape[1], ratio).mean,
    }


def off(one: PopularityAxis, answer: dict[str, Any]) -> list[str]:
    ours = {name: np.ravel(value) for name, value in measured(one).items()}
    return far_apart(ours, {name: np.ravel(answer[name]).tolist() for name in ours})


def test_halves_go_to_the_even_number(library: Callable[..., Any]) -> None:
    values = [0.5, 1.5, 2.5, 3.49, 3.51, 4.0, 0.05 * 30, 0.3 * 15, 0.4 * 240]
    assert library("tables")("(values) => values.map(lib.roundHalfEven)", values) == [round(value) for value in values]


def test_the_same_in_python_computes_the_numbers_of_sentences_and_table() -> None:
    for one in (axis(ratio=0.1), axis(show="shuffled", seed=3), axis(show="random", shown=60)):
        _, names = printed(one.python())
        assert names["shown"].state() == one.state()
        assert f"r = {words.number(names['r'])} along the axis computed from these items" in one.summary()
        assert f"r = {words.number(names['crossed'])} along axes computed from other items" in one.summary()
        assert f"random vectors says {words.number(names['chance'])})" in one.summary()
        first = np.argsort(-names["counts"], kind="stable")[: one.shown // 10]
        assert one.table()[1][0][2] == words.number(names["projections"][first].mean())


def test_turning_and_rounding_change_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(80, 7)) * np.linspace(3, 0.3, 7) + 1
    items, counts = places @ np.linalg.qr(rng.normal(size=(7, 7)))[0], np.round(np.exp(places[:, 0]) * 5 + 1)
    one = PopularityAxis(items, counts)
    shown = one.embeddings
    assert popularity.projection_correlation(shown, counts) == pytest.approx(
        popularity.projection_correlation(items, counts), abs=0.01
    )
    assert (np.diff(shown.std(0)) < 0).all()  # principal axes, the longest first
    np.testing.assert_allclose(shown @ shown.T, items @ items.T, atol=1.0)


# ---- PopularityAxis: the Python object


@pytest.mark.seconds
def test_the_stored_films_show_what_the_chapter_says() -> None:
    """A real axis: far above all shuffles, whoever is measured. Nothing to find:
    within what chance gives, and 0 if cross-fitted.
    """
    for model in ("MF", "LightGCN"):
        found = measured(axis(model=model))
        assert found["naive"] > 0.7 and found["crossed"] > 0.7 and found["agreement"] > 0.9
        assert found["naive"] > 2 * max(found["shuffled_naive"]) and np.mean(found["shuffled_naive"]) > 0.08
        assert abs(np.mean(found["shuffled_crossed"])) < 0.03
        assert "none reaches 0." in axis(model=model).summary()
    untrained = measured(axis(model="LightGCN, untrained"))
    assert np.mean(untrained["shuffled_naive"]) < untrained["naive"] < 0.5  # propagation alone knows of the counts
    few = measured(axis(show="random", shown=30))
    assert np.mean(few["shuffled_naive"]) > 0.3 and abs(np.mean(few["shuffled_crossed"])) < 0.15


def test_tables_are_packed_without_loss_of_more_than_half_a_unit() -> None:
    table = np.random.default_rng(1).normal(size=(9, 5))
    packed = tables.pack(table)
    assert (
        abs(tables.unpack(packed) - table).max() <= packed["unit"] / 2 * 1.001
        and tables.pack(tables.unpack(packed)) == packed
    )
    assert tables.unpack(packed).shape == (9, 5)


# ---- what is stored


def test_the_stored_films_are_those_of_the_data_set() -> None:
    train, *_ = film_models.parts()
    names = film_models.film_names(train)
    stored = json.loads(popularity_axis.STORED.read_text(encoding="utf-8"))
    chosen = np.random.default_rng(0).permutation(train.n_items)[: make_popularity_axis.FILMS]
    assert stored["counts"] == train.col_counts[chosen].tolist() and stored["names"] == [names[film] for film in chosen]
    assert len(gzip.compress(json.dumps(axis().state()).encode())) < 15_000


def test_the_models_can_be_trained_again() -> None:
    """One epoch each: what comes out has the form of what is stored."""
    made, stored = make_popularity_axis.data(epochs=1), json.loads(popularity_axis.STORED.read_text(encoding="utf-8"))
    assert made.keys() == stored.keys() and made["counts"] == stored["counts"]
    assert made["items"].keys() == stored["items"].keys()


# ---- in the browser


@pytest.mark.seconds
def test_the_axis_by_keyboard_and_by_click(site_page: Callable[..., Any]) -> None:
    page = site_page(axis().static_html())
    page.locator('[data-preset="few"]').click()
    page.locator('[data-action="again"]').click()
    settled(page, axis(show="random", shown=30, seed=1).summary())
    page.locator('[data-preset="LightGCN"]').click()
    settled(page, axis(model="LightGCN", seed=1).summary())
    page.locator('input[name="film"]').focus()
    page.keyboard.press("ArrowRight")
    shown = axis(model="LightGCN", film=2)
    order = np.argsort(-shown.popularity, kind="stable")
    assert shown.names[order[1]] in page.locator(".cw-inspector").inner_text()
    plot = page.locator(".cw-look").nth(1)
    box = plot.bounding_box()
    # the most popular film, far along the axis
    plot.click(position={"x": box["width"] * (300 - 13) / 300, "y": box["height"] * 13 / 250})
    said = page.locator(".cw-inspector").inner_text()
    assert said.startswith(f"{shown.names[order[0]]}: In the head. Count {shown.popularity.max()}")


# ==== the hero of the chapter: its places, correlations and shares are those of the training

KEPT = read(STORED)


@pytest.mark.seconds
def test_the_stored_training_is_that_of_the_chapter() -> None:
    found = make_cloud_to_line.run("uniform")
    np.testing.assert_allclose(found["r"], KEPT["laws"]["uniform"]["r"], atol=0.01)
    np.testing.assert_allclose(found["share"], KEPT["laws"]["uniform"]["share"], atol=0.01)
    np.testing.assert_allclose(found["places"][5], KEPT["laws"]["uniform"]["places"][5], atol=1)


def test_a_cloud_becomes_a_line_and_opens_again() -> None:
    spread = [np.array(places)[:, 1].std() for places in KEPT["laws"]["uniform"]["places"]]
    line = int(np.argmin(spread))
    assert PASSES[line] == 20 and spread[line] < 0.05 * min(spread[0], spread[-1])


def test_films_are_the_most_popular_first_and_places_are_in_standard_deviations() -> None:
    counts = KEPT["counts"]
    assert counts == sorted(counts, reverse=True) and counts[0] == films.train().col_counts.max()
    _, items = films.normal_tables(3)
    np.testing.assert_allclose(make_cloud_to_line.places(items)[:, 0].std(), 1)


@pytest.mark.parametrize("law", LAWS)
def test_the_picture_has_the_most_popular_film_where_it_is(law: str) -> None:
    for moment, places in enumerate(KEPT["laws"][law]["places"]):
        drawn = re.findall(
            r'class="cw-star"[^>]*translate\(([\d.]+)px, ([\d.]+)px\)', CloudToLine(moment=moment, law=law).picture()
        )
        x, y = map(float, drawn[-1])  # drawn last, upon the others
        along, beside = (place / make_cloud_to_line.UNIT for place in places[0])
        assert x == pytest.approx(14 + (min(along, 9.6) + 3.4) / 13 * 732, abs=0.1)
        assert y == pytest.approx(165 - min(max(beside, -3.4), 3.4) / 3.4 * 149, abs=0.1)
        assert len(drawn) == len(KEPT["counts"])


def test_the_same_in_python_prints_the_numbers_of_the_summary() -> None:
    shown = CloudToLine(moment=4)
    said, names = printed(shown.python())
    assert names["r"] == pytest.approx(KEPT["laws"]["uniform"]["r"][4], abs=0.01)
    assert f"correlation of {names['r']:.2f}" in shown.summary() and said.startswith(f"{names['r']:.2f}")


SCRIPTS = [
    Script(
        "popularity_axis_math",
        LOOK_AT_AXES,
        cases=lambda: [PopularityAxis(**state) for state in AXES],
        off=off,
        wrong=("Math.sqrt((xx - (x * x) / n) * spread)", "(xx - (x * x) / n)"),
    ),
]
