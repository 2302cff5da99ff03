"""The interactive on all data sets: its numbers are the stored results, and those of the films of the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import words

from course_lib import popularity
from course_lib.lessons.popularity_direction import every_axis, films, make_every_axis
from course_lib.lessons.popularity_direction.every_axis import EveryAxis
from tests.widget_pages import settled

STORED = json.loads(every_axis.STORED.read_text(encoding="utf-8"))["sets"]


def test_what_is_shown_of_a_data_set_are_its_stored_results() -> None:
    """Whoever makes P1-X2 or P1-F1 anew runs make_every_axis as well."""
    expected = make_every_axis.rounded(make_every_axis.of_all_stored())
    assert STORED[1:] == expected
    assert [one["name"] for one in STORED[1:5]] == ["MovieLens-1M", "Gowalla", "CiteULike", "Last.fm"]


def test_the_axes_of_the_films_are_those_of_the_data() -> None:
    train, of_films = films.train(), STORED[0]
    for law in ("RecBole", "LightFM"):
        rule = popularity.LIBRARY_LAWS[law]
        axis = films.first_axis(train, rule)
        side = (popularity.pull_matrix(train.labels(), rule) @ axis > 0).mean()
        assert of_films["first"][law] == [pytest.approx(popularity.pearson(axis, train.col_counts), abs=1e-4)]
        assert of_films["side"][law] == [pytest.approx(max(side, 1 - side), abs=1e-4)]
    untrained = [films.crossed(films.normal_tables(seed)[1]) for seed in range(3)]
    np.testing.assert_allclose(of_films["untrained"], untrained, atol=1e-4)
    assert len(of_films["trained"]["RecBole"]) == 3


def test_a_number_that_is_not_stored_is_named() -> None:
    shown = EveryAxis(show="data")
    rows = {row[0]: row[1:] for row in shown.table()[1]}
    assert rows["Gowalla"][1] == "not measured" and rows["Last.fm"][1] != "not measured"
    assert "−0.02 on Last.fm; not measured on Gowalla and CiteULike." in shown.summary()
    assert "Correlation r after training: not measured." in EveryAxis(law="Spotlight", place=2).summary()
    spotlight = {row[0]: row[1:] for row in EveryAxis(law="Spotlight").table()[1]}
    assert spotlight["MovieLens-1M"][0] == "not measured" and spotlight["MovieLens-1M"][2] == "0.99"


def test_the_axis_is_there_before_training_on_some_data_sets_only() -> None:
    """The point of the picture: counted from the data, without a model."""
    first = {one["name"]: np.mean(one["first"]["RecBole"]) for one in STORED if one["first"]}
    after = {one["name"]: np.mean(one["trained"]["RecBole"]) for one in STORED if one["first"]}
    assert min(first["MovieLens-1M"], first["films of this page"]) > 0.9 > after["MovieLens-1M"] > 0.8
    assert max(first["CiteULike"], first["Last.fm"]) < 0.3 < after["CiteULike"] and after["Last.fm"] > 0.5
    text = EveryAxis(show="data").summary()
    assert "without a model: " in text and "0.99 on MovieLens-1M, 0.66 on Gowalla" in text
    assert "without a model" not in EveryAxis(show="before").summary()


def test_the_same_in_python_computes_the_numbers_of_the_table() -> None:
    for law in ("RecBole", "LightGCN"):
        shown = EveryAxis(law=law, show="data")
        names: dict[str, Any] = {}
        exec(shown.python(), names)
        assert names["shown"].state() == shown.state()
        rows = {row[0]: row[3] for row in shown.table()[1] if row[3] != "not measured"}
        assert rows == {name: words.number(value) for name, value in names["r"].items()}


@pytest.mark.seconds
def test_the_marks_are_revealed_by_keyboard(site_page: Callable[..., Any]) -> None:
    page = site_page(EveryAxis().static_html())
    marks = page.locator(".cw-view-area svg[role=img] .cw-item-head")
    assert marks.count() == 0
    page.locator('input[value="after"]').focus()
    page.keyboard.press("ArrowDown")
    settled(page, EveryAxis(show="before").summary())
    page.keyboard.press("ArrowDown")
    settled(page, EveryAxis(show="data").summary())
    assert marks.count() == 1 + 4 * 3
    page.locator('select[name="law"]').select_option("LightFM")
    settled(page, EveryAxis(law="LightFM", show="data").summary())
    page.locator('select[name="law"]').select_option("RecBole")
    page.locator('input[name="place"]').focus()
    settled(page, "Looked at: MovieLens-1M, where 99.8 % of the people are on one side of the first axis")
    page.keyboard.press("End")
    settled(page, "Looked at: Last.fm, where ")


def test_no_choice_leaves_the_picture_empty(site_page: Callable[..., Any]) -> None:
    """Models were trained under two of the six laws: the others can be chosen where the data are counted."""
    page = site_page(EveryAxis().static_html())
    laws = page.locator('select[name="law"]')
    off = "select => [...select.options].filter((one) => one.disabled).map((one) => one.value)"
    assert laws.evaluate(off) == ["cornac", "Spotlight", "implicit", "LightGCN"]
    assert "(grey: no model trained)" in page.locator("body").inner_text()
    page.locator('input[value="data"]').click()
    settled(page, EveryAxis(show="data").summary())
    laws.select_option("cornac")
    settled(page, EveryAxis(law="cornac", show="data").summary())
    page.locator('input[value="after"]').click()
    settled(page, EveryAxis().summary())
    assert all(set(row[1:]) != {"not measured"} for row in EveryAxis().table()[1])
