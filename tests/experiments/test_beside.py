"""The lists beside a table: rows that fit by data and split, and a sentence that tells the truth."""

from typing import Any

import pytest

from course_lib import experiments
from course_lib.checking import some
from course_lib.experiments.core import beside
from course_lib.experiments.core.results import Result, load_result
from course_lib.experiments.core.summary import Row

SHA = next(
    entry["sha256"] for entry in load_result("LISTS-X1", "laptop").provenance["data"] if entry["name"] == "ml-1m"
)


def made(values: dict[str, list[float]], *, metric: str = "P@5", sha: str = SHA) -> Result:
    """A result with one row for each loss and seed."""
    rows: list[Row] = [
        {"data": "ml-1m", "loss": loss, "seed": seed, "metric": metric, "value": value}
        for loss, of_seeds in values.items()
        for seed, value in enumerate(of_seeds)
    ]
    layout: Any = {"rows": ("data", "loss"), "columns": ("metric",), "digits": 2}
    return Result("P3-T6", "laptop", "Made.", rows, {}, {"data": [{"name": "ml-1m", "sha256": sha}]}, layout)


def popular(metric: str, factor: float) -> list[float]:
    found = load_result("LISTS-X1", "laptop").values(
        metric, data="ml-1m", split="random 9:1", list="most popular", seed=(0, 1, 2)
    )
    return [factor * value for value in found]


def test_the_sentence_counts_numbers_that_lie_above_the_list_in_every_run() -> None:
    bar = popular("precision@5", 100)
    above, below, between = ([value + step for value in bar] for step in (0.1, -0.1, 0.0))
    between[0] += 0.1
    [found] = beside.against(made({"one": above, "two": above, "three": below, "four": between}))
    assert (found.list, found.numbers, found.above, found.below, found.runs) == ("most popular", 4, 2, 1, 3)
    assert found.found == pytest.approx(sum(bar) / 3)
    said = beside.sentence(made({"one": above, "three": below}))
    assert "on ML-1M 1 of 2 numbers lie above" in said.replace("On", "on") and "1 below" in said


def test_the_rows_are_those_of_the_same_seeds_and_carry_coverage_and_counts() -> None:
    result = made({"one": [1.0, 2.0, 3.0]})
    rows = beside.list_rows(result, result.rows, {})
    hits = [row for row in rows if row["loss"] == "most popular"]
    assert {row["metric"] for row in hits} == {"P@5", "coverage@10", "mean count@10"}
    assert [row["value"] for row in hits if row["metric"] == "P@5"] == popular("precision@5", 100)
    assert {row["seed"] for row in rows} == {0, 1, 2} and {row["loss"] for row in rows} == set(beside.LISTS)
    shown = beside.html(result)
    assert all(name in shown for name in beside.LISTS) and "Who beats the lists" in shown


def test_other_data_and_other_tables_get_no_lists() -> None:
    strange = beside.html(made({"one": [1.0]}, sha="another"))
    assert "No list without a model is stored" in strange and "popular lately" not in strange
    plain = made({"one": [1.0]}, metric="slope")
    assert beside.html(plain) == plain.to_html()


def test_a_list_that_the_experiment_has_itself_is_not_told_twice() -> None:
    result = made({"most popular": [9.0, 9.0, 9.0], "one": [1.0, 1.0, 1.0]})
    rows = [row for row in beside.list_rows(result, result.rows, {}) if row["loss"] == "most popular"]
    assert {row["metric"] for row in some(rows)} == {"coverage@10", "mean count@10"}
    [found] = beside.against(result)
    assert found.numbers == 1


@pytest.mark.parametrize(
    ("name", "scale", "arguments"),
    [
        ("P0-R", "laptop", {}),
        ("P0-C", "laptop", {}),
        ("P1-T2", "laptop", {}),
        ("P1-T3", "laptop", {}),
        ("P1-T4", "laptop", {}),
        ("P1-T5", "laptop", {}),
        ("P1-F3", "laptop", {}),
        ("P1-X1", "laptop", {"data": "ml-1m-10core"}),
        ("P3-T4", "laptop", {"metric": ("P@5", "step ms"), "selection": ("test", "last", "cost")}),
        ("P3-T5", "laptop", {"metric": "P@5", "selection": ("test", "cross-fitted")}),
        ("P3-T6", "laptop", {"data": "amazon-beauty-5core", "metric": ("P@1", "P@5")}),
        ("P3-T6", "full", {"pointwise": "logistic", "serving": "raw", "metric": ("P@1", "P@5")}),
        ("P4-T2", "laptop", {}),
        ("P4-F6", "laptop", {}),
        ("P4-F8", "laptop", {}),
        ("SCALE-X2", "laptop", {}),
    ],
)
def test_every_stored_table_about_lists_has_them_beside_it(name: str, scale: str, arguments: dict[str, Any]) -> None:
    result = experiments.load_result(name, scale)
    shown = beside.html(result, **arguments)
    assert "Who beats the lists" in shown and "most popular" in shown and ">chance<" in shown
    for one in some(beside.against(result, **arguments)):
        assert one.above + one.below <= one.numbers


def test_without_a_stored_list_a_table_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: str) -> Result:
        raise FileNotFoundError

    monkeypatch.setattr(beside, "load_result", nothing)
    beside._lists.cache_clear()
    assert "No list without a model is stored" in beside.html(made({"one": [1.0]}))
    beside._lists.cache_clear()


def test_what_is_no_result_is_named() -> None:
    for call in (beside.html, beside.sentence):
        with pytest.raises(ValueError, match="result is 'P3-T6'; expected a Result, from load_result"):
            call("P3-T6")
