"""The scoreboard: rows of a stored result become one picture and one table, and a row that is not there is named."""

import warnings
from typing import Any

import pytest

from course_lib.checking import some
from course_lib.lessons.shared import scoreboard
from course_lib.lessons.shared.scoreboard import Score
from tests.refused import refused

PLACE = {"data": "films", "protocol": "core of all", "window": 1}


def tidy(name: str, **values: float) -> list[dict[str, Any]]:
    return [{**PLACE, "row": name, "metric": key.replace("_", " "), "value": value} for key, value in values.items()]


def board() -> list[dict[str, Any]]:
    seeds = [{**PLACE, "row": "logQ", "seed": k, "metric": "recall@10", "value": v} for k, v in enumerate((0.1, 0.2))]
    ends = {"recall_low": 0.12, "recall_high": 0.18}
    return [*seeds, *tidy("logQ", films_shown=400.0, **ends), *tidy("popular", films_shown=20.0, **{"recall@10": 0.2})]


def test_a_row_is_the_mean_over_seeds_with_its_interval_and_kind() -> None:
    model, popular = scoreboard.rows(board())
    assert model.recall == pytest.approx(0.15)
    assert (model.low, model.high, model.shown, model.kind) == (0.12, 0.18, 400.0, "model")
    assert (popular.recall, popular.low, popular.kind, popular.count) == (0.2, None, "list", None)


def test_rows_are_chosen_ordered_and_called_as_the_page_does() -> None:
    named = scoreboard.rows(board(), {"popular": "the most popular films", "logQ": "chapter 0"})
    assert [one.name for one in named] == ["the most popular films", "chapter 0"]
    assert [one.name for one in scoreboard.rows(board(), ["popular"])] == ["popular"]


test_nonsense_is_named = refused(
    (lambda: scoreboard.rows(board(), ["EASE"]), "'EASE' has no 'recall@10'"),
    (lambda: scoreboard.rows(board() + [{**row, "window": 2} for row in board()]), "rows of 2 boards"),
    (lambda: Score("x", 0.1, 20.0, low=0.1), "expected both ends"),
    (lambda: Score("x", 0.1, 20.0, low=0.2, high=0.1), "high is 0.1; expected a finite number in"),
    (lambda: scoreboard.rows([{"row": "logQ"}]), "expected a tidy row"),
    (lambda: scoreboard.rows(board(), "logQ"), "names is 'logQ'; expected several names"),
    (lambda: scoreboard.picture(scoreboard.rows(board()), level="EASE"), "level is 'EASE'; expected one of logQ"),
    (lambda: scoreboard.picture([]), "scores is empty"),
)


def test_the_picture_names_every_score_inside_its_frame_and_covers_none() -> None:
    close = [Score(f"model {k}", 0.2 + 0.001 * k, 100.0 + k, 0.18, 0.23) for k in range(4)]
    scores = [*close, Score("hits", 0.22, 20, kind="list"), Score("chance", 0.01, 680.0, kind="chance")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fig, ax = scoreboard.picture(scores, level="hits")
        fig.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert sorted(text.get_text() for text in ax.texts) == sorted(one.name for one in scores)
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    assert all(ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 for box in some(boxes))


def test_the_table_shows_a_dash_where_there_is_no_interval() -> None:
    shown = repr(scoreboard.table(scoreboard.rows(board()), "What is found later."))
    assert "0.120 to 0.180" in shown and "–" in shown and shown.startswith("What is found later.")
