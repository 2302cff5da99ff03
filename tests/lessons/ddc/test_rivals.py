"""The hero of the chapter: its marks and its words are those of the stored results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from course_lib.lessons.ddc.rivals import METHODS, STORED, TRAININGS, Rivals
from course_lib.lessons.shared.widgets.base import read
from tests.lessons.ddc import make_rivals
from tests.lessons.every import printed

PANELS = read(STORED)


def test_what_is_stored_is_what_the_results_say() -> None:
    assert make_rivals.data() == PANELS


def places(shown: Rivals) -> dict[str, tuple[float, float]]:
    """Method -> where its label stands, read from the picture."""
    found = re.findall(
        r'class="cw-disc[^"]*" style="transform:translate\(([\d.]+)px, ([\d.]+)px\)".*?<text[^>]*>(\w+)<',
        shown.picture(),
    )
    return {name: (float(x), float(y)) for x, y, name in found}


@pytest.mark.parametrize("panel", range(len(PANELS)))
def test_labels_stand_in_the_order_of_their_numbers(panel: int) -> None:
    methods = PANELS[panel]["methods"]
    for training in range(TRAININGS + 1):
        at = places(Rivals(panel=panel, training=training))
        assert set(at) == set(METHODS)
        for axis, sign in ((0, 1), (1, -1)):
            values = [
                np.mean([point[axis] for point in found["points"]])
                if training == TRAININGS
                else found["points"][training][axis]
                for found in methods.values()
            ]
            steps = np.diff([sign * at[name][axis] for name in np.array(list(methods))[np.argsort(values)]])
            assert (steps >= -0.2).all()


def test_the_words_count_the_methods_in_the_corner() -> None:
    for panel, stored in enumerate(PANELS):
        good = [name for name, found in stored["methods"].items() if all(pop < 0 < mrr for pop, mrr in found["points"])]
        words = Rivals(panel=panel).summary()
        assert f"In all three trainings {' and '.join(good) if good else 'none'} do" in words
        table = {row[0]: row for row in Rivals(panel=panel).table()[1]}
        assert [name for name, row in table.items() if row[-1] == "3 of 3"] == good
    assert any("none does" in Rivals(panel=panel).summary() for panel in range(len(PANELS)))


def test_the_same_in_python_prints_the_stored_numbers() -> None:
    shown = Rivals(training=1, panel=2)
    said, names = printed(shown.python())
    assert names["data"] == "ml-1m-10core" and len(said.splitlines()) == len(METHODS)
    popularity, accuracy = PANELS[2]["methods"]["DDC"]["points"][1]
    line = next(line for line in said.splitlines() if line.startswith("DDC"))
    assert f"{popularity:+.1f}" in line and f"{accuracy:+.1f}" in line
