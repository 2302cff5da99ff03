"""The scrubber of the effective rate: what is stored is what training gives, and what is shown is what is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import words

from course_lib import norms
from course_lib.experiments.p0 import popularity as p0_popularity
from course_lib.lessons.popularity_norm_coupling import effective_rate, films, make_effective_rate
from course_lib.lessons.popularity_norm_coupling.effective_rate import EffectiveRate
from tests.widget_pages import run, settled, table_rows

STORED = json.loads(effective_rate.STORED.read_text(encoding="utf-8"))
RATES = STORED["rates"]
opened = partial(EffectiveRate, everything=True)
HIGH = RATES[-1]  # the training with the fewest steps


def stored(rate: float) -> dict[str, Any]:
    found: dict[str, Any] = STORED["models"][RATES.index(rate)]
    return found


# ---- what is stored


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """The model of the highest rate, trained here."""
    return make_effective_rate.data(rates=[HIGH])


def test_the_stored_model_is_the_one_that_training_gives(made: dict[str, Any]) -> None:
    ours, theirs = made["models"][0], stored(HIGH)
    np.testing.assert_allclose(ours["lengths"], theirs["lengths"], rtol=0.02)
    np.testing.assert_allclose(ours["law"], theirs["law"], rtol=0.02)
    for name in ("count", "ndcg"):
        np.testing.assert_allclose([*ours[name].values()], [*theirs[name].values()], rtol=0.03, atol=2e-3)
    assert (ours["slope"], ours["median"]) == pytest.approx((theirs["slope"], theirs["median"]), rel=0.03)
    for name, lists in ours["lists"].items():
        for mine, other in zip(lists, theirs["lists"][name], strict=True):
            titles = {made["titles"][i] for i in mine}, {STORED["titles"][i] for i in other}
            assert len(titles[0] & titles[1]) >= 8
    for name in ("time", "named", "shown", "users", "popular"):
        assert made[name] == STORED[name]


def test_all_rates_learn_for_the_same_time_and_the_file_is_small() -> None:
    assert list(make_effective_rate.RATES) == RATES and effective_rate.STORED.stat().st_size < 16_000
    assert all(films.steps_at(rate) * rate == STORED["time"] for rate in RATES)


def test_the_pairs_are_those_of_the_first_training_of_the_page() -> None:
    for ours, theirs in zip(films.split(), p0_popularity.load_split("movietweetings-5core", 0), strict=True):
        assert ours.shape == theirs.shape
        assert (ours.users == theirs.users).all() and (ours.items == theirs.items).all()


def test_the_line_is_the_quartic_law(made: dict[str, Any]) -> None:
    """From the line the mean pull can be read off: it is that of the training."""
    train, _ = films.split()
    tables, growth = films.at_rate(train, HIGH)
    h = np.sqrt(growth.driven.sum() / HIGH**2 / growth.updates.sum())
    counts = np.geomspace(train.col_counts.min(), train.col_counts.max(), len(made["models"][0]["law"]))
    updates = films.steps_at(HIGH) * norms.update_probability(counts / len(train), films.BATCH)
    expected = (films.START**4 + 2 * HIGH**2 * h**2 * updates) ** 0.25
    np.testing.assert_allclose(100 * expected, made["models"][0]["law"], atol=0.51)
    np.testing.assert_allclose(growth.predicted(), tables.right.weight.detach().norm(dim=1), rtol=1e-4)


def test_what_the_page_asks_for_is_there_to_see() -> None:
    """With the rate the vectors of popular films grow, and the lists by dot product fill with popular films."""
    top = [stored(rate)["lengths"][0] for rate in RATES]
    slopes = [stored(rate)["slope"] for rate in RATES]
    dot, cosine = ([stored(rate)["count"][kind] for rate in RATES] for kind in ("dot", "cosine"))
    assert top == sorted(top) and top[-1] > 4 * top[0] and slopes[0] < 0.15 and slopes[RATES.index(10)] > 0.25
    assert dot == sorted(dot) and dot[-1] - dot[0] > 5 * (max(cosine) - min(cosine))


# ---- what is shown


def test_the_words_hold_the_stored_numbers() -> None:
    for rate in (RATES[0], 10.0, HIGH):
        one = stored(rate)
        story = EffectiveRate(rate, person=2, everything=True).summary()
        assert f"ends with length {words.number(one['lengths'][0] / 100)}, " in story
        counts = [words.number(round(one["count"][kind])) for kind in ("dot", "cosine")]
        assert f"people the means are {counts[0]} and {counts[1]}; " in story


@pytest.mark.parametrize("index", ["dot", "cosine"])
def test_the_list_holds_titles_and_their_pairs_and_the_point_both_means(index: str) -> None:
    train, _ = films.split()
    pairs = dict(zip(make_effective_rate.film_names(train), train.col_counts, strict=True))
    shown = EffectiveRate(index=index)
    means = {}
    for kind in ("dot", "cosine"):
        titles = [STORED["titles"][film] for film in stored(10.0)["lists"][kind][0]]
        means[kind] = round(np.mean([pairs[title] for title in titles]))
        for title in titles if kind == index else ():
            assert f">{title.replace('&', '&amp;')}</text>" in shown.picture()
            assert re.search(rf">{pairs[title]}(?: ✓ hidden film)?</text>", shown.picture())
    assert f">{means[index]}</text>" in shown.picture()
    assert f"liked by {means['dot']} people on average, and by cosine by {means['cosine']}." in shown.summary()


def test_the_same_in_python_computes_the_row_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    one = EffectiveRate(HIGH, person=3)
    assert run(one.python()).state() == one.state()
    top, median, slope, dot, cosine = (
        float(text) for line in capsys.readouterr().out.splitlines() for text in line.split() if text[0].isdigit()
    )
    row = [float(cell) for cell in one.table()[1][-1]]
    assert row[:6] == pytest.approx([HIGH, top, median, slope, dot, cosine], rel=0.03)


def test_the_page_shows_what_paper_shows_and_the_slider_moves_the_list(site_page: Callable[..., Any]) -> None:
    page = site_page(opened().static_html())
    assert table_rows(page) == opened().table()[1]
    ten = page.locator(".cw-hero-picture")
    before = ten.inner_html()
    slider = page.locator('input[name="rate"]')
    slider.focus()
    page.keyboard.press("End")
    settled(page, opened(HIGH).summary())
    assert ten.inner_html() != before and slider.get_attribute("aria-valuetext") == "50"
    by_dot = ten.inner_html()
    page.get_by_label("cosine", exact=True).check()
    page.wait_for_function("(was) => document.querySelector('.cw-hero-picture').innerHTML !== was", arg=by_dot)
    page.get_by_label("3", exact=True).check()
    settled(page, opened(HIGH, person=3).summary())
    for name, rate in (("low", RATES[0]), ("chapter", 10.0), ("high", HIGH)):
        page.locator(f'[data-preset="{name}"]').click()
        settled(page, opened(rate, person=3).summary())
        assert page.locator('[aria-pressed="true"]').get_attribute("data-preset") == name
