"""Pictures with several marks a row: what is compared, where marks stand, and what a screen reader hears."""

from __future__ import annotations

import re

import pytest

from course_lib.experiments.core import pictures
from course_lib.experiments.core.display import WIDTH
from course_lib.experiments.core.pictures import Curve, Mark, Series
from course_lib.experiments.core.results import Result, load_result
from course_lib.experiments.p1 import pictures as p1_pictures
from course_lib.experiments.p3 import pictures as p3_pictures
from course_lib.experiments.p4 import pictures as p4_pictures
from course_lib.experiments.scale import pictures as scale_pictures
from course_lib.papers import p1, p4, select, table

OURS, PAPER = Series("ours", "circle"), Series("the paper", "bar")
ALL = {
    "P1-T2": p1_pictures.gains,
    "P1-T3": p1_pictures.rivals,
    "P1-T5": p1_pictures.rules,
    "P1-F3": p1_pictures.along_k,
    "P1-F4": p1_pictures.losses,
    "P1-X2": p1_pictures.axes,
    "P3-T5": p3_pictures.ratios,
    "P3-X1": p3_pictures.reversal,
    "P4-T2": p4_pictures.quality,
    "P4-F8": p4_pictures.ratings,
    "SCALE-X3": scale_pictures.traffic,
    "SCALE-X5": scale_pictures.predicted,
}

WITH_PRINTED = {"P1-T2", "P1-T3", "P1-T5", "P1-F3", "P1-F4", "P4-T2", "P4-F8"}


def said(text: str) -> list[str]:
    return re.findall(r'aria-label="([^"]*)"', text)


def drawn(name: str) -> str:
    return ALL[name](load_result(name, "laptop"))


@pytest.mark.parametrize("name", ALL)
def test_no_code_stands_where_a_name_should(name: str) -> None:
    words = re.sub(r"<[^>]*>", " ", drawn(name))
    assert [word for word in words.split() if "_" in word] == []


def test_a_change_pairs_the_seeds_and_leaves_out_those_without_a_partner() -> None:
    values = {("plain", 0): 2.0, ("plain", 1): 4.0, ("new", 0): 3.0, ("new", 1): 5.0, ("new", 2): 9.0}
    lines = [{"method": method, "seed": seed, "metric": "MRR", "value": v} for (method, seed), v in values.items()]
    found = pictures.relative(Result("X", "laptop", "", lines), "MRR", {"method": "new"}, {"method": "plain"})
    assert found == pytest.approx([50.0, 25.0])


def test_our_changes_are_those_that_the_experiment_stored() -> None:
    result = load_result("P1-T3", "laptop")
    for backbone in ("MF", "LightGCN"):
        for method, marks in p1_pictures.changes(result, "MRR@10", "method", None, backbone=backbone).items():
            for mark, data in zip(marks, result.distinct("data", backbone=backbone, method=method), strict=True):
                stored = result.mean("MRR@10 change %", backbone=backbone, method=method, data=data)
                assert mark.value == pytest.approx(stored)


def test_printed_changes_are_the_printed_percentages_but_for_roundings() -> None:
    cells = [(name, cell) for name in ("T2", "T4") for cell in p1.percentages(name)]
    off = [abs(p1_pictures.over_plain(name, cell).value - cell["percent"]) for name, cell in cells]
    assert len(off) == 50 and max(off) < 0.05


def test_each_printed_number_of_a_table_is_in_its_picture() -> None:
    heard = " ".join(said(drawn("P1-T2")))
    for cell in select(table("P1", "T2"), method="DDC", metric="MRR@10"):
        mark = p1_pictures.over_plain("T2", cell)
        assert f"{mark.series.name} {mark.value:.3g}" in heard
    assert f"P4 on Wikipedia, en {p4.improvement('en', 0.001):.3g}" in said(drawn("P4-T2"))[0]
    assert "P4 on ML-10M 2.9" in said(drawn("P4-F8"))[0]


def test_a_row_names_what_is_in_it_and_who_differs_stands_apart() -> None:
    text = pictures.rows({"MRR": {"MF": [Mark(OURS, 1.0), Mark(PAPER, 3.0)], "empty": []}}, "Other data.", level=0)
    assert said(text) == ["MRR. MF: ours 1, the paper 3."]
    (circle,) = re.findall(r'<path d="M([\d.]+) [\d.]+a4', text.split("<figcaption")[0])
    (bar,) = re.findall(r'<path d="M([\d.]+) [\d.]+h4v', text.split("<figcaption")[0])
    first, last = 12, WIDTH - 12
    assert float(circle) + 4 == pytest.approx(first + (last - first) / 3, abs=0.1) and float(bar) + 2 == last
    assert "Each mark of ours is a single run. Other data.</figcaption>" in text


def test_runs_that_agree_are_no_single_run() -> None:
    text = pictures.rows({"P@1": {"a": [Mark.of(OURS, [100.0, 100.0])], "b": [Mark.of(OURS, [1.0, 3.0])]}}, "")
    assert "95 % intervals over the seeds." in text and "single run" not in text


def test_a_curve_says_its_numbers_and_a_place_has_none() -> None:
    best = Series("best", "place")
    text = pictures.curves(
        {"MRR": [Curve(OURS, [0.1, 0.5], [Mark(OURS, 1.0), Mark(OURS, 2.0)]), Curve(best, [0.5])]}, "", x="k"
    )
    assert said(text) == ["MRR. ours 1 at 0.1, ours 2 at 0.5; best at 0.5."]


def test_a_logarithmic_axis_of_one_decade_has_more_than_one_number() -> None:
    text = pictures.rows({"ms": {"a": [Mark(OURS, 3.0)], "b": [Mark(OURS, 30.0)]}}, "", logarithmic=True)
    assert re.findall(r'opacity=".75">([\d.]+)</text>', text) == ["5", "10", "20"]


@pytest.mark.parametrize("half", [5.0, 10.0, 25.0])
def test_an_interval_is_whole_on_a_logarithmic_axis(half: float) -> None:
    """Where it reaches zero or below, it is cut a decade below its mark."""
    panel = {"a": [Mark(OURS, 10.0, half, 3)], "b": [Mark(OURS, 12.0, 0.0, 3)]}
    text = pictures.rows({"ms": panel}, "", logarithmic=True)
    [(left, right)] = re.findall(r'd="M([-\d.]+) [\d.]+H([-\d.]+)"', text)
    assert (float(left), float(right)) == (12, WIDTH - 12)  # it is what reaches farthest


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="look: got 'star', expected one of circle"):
        Series("ours", "star")
    with pytest.raises(ValueError, match="nothing to draw"):
        pictures.rows({"MRR": {"MF": []}}, "")
    with pytest.raises(ValueError, match=r"value is 0\.0; expected"):
        pictures.rows({"loss": {"MF": [Mark(OURS, 0.0)]}}, "", logarithmic=True)
    with pytest.raises(ValueError, match="half must be half the width of an interval, at least 0; got -1"):
        Mark(OURS, 1.0, -1.0)
    with pytest.raises(ValueError, match="keys: got 6, expected at most 5"):
        pictures.named("abcdef")


@pytest.mark.parametrize("name", ALL)
def test_a_picture_is_as_wide_as_a_phone_and_hides_no_mark(name: str) -> None:
    text, _, caption = drawn(name).partition("<figcaption")
    panels = text.split("<svg")[1:]
    assert panels and all(f'width="{WIDTH}"' in panel and "max-width:100%" in panel for panel in panels)
    across = [float(x) for x in re.findall(r'<path d="M([-\d.]+) ', text)]
    assert all(0 <= x <= WIDTH for x in across)
    assert not re.search(r"nan|inf\b", text)
    if name in WITH_PRINTED:
        assert re.search(r"The data differ: .* \d+ times", caption)
