"""Every figure of every lesson is drawn without warnings, is never shown, and leaves the style as it was."""

from __future__ import annotations

import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from course_lib.lessons.shared import plots as shared_plots
from tests.lessons.every import modules
from tests.lessons.shared import test_plots as shared_tests

PLOTS = {**modules("plots"), "shared": shared_plots}
FIGURES = {**modules("test_plots", of="tests.lessons"), "shared": shared_tests}


@pytest.mark.parametrize("lesson", PLOTS)
def test_every_public_figure_is_drawn(lesson: str) -> None:
    public = {name for name, thing in vars(PLOTS[lesson]).items() if hasattr(thing, "__wrapped__") and name[0] != "_"}
    assert public == set(FIGURES[lesson].FIGURES)


@pytest.mark.parametrize(("lesson", "name"), [(one, name) for one, tests in FIGURES.items() for name in tests.FIGURES])
def test_a_figure_is_returned_drawn_without_warnings_and_never_shown(
    lesson: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("a figure was shown"))
    before = dict(mpl.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that the font lacks, an empty legend, a layout that failed
        fig, ax = FIGURES[lesson].FIGURES[name]()
        fig.canvas.draw()
    assert isinstance(fig, Figure) and np.asarray(ax).ravel()[0].figure is fig
    assert to_rgb(fig.get_facecolor()) == (1, 1, 1)
    assert dict(mpl.rcParams) == before
