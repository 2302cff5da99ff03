"""Pictures with several marks a row: what is compared, where marks stand, and what a screen reader hears."""

import re

import pandas as pd
import pytest

from course_lib.experiments.core import pictures
from course_lib.experiments.core.pictures import WIDTH, Series
from course_lib.experiments.core.results import load_result
from course_lib.experiments.p1 import pictures as p1_pictures
from course_lib.experiments.p3 import pictures as p3_pictures
from course_lib.experiments.p4 import pictures as p4_pictures
from course_lib.experiments.scale import pictures as scale_pictures
from course_lib.papers import p1, p4

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


def runs(*lines: tuple[str, Series, float]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["name", "series", "value"]).assign(panel="MRR", x=1.0)


@pytest.mark.parametrize("name", ALL)
def test_a_picture_is_as_wide_as_a_phone_says_its_numbers_and_hides_no_mark(name: str) -> None:
    drawn = ALL[name](load_result(name, "laptop"))
    text, _, caption = drawn.partition("<figcaption")
    panels = text.split("<svg")[1:]
    assert panels and all(f'width="{WIDTH}"' in panel and "max-width:100%" in panel for panel in panels)
    across = [float(x) for x in re.findall(r'<use [^>]*x="([-\d.]+)"', text)]
    assert across and all(0 <= x <= WIDTH for x in across) and not re.search(r"nan|inf\b", text)
    assert len(said(text)) == len(panels) and all(re.search(r"\d", words) for words in said(text))
    assert not re.search(r"<g id=|<style|(fill|stroke|color): ?#", text), "reaches beyond it, or is for light pages"
    assert [word for word in re.sub(r"<[^>]*>", " ", drawn).split() if "_" in word] == [], "code where a name should be"
    assert name not in WITH_PRINTED or re.search(r"The data differ: .* \d+ times", caption)


def test_a_change_pairs_the_seeds_and_leaves_out_those_without_a_partner() -> None:
    values = {("plain", 0): 2.0, ("plain", 1): 4.0, ("new", 0): 3.0, ("new", 1): 5.0, ("new", 2): 9.0}
    cells = pd.DataFrame({"method": method, "seed": seed, "value": v} for (method, seed), v in values.items())
    assert list(pictures.relative(cells, "method", "plain", ["seed"])["value"]) == pytest.approx([50.0, 25.0])


def test_our_changes_are_those_that_the_experiment_stored() -> None:
    result = load_result("P1-T3", "laptop")
    found = p1_pictures.changed(result, "MRR@10")
    for row in found.to_dict("records"):
        where = {name: row[name] for name in ("backbone", "method", "data", "seed")}
        assert row["value"] == pytest.approx(result.mean("MRR@10 change %", **where))


def test_printed_changes_are_the_printed_percentages_but_for_roundings() -> None:
    tables = [(name, metric) for name in ("T2", "T4") for metric in ("MRR@10", "NDCG@10", "MAP@10", "AvgPop@10")]
    found = pd.concat(p1_pictures.printed(*table) for table in tables).dropna(subset="percent")
    assert len(found) == sum(len(p1.percentages(name)) for name in ("T2", "T4"))
    assert (found["value"] - found["percent"]).abs().max() < 0.05


def test_printed_numbers_are_in_their_pictures() -> None:
    four = said(p4_pictures.quality(load_result("P4-T2", "laptop")))[0]
    assert f"P4 on Wikipedia, en {p4.improvement('en', 0.001):.4g}" in four
    assert "P4 on ML-10M 2.9" in said(p4_pictures.ratings(load_result("P4-F8", "laptop")))[0]
    assert "P1 on Amazon-Book 18.49" in said(p1_pictures.gains(load_result("P1-T2", "laptop")))[0]


def test_a_row_names_what_is_in_it_and_who_differs_stands_apart() -> None:
    text = pictures.rows(runs(("MF", OURS, 1.0), ("MF", PAPER, 3.0)), "Other data.", level=0)
    assert said(text) == ["MRR. MF: ours 1, the paper 3."]
    assert "Each mark of ours is a single run. Other data.</figcaption>" in text


def test_runs_that_agree_are_no_single_run() -> None:
    text = pictures.rows(runs(("a", OURS, 100.0), ("a", OURS, 100.0), ("b", OURS, 1.0), ("b", OURS, 3.0)), "")
    assert "95 % intervals over the seeds." in text and "single run" not in text and "b: ours 2 ± 13." in text


def test_a_curve_says_its_numbers_and_a_place_has_none() -> None:
    best = runs(("", Series("best", "place"), float("nan"))).assign(x=0.5)
    text = pictures.curves(pd.concat([runs(("", OURS, 1.0), ("", OURS, 2.0)).assign(x=[0.1, 0.5]), best]), "", x="k")
    assert said(text) == ["MRR. ours 1 at 0.1, ours 2 at 0.5; best at 0.5."]


def test_a_logarithmic_axis_of_one_decade_has_more_than_one_number() -> None:
    text = pictures.rows(runs(("a", OURS, 3.0), ("b", OURS, 30.0)), "", logarithmic=True)
    assert re.findall(r"<text[^>]*>([\d.]+)</text>", text) == ["5", "10", "20"]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="look: got 'star', expected one of circle"):
        Series("ours", "star")
    with pytest.raises(ValueError, match="nothing to draw"):
        pictures.rows(runs(), "")
    with pytest.raises(ValueError, match=r"value is 0\.0; expected"):
        pictures.rows(runs(("MF", OURS, 0.0)), "", logarithmic=True)
    with pytest.raises(ValueError, match="keys: got 6, expected at most 5"):
        pictures.named("abcdef")
