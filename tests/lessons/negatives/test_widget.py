"""The interactive of the chapter: its lists are those of the models, and its words those of its state."""

from __future__ import annotations

import math
from typing import Any

import pytest

from course_lib.lessons.negatives import make_ten_films
from course_lib.lessons.negatives.ten_films import DAYS, TEMPERATURES, WEIGHTS, TenFilms
from tests.lessons.every import printed

SHOWN: dict[str, dict[str, Any]] = {"ten_films": {"weight": 3}}
LENGTHS = {"temperature": len(TEMPERATURES), "weight": len(WEIGHTS), "day": len(DAYS)}
REFUSED = [("ten_films", {name: length}, name) for name, length in LENGTHS.items()]


def test_the_summary_gives_the_stored_numbers() -> None:
    shown = TenFilms(weight=3)
    recall, films = shown.films["everybody"][0][2][3]
    list_recall, _ = shown.films["list"][0]
    words = shown.summary()
    assert f"find {100 * recall:.0f} %" in words and f"show {films} films" in words
    assert f"the list of hits finds {100 * list_recall:.0f} %" in words and words.startswith("On the first day")
    shown.day = 2
    assert shown.summary().startswith("6 days later")


def test_without_hits_every_bar_is_you() -> None:
    assert "100 % is “you”" in TenFilms(weight=0).summary()
    assert "100 % is “you”" not in TenFilms(weight=1).summary()


def test_the_ten_films_are_those_with_the_highest_sum_and_none_is_known() -> None:
    shown = TenFilms(temperature=1, weight=4, day=1)
    films = shown.films
    score = [
        films["cosines"][1][k] / TEMPERATURES[1] + WEIGHTS[4] * math.log(films["hits"][1][k] + 0.05)
        for k in range(len(films["titles"]))
    ]
    wanted = sorted((k for k in range(len(score)) if k not in films["seen"][1]), key=lambda k: -score[k])[:10]
    picture = shown.picture().replace("&#39;", "'").replace("&amp;", "&")
    places = [picture.index(f">{films['titles'][k]}<") for k in wanted]
    assert places == sorted(places) and picture.count("<li class") == 10


def test_days_move_pairs_from_later_to_known() -> None:
    known, later = make_ten_films.on_day(0)
    told, rest = make_ten_films.on_day(6)
    assert len(told) > len(known) and len(rest) < len(later)
    assert told.times.max() <= make_ten_films.now(6) < rest.times.min()


def test_the_same_in_python_is_python_that_runs() -> None:
    shown = TenFilms(weight=3, day=1)
    said, names = printed(shown.python())
    recall, films = shown.films["everybody"][1][2][3]
    assert names["recall"] == pytest.approx(recall, abs=0.01) and names["shown"] == pytest.approx(films, abs=12)
    assert "films shown" in said
