"""What a reader sees of a result: the chart of paper against ours, and a table whose columns all say something."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from course_lib.experiments.core import display, pictures, printed
from course_lib.experiments.core.provenance import results_folder
from course_lib.experiments.core.results import Result, load_result


def rows(**paper: float) -> list[dict[str, object]]:
    return [
        {"data": "ml-1m", "loss": loss, "ratio": None, "metric": "P@5", "seed": seed, "value": value + seed}
        | ({"paper": paper[loss]} if loss in paper else {})
        for loss, value in (("unbiased", 17.0), ("in_batch", 0.5))
        for seed in (0, 1)
    ]


def result(**paper: float) -> Result:
    layout = {"rows": ("data", "loss", "ratio"), "columns": ("metric",), "digits": 2}
    return Result("P3-T6", "laptop", "a table", rows(**paper), layout=layout)


def shown(text: str) -> dict[str, list[str]]:
    """The words of heads, captions and cells, and the descriptions of pictures, in order."""
    page = BeautifulSoup(text, "html.parser")
    pictures = [picture.extract()["aria-label"] for picture in page("svg")]
    return {"svg": pictures} | {tag: [part.get_text() for part in page(tag)] for tag in ("th", "td", "caption")}


def test_columns_that_say_nothing_go_and_what_is_the_same_stands_in_the_caption() -> None:
    found = shown(result().to_html())
    assert found["th"] == ["loss", "P@5", "Unbiased", "In-Batch"]
    assert "laptop scale; ML-1M; mean" in found["caption"][0] and "ratio" not in found["caption"][0]


def test_a_table_of_one_row_keeps_a_name() -> None:
    found = shown(result().to_html(loss="unbiased"))
    assert found["th"] == ["data", "P@5", "ML-1M"] and "In every row: loss Unbiased." in found["caption"][0]


def test_a_cell_is_never_a_mean_over_what_no_column_names() -> None:
    """Two data sets, one value each and two seeds: a layout without `data` gets it as its first column."""
    found = [
        {"data": data, "loss": "unbiased", "seed": seed, "metric": "P@5", "value": value + seed}
        for data, value in (("ml-1m", 1.0), ("gowalla", 10.0))
        for seed in (0, 1)
    ]
    one = Result("X", "smoke", "Two", found, layout={"rows": ["loss"], "columns": ["metric"]})
    head, *lines = one.table()
    assert head[:2] == ["data", "loss"] and [line[2].split()[0] for line in lines] == ["1.50", "10.50"]
    assert one.table(data="ml-1m")[0][:1] == ["loss"]


def test_a_long_table_is_folded_under_its_title() -> None:
    lines = [line | {"data": f"set {number}"} for line in rows() for number in range(display.LONG)]
    long = Result("P3-T6", "laptop", "a table", lines, layout=result().layout).to_html(loss="unbiased")
    assert long.startswith(
        '<details class="long-table"><summary>A table: all 24 lines</summary><div class="text_html"><table'
    )
    assert "<details" not in result().to_html()


def test_the_papers_number_stands_under_ours() -> None:
    cells = shown(result(unbiased=17.07).to_html())["td"]
    assert cells == ["17.50 ±\xa00.71paper 17.07", "1.00 ±\xa00.71"]


@pytest.mark.parametrize(
    ("values", "digits", "text"),
    [
        ([42.7808, 43.6], 4, "43.19 ± 0.58"),
        ([1311.0], 3, "1311"),
        ([197.5114], 3, "197.5"),
        ([0.1771, 0.1795], 4, "0.1783 ± 0.0017"),
        ([0.0, 0.0], 2, "0"),
        ([-1e-15], 1, "0"),
        ([-0.05], 2, "-0.05"),
        ([-1e-6], 4, "≈ 0"),
        ([0.0033], 2, "0.0033"),
        ([0.0012, 0.0018], 2, "0.0015 ± 0.0004"),
        ([17.271, 17.272], 2, "17.27 ± <0.01"),
        ([0.02, -0.02], 2, "0.00 ± 0.03"),
        ([682.0], 1, "682"),
        ([12345.0, 12355.0], 1, "12350.0 ± 7.1"),
        ([6.0, 6.0, 6.0], 3, "6"),
    ],
)
def test_digits_go_as_far_as_the_deviation_says(values: list[float], digits: int, text: str) -> None:
    assert display.number(values, digits) == text


def test_heads_have_words_also_where_two_codes_make_one() -> None:
    assert display.head_of(("last", "P@5")) == "P@5 at the end" and display.head_of(("cost", "step ms")) == "ms a step"
    assert display.head_of(("test", "P@5")) == "test P@5"
    assert display.head_of((None, "share dot")) == "top 1 %, dot product"
    assert display.name_of("gauge") == "gauge"  # a column of P2-X1, which says the kind of gauge, and a metric of P2-X3


def test_a_run_that_diverged_is_said_and_draws_no_dot() -> None:
    assert display.number([float("nan"), 1.0], 3) == "not finite" == display.number([float("inf")], 3)
    diverged = [line | {"value": float("nan")} for line in rows(unbiased=17.07)]
    assert pictures.chart(display.Pivot.of(diverged, ["loss"], ["metric"]), {}) == ""


def test_the_chart_shows_what_the_paper_prints_and_says_it_to_a_screen_reader() -> None:
    (said,) = shown(result(unbiased=17.07).to_html())["svg"]
    assert said.startswith("P@5. Unbiased — undecided: ours 17.5 ±") and said.endswith("paper 17.07.")
    assert "In-Batch" not in said


def test_rows_that_agree_in_the_first_column_stand_together() -> None:
    mixed = [
        {"data": data, "loss": loss, "metric": "P@5", "seed": 0, "value": 1.0}
        for data, loss in (("b", "x"), ("a", "x"), ("b", "y"), ("a", "y"))
    ]
    pivot = display.Pivot.of(mixed, ("data", "loss"), ("metric",))
    assert list(pivot.cells.index) == [("b", "x"), ("b", "y"), ("a", "x"), ("a", "y")]


def test_where_every_number_is_the_papers_a_sentence_says_so() -> None:
    same = [row | {"value": 1.0, "paper": 1.0} for row in rows()]
    text = Result("P3-T6", "laptop", "a table", same, layout=result().layout).to_html()
    assert "<svg" not in text and "Each of the 2 numbers that the paper prints here is also ours." in text


def test_single_runs_are_said_to_be_single() -> None:
    single = [row for row in rows(unbiased=10.0) if row["seed"] == 0]
    text = Result("P3-T6", "laptop", "a table", single, layout=result().layout).to_html()
    assert "from a single run" in text and "interval" not in text
    assert "95 % interval" in result(unbiased=10.0).to_html()


def test_the_caption_names_each_data_set_once() -> None:
    found = result()
    given = {"data": [{"name": "ml-1m-5core"}, {"name": "ml-1m-5core"}], "seconds": 0, "vouched": None, "code": []}
    text = shown(Result(found.id, "laptop", "a table", found.rows, {}, given, found.layout).to_html())["caption"][0]
    assert text.count("ML-1M") == 1 and "seeds 0, 1" in text and "stale" in text  # no code: nobody can tell


def test_without_a_printed_number_there_is_no_chart() -> None:
    assert "<svg" not in result().to_html()


def test_the_chart_carries_the_verdict_of_the_one_rule() -> None:
    assert "— undecided" in result(unbiased=17.07).to_html() and "— differs" in result(unbiased=90.0).to_html()
    close = [row | {"value": 17 + row["seed"] / 100} for row in rows(unbiased=17.07)]
    assert "— agrees" in Result("P3-T6", "laptop", "a table", close, layout=result().layout).to_html()


def test_on_other_data_than_the_papers_there_is_no_verdict() -> None:
    found = result(unbiased=17.07)
    elsewhere = [row | {"data": "ml-100k"} for row in found.rows]
    assert "—" not in Result(found.id, found.scale, found.title, elsewhere, layout=found.layout).to_html()


def across(text: str) -> list[float]:
    """Where the marks of all panels stand, in px from the left."""
    return [float(x) for x in re.findall(r'<use [^>]*x="([-\d.]+)"', text.partition("<figcaption")[0])]


def test_numbers_far_apart_stand_on_a_logarithmic_axis() -> None:
    lone = [row | {"value": 0.01 if row["loss"] == "in_batch" else 10.0} for row in rows(unbiased=10.0, in_batch=0.1)]
    found = across(Result("P3-T6", "laptop", "a table", lone, layout=result().layout).to_html())
    assert found == pytest.approx([318, 12 + 306 / 3, 318, 12], abs=0.1)  # the paper's, and ours on top


def test_a_line_of_the_chart_is_not_named_by_what_all_lines_share() -> None:
    elsewhere = [row | {"data": "gowalla", "paper": None} for row in rows()]  # in the table, not in the chart
    both = Result("P3-T6", "laptop", "a table", rows(unbiased=10.0, in_batch=9.0) + elsewhere, layout=result().layout)
    text = both.to_html()
    assert re.search(">Unbiased — [a-z]+<", text) and "In each line: data ML-1M." in text
    alone = both.to_html(loss=("unbiased",))
    assert re.search(">ML-1M — [a-z]+<", alone) and "In each line" not in alone


def test_rows_in_different_units_are_compared_as_ratios() -> None:
    text = load_result("P3-T3", "laptop").to_html(data="ml-1m")
    assert "ours divided by the paper" in text and len({round(x) for x in across(text)[:8]}) == 1  # the paper's are 1


def test_names_for_people() -> None:
    text = load_result("P1-T2", "laptop").to_html()
    assert "Last.fm" in text and "lastfm-10core</th>" not in text


@pytest.mark.parametrize("path", sorted(results_folder().glob("*-laptop.json")), ids=lambda path: path.stem)
def test_no_code_stands_where_a_name_should(path: Path) -> None:
    """Heads, names of rows, captions, charts: nothing with an underscore, such as ab_a, e_pop or stop_at."""
    words = re.sub(r"<[^>]*>", " ", load_result(path.stem.removesuffix("-laptop"), "laptop").to_html())
    assert [word for word in words.split() if "_" in word] == []


def test_a_word_means_what_its_column_says() -> None:
    assert display.text_of("popularity", "loss") == "Popularity" and display.text_of("popularity") == "popularity"
    assert display.text_of("b_a") == "preference, popularity (DDC)" and display.text_of("ab_b") == "both, preference"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(0.1, "0.1"), (1e-4, "0.0001"), (1e-5, "0.00001"), (1.5e-6, "0.0000015"), (-2e-5, "-0.00002")],
        *[(1e-9, "1e-09"), (0.0, "0"), (12345.0, "12,345")],
    ],
)
def test_an_axis_has_one_form_for_its_numbers(value: float, text: str) -> None:
    assert display.decimal(value) == text


def test_a_number_of_which_one_run_was_cut_off_counts_for_nothing() -> None:
    where = {"data": "ml-1m", "pointwise": "square", "loss": "unbiased", "ratio": 0.1}
    runs = [{**where, "metric": "P@5", "seed": seed, "value": 10 + seed / 100, "paper": 10.0} for seed in range(3)]
    end = {**where, "metric": "epochs", "seed": 1, "value": 60.0, "stopped": "epoch cap"}
    for rows, verdict in ((runs, "agrees"), ([*runs, end], "not converged")):
        [found] = printed.compare(Result("P3-T5", "laptop", "", rows))
        assert found.judged.verdict == verdict
