"""The marked experiments: their code runs, their reference texts have its numbers, a rubric gives the mark."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from course_lib.lessons.shared.grading import notebooks
from course_lib.lessons.shared.grading.hand_in import hand_in, replayed
from exercises.engine import chapters, plans, simulate, variants
from exercises.engine.grading import items, judge
from exercises.engine.grading.harmless import harmless_html

EXPERIMENTS = chapters.experiments()
every = pytest.mark.parametrize("name", EXPERIMENTS)
Names = dict[str, Any]


def texts(name: str) -> dict[str, str]:
    """The reference answers that a person marks."""
    cells = simulate.source(name)["cells"]
    about = {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in cells}
    return {key: "".join(cell["source"]) for key, cell in about.items() if cell["metadata"]["nbgrader"]["grade"]}


def test_a_term_of_twelve_weeks_has_all_three_after_their_chapters() -> None:
    weeks = plans.plans()["twelve-weeks"]["weeks"]
    handed = [name for about in weeks for name, _ in plans.handed_in(about) if name in EXPERIMENTS]
    assert sorted(handed) == EXPERIMENTS and len(handed) == 3


@every
def test_points_minutes_and_rubrics_add_up(name: str) -> None:
    cells, given = simulate.source(name)["cells"], simulate.points(name, by_hand=True)
    intro = "".join(cells[0]["source"])
    rows = re.findall(r"^\| \d \| .+? \| (\d) \| (\d+) \|$", intro, re.MULTILINE)
    assert list(given.values()) == [int(points) for points, _ in rows] and sum(given.values()) == 10
    assert plans.assignment_minutes(name) == sum(int(minutes) for _, minutes in rows) == 60
    assert simulate.points(name) == {} and simulate.public_checks(name).hand_in is hand_in
    for key, source in texts(name).items():
        assert sum(item.points for item in items.of_answer(source)) == given[key]


@every
def test_no_answer_cell_is_called_as_in_another_notebook(name: str) -> None:
    """A file is recognised by them."""
    own = notebooks.answer_names(notebooks.read_source(chapters.notebook_of(name)))
    for other in set(chapters.graded()) - {name}:
        assert len(own & notebooks.answer_names(notebooks.read_source(chapters.notebook_of(other)))) <= 1


def shown(numbers: list[float], digits: int) -> list[str]:
    return [f"{number:.{digits}f}" for number in numbers]


def shorter(names: Names) -> list[str]:
    found = [
        np.mean([names["share_shorter"](o, k, s) for s in range(10)]) for o, k in (("adam", "cosine"), ("sgd", "dot"))
    ]
    assert names["share_shorter"]("momentum", "cosine", 0) == 0
    return shown([*found], 3)


def slope(names: Names) -> list[str]:
    return shown([np.mean([names["slope"](seed, even) for seed in range(5)]) for even in (False, True)], 3)


def error(names: Names) -> list[str]:
    asked = [(rate, drift) for drift in (0.03, 0.3) for rate in (0.01, 0.03, 0.1, 0.3, 1.0)]
    return shown([np.mean([names["error"](rate, drift, seed) for seed in range(5)]) for rate, drift in asked], 3)


MEASURED: dict[str, Callable[[Names], list[str]]] = {"shorter": shorter, "slope": slope, "error": error}


@pytest.mark.seconds
@every
def test_the_reference_has_the_numbers_of_its_own_code(name: str) -> None:
    (plot,) = (key for key in texts(name) if key.startswith("plot_"))
    short = plot.removeprefix("plot_")
    names = variants.functions(simulate.reference(name))
    assert [number for number in MEASURED[short](names) if number not in texts(name)[plot]] == []
    figure = names[f"draw_{short}"](range(2))
    (axes,) = figure.axes
    assert axes.get_ylabel() and axes.has_data()
    plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS[:1])
def test_it_is_graded_behind_the_walls_and_handed_in_like_all_others(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.ipynb"
    content = json.loads(simulate.content("reference", name))
    content["cells"].append({"cell_type": "code", "metadata": {}, "id": "mine", "source": "f = draw_shorter(range(2))"})
    path.write_text(json.dumps(content), encoding="utf-8")
    found = judge.judge(chapters.hand_over(name, tmp_path), path)
    assert found["checks"] == {} and found["look_at"] == []
    assert not [one for one in found["outputs"].values() if one["error"]]
    said = replayed(path.read_bytes(), name)
    assert [(title, points) for title, points, _ in said["tasks"]] == [("Task 1", 2), ("Task 2", 4), ("Task 3", 4)]


def test_a_picture_that_colab_wrote_into_a_text_is_kept_beside_it() -> None:
    """However large: a text is cut where it is long, and what stands below the plot is read."""
    data = base64.b64encode(b"\x89PNG" + bytes(150_000)).decode()
    text = f"![plot.png](data:image/png;base64,{data})\n\nThe largest difference is 0.392."
    cell = {"cell_type": "markdown", "metadata": {}, "source": text}
    (kept,) = notebooks.handed_in(json.dumps({"cells": [cell]}).encode())
    ((name, picture),) = kept.attachments.items()
    assert kept.source == f"![plot.png](attachment:{name})\n\nThe largest difference is 0.392."
    assert picture == {"image/png": data}
    assert f'src="data:image/png;base64,{data}"' in harmless_html(kept.source, kept.attachments)


@pytest.mark.parametrize(
    "text", ["![" * 50_000, "![a](data:image/png;base64," * 5_000, "![a](data:image/svg+xml;base64,QQ==)"]
)
def test_what_is_no_picture_stays_a_text(text: str) -> None:
    cell = {"cell_type": "markdown", "metadata": {}, "source": text}
    (kept,) = notebooks.handed_in(json.dumps({"cells": [cell]}).encode())
    assert kept.source == text[: notebooks.LONGEST_SOURCE] and kept.attachments == {}
