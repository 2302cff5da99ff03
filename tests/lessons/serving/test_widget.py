"""The interactive of the chapter on serving: its words are those of its state, and its Python runs."""

from __future__ import annotations

import pytest

from course_lib.lessons.serving.map_of_cells import MapOfCells
from tests.lessons.every import printed

WRONG = {"space": "cosine", "power": 5, "probes": 0}
REFUSED = [("map_of_cells", {name: value}, name) for name, value in WRONG.items()]


def test_its_words_are_those_of_its_state() -> None:
    shown = MapOfCells()
    assert "5 of their ten best films are lost: Iron Man 3" in shown.summary()
    shown.power = 0
    assert "none of their ten best films is lost" in shown.summary()
    assert "Of the places of the most popular quarter 100 % are found" in shown.summary()


@pytest.mark.parametrize(("space", "power"), [("ip", 2), ("more", 4)])
def test_the_summary_gives_the_stored_numbers(space: str, power: int) -> None:
    shown = MapOfCells(space=space, power=power, probes=3)
    whole, head = shown.map["searches"][space][power]["found"][2][:2]
    assert f"For all people {100 * whole:.0f} % of" in shown.summary()
    assert f"most popular quarter {100 * head:.0f} % are found" in shown.summary()


@pytest.mark.seconds
def test_the_same_in_python_is_python_that_runs() -> None:
    shown = MapOfCells(space="more", power=4)
    said, names = printed(shown.python())
    stored = shown.map["searches"]["more"][4]["found"][1][0]
    assert names["found"] == pytest.approx(stored, abs=0.1)  # kernels differ, and k-means with them
    assert said.strip().endswith("% of the ten best")
