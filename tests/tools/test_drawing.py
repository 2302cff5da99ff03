"""A figure on the site is two drawings: the notebook's, and one for the width of a phone."""

from __future__ import annotations

import re

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tools import drawing


def two_panels() -> Figure:
    """Two panels side by side that share the axis of the heights."""
    fig, axes = plt.subplots(1, 2, figsize=(9.0, 3.5), sharey=True, layout="constrained")
    for ax in axes:
        ax.plot([0, 1], [0, 2], "o-")
        ax.set_title("A title that is too long for a phone, which has little room")
    axes[0].set_ylabel("height")
    return fig


def inches(svg: str) -> tuple[float, float]:
    """Width and height of a drawing."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found is not None
    return float(found[1]) / 72, float(found[2]) / 72


def test_panels_stand_one_above_the_other_on_a_phone() -> None:
    fig = two_panels()
    drawing.for_a_phone(fig)
    above, below = fig.axes
    assert inches(drawing.svg(fig))[0] <= drawing.PHONE + 0.2
    assert above.get_position().y0 > below.get_position().y1
    assert below.get_ylabel() == "height" and below.yaxis.get_ticklabels()[0].get_visible()


def test_the_desk_keeps_the_drawing_of_the_notebook() -> None:
    both = drawing.both(two_panels())
    wide, narrow = both.split(drawing.BEGIN)
    assert inches(wide)[0] == pytest.approx(9.0, abs=0.5)  # the titles hang over
    assert inches(narrow)[0] < 4.6 and inches(narrow)[1] > 5


def test_a_figure_is_the_same_at_every_run() -> None:
    assert drawing.both(two_panels()) == drawing.both(two_panels())


def test_words_are_in_the_pages_face() -> None:
    fig, ax = plt.subplots()
    ax.set_title("α ≤ ✕", weight="bold")
    ax.set_xlabel(r"$\hat q$, $\mathcal{O}(n)$")
    drawn = drawing.svg(fig)
    assert "CourseSans-Regular" in drawn and "CourseSans-Bold" in drawn and "STIXGeneral-Italic" in drawn
    assert len(set(re.findall(r'id="(DejaVuSans[^"]*)"', drawn))) == 1  # the cross


def test_a_crowd_of_points_is_a_picture_inside_the_drawing() -> None:
    fig, ax = plt.subplots()
    ax.scatter(range(5000), range(5000))
    assert "data:image/png" in drawing.both(fig) and len(drawing.both(fig)) < 300_000


def test_a_legend_that_goes_below_keeps_the_marks_of_error_bars() -> None:
    fig, ax = plt.subplots(layout="constrained", figsize=(7, 4))
    for name, mark in (("first", "o"), ("second", "D")):
        ax.errorbar([1, 2], [1, 2], yerr=[0.1, 0.2], marker=mark, label=name)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    drawing.for_a_phone(fig)
    (legend,) = fig.legends
    drawn = [line.get_marker() for line in legend.findobj(Line2D)]
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second"] and {"o", "D"} <= set(drawn)


def test_a_legend_gets_fewer_columns_and_stays() -> None:
    fig, ax = plt.subplots(figsize=(8, 3))
    for name in ("a name of some length", "another one of some length", "a third"):
        ax.plot([0, 1], label=name)
    legend = ax.legend(ncols=3)
    drawing.for_a_phone(fig)
    assert [text.get_text() for text in legend.get_texts()][2] == "a third"
    assert legend.get_window_extent().width < drawing.PHONE * fig.dpi


@pytest.mark.parametrize(
    "title, lines",
    [("short", 1), ("words " * 12, 2), (r"a formula $\hat k - \cos\theta\,\hat q \; \mathrm{is} \; \perp$ and q", 1)],
)
def test_long_titles_take_two_lines_and_formulas_stay_whole(title: str, lines: int) -> None:
    assert len(drawing.broken(title).split("\n")) == lines


def test_jupyter_draws_as_ever() -> None:
    fig, _ = plt.subplots()
    assert drawing.print_figure(fig, "png")[:4] == b"\x89PNG"


@pytest.fixture(autouse=True)
def closed():
    """No figure is left open."""
    yield
    plt.close("all")
