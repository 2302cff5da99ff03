"""Every figure of every lesson is drawn without warnings, is never shown, and leaves the style as it was."""

import re
import warnings
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from course_lib.lessons.shared import plots as shared_plots
from tests.lessons.every import modules, tables
from tools import drawing

pytestmark = pytest.mark.seconds

PLOTS = {**modules("plots"), "shared": shared_plots}
FIGURES: dict[str, dict[str, Any]] = dict(tables("FIGURES"))


@pytest.mark.parametrize("lesson", PLOTS)
def test_every_public_figure_is_drawn(lesson: str) -> None:
    public = {name for name, thing in vars(PLOTS[lesson]).items() if hasattr(thing, "__wrapped__") and name[0] != "_"}
    assert public == set(FIGURES[lesson])


@pytest.mark.parametrize(("lesson", "name"), [(one, name) for one, drawn in FIGURES.items() for name in drawn])
def test_a_figure_is_returned_drawn_without_warnings_and_never_shown(
    lesson: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("a figure was shown"))
    before = dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that the font lacks, an empty legend, a layout that failed
        fig, ax = FIGURES[lesson][name]()
        fig.canvas.draw()
    assert isinstance(fig, Figure) and np.asarray(ax).ravel()[0].figure is fig
    assert to_rgb(fig.get_facecolor()) == (1, 1, 1)
    assert dict(mpl.rcParams) == before


def least_letters(svg: str, column: int) -> float:
    """The height in px of the least words of a drawing, subscripts too, in a column of this width."""
    [width] = re.findall(r'viewBox="0 0 ([\d.]+) ', svg)
    words = re.findall(r"<!-- [^\n]* -->\s*<g [^>]*scale\(([\d.]+) [^>]*>(.*?)</g>", svg, re.DOTALL)
    within = [[1.0, *map(float, re.findall(r"<use [^>]*scale\(([\d.]+)", glyphs))] for _, glyphs in words]
    sizes = [100 * float(size) * min(inner) for (size, _), inner in zip(words, within, strict=True)]
    return min(sizes) * min(column / float(width), 96 / 72)


@pytest.mark.parametrize(("lesson", "name"), [("ddc", "two_users"), ("popularity_direction", "projections")])
def test_the_least_words_of_a_figure_are_9_px_high(lesson: str, name: str) -> None:
    """Names of films on a desk, and subscripts on a phone."""
    fig, _ = FIGURES[lesson][name]()
    assert least_letters(drawing.svg(fig), 690) >= 9
    drawing.for_a_phone(fig)
    assert least_letters(drawing.svg(fig), 328) >= 9
