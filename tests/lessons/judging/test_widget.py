"""The interactive of the chapter: its words are those of its state, and the order turns over."""

from __future__ import annotations

import pytest

from course_lib.lessons.judging import boards
from course_lib.lessons.judging.sampled_ranks import SampledRanks
from tests.lessons.every import printed

REFUSED = [("sampled_ranks", {"hidden": "tomorrow"}, "hidden"), ("sampled_ranks", {"training": 6}, "training")]


def test_its_words_name_the_order_of_its_state() -> None:
    shown = SampledRanks()
    stored = shown.board
    at, last = stored["samples"].index(20), len(stored["samples"]) - 1
    assert shown.place == at and "compared with 20 sampled films" in shown.summary()
    hits = [row[at] for row in stored["hits"]["later"][0]]
    best = stored["rows"][hits.index(max(hits))]
    assert f"the order is {best} ({max(hits):.3f})" in shown.summary()
    shown.place = last
    assert "compared with all other films" in shown.summary()


def test_the_order_turns_over_between_twenty_films_and_all_in_every_training() -> None:
    stored = SampledRanks().board
    at, model, listed = (
        stored["samples"].index(20),
        *(stored["rows"].index(row) for row in (boards.MODEL, boards.LATELY)),
    )
    for one in stored["hits"]["later"]:
        assert one[model][at] == max(row[at] for row in one)
        assert one[model][-1] < one[listed][-1]


def test_the_table_has_a_line_for_each_number_of_films() -> None:
    heads, rows = SampledRanks().table()
    assert heads[1:] == SampledRanks().board["rows"] and rows[-1][0] == "all other films" and len(rows) == 14


@pytest.mark.seconds
def test_the_same_in_python_is_python_that_runs() -> None:
    shown = SampledRanks(hidden="random", place=6)
    said, names = printed(shown.python())
    for k, row in enumerate(shown.board["rows"]):
        assert names["found"][row][0] == pytest.approx(
            shown.board["hits"]["random"][0][k][6], abs=0.02
        )  # kernels differ
    assert said.count("\n") == 5
