"""The printed tables of the papers, as data: complete, within range, and consistent with each other."""

import itertools

import pytest

from course_lib import paper_tables
from course_lib.paper_tables import citation, p3, select, table, value

METRICS = ("P@1", "P@5", "P@25", "R@1", "R@5", "R@25")
RATIOS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
COLUMNS = list(itertools.product(("eurlex", "ml-1m"), ("square", "logistic")))
SAME_MODEL = ("loss", "ratio", "dataset", "pointwise")


def keys(cells, *names):
    return [tuple(cell[name] for name in names) for cell in cells]


def test_table_5_has_every_cell_once():
    losses = ("unbiased", "in_batch", "popularity", "pos_neg")
    wanted = {(loss, ratio, *column, metric) for loss in losses for ratio in RATIOS for column in COLUMNS for metric in METRICS}
    found = keys(table("P3", "T5"), *SAME_MODEL, "metric")
    assert len(found) == 480 and set(found) == wanted


def test_table_6_has_every_cell_once():
    rows = [("unbiased", None), ("popularity", None)]
    rows += [(loss, ratio) for loss in ("in_batch_omega", "pos_neg_omega") for ratio in RATIOS]
    wanted = {(*row, *column, metric) for row in rows for column in COLUMNS for metric in METRICS}
    found = keys(table("P3", "T6"), *SAME_MODEL, "metric")
    assert len(found) == 288 and set(found) == wanted


def test_table_4_has_every_cell_once_and_agrees_with_table_5():
    wanted = {(loss, ratio, *column) for loss in ("unbiased", "sogram") for ratio in RATIOS for column in COLUMNS}
    found = keys(table("P3", "T4"), *SAME_MODEL)
    assert len(found) == 40 and set(found) == wanted
    assert p3.disagreements_with_table_4() == 0


def test_table_3_is_consistent_with_itself():
    for row in table("P3", "T3"):
        assert row["positives"] ** 2 / (row["m"] * row["n"]) == pytest.approx(row["mean_pair_popularity"], abs=0.05)


@pytest.mark.parametrize("name", ["T4", "T5", "T6"])
def test_values_are_percentages(name):
    assert all(0 < cell["value"] < 100 for cell in table("P3", name))


@pytest.mark.parametrize("name", ["T5", "T6"])
def test_recall_grows_with_k(name):
    for model in set(keys(table("P3", name), *SAME_MODEL)):
        cells = {c["metric"]: c["value"] for c in select(table("P3", name), **dict(zip(SAME_MODEL, model)))}
        assert cells["R@1"] <= cells["R@5"] <= cells["R@25"], model


def test_one_underline_per_column_and_stars_on_one_loss():
    for name in ("T5", "T6"):
        marked = keys([cell for cell in table("P3", name) if cell["best"]], "dataset", "pointwise", "metric")
        assert sorted(marked) == sorted((*column, metric) for column in COLUMNS for metric in METRICS)
    starred = [cell for cell in table("P3", "T5") if cell["starred"]]
    assert set(keys(starred, "loss", "dataset", "pointwise")) == {("unbiased", "eurlex", "logistic")}
    assert {cell["ratio"] for cell in starred} == {1e-5, 1e-4, 1e-3, 1e-2}


def test_table_5c_holds_precision_and_recall():
    """Read as a precision, the right half of part (c) would need more relevant labels per row than there are."""
    relevant = p3.relevant_per_row(name="T5", dataset="eurlex", k=5)
    assert 5 < relevant < 5.5
    largest_precision = 100 * relevant / 25
    right_half = [cell["value"] for cell in select(table("P3", "T5"), metric="R@25", dataset="eurlex")]
    assert max(right_half) > 3 * largest_precision
    left_half = [cell["value"] for cell in select(table("P3", "T5"), metric="P@25", dataset="eurlex")]
    assert max(left_half) < largest_precision


def test_value_finds_one_cell():
    where = {"dataset": "ml-1m", "pointwise": "square", "metric": "P@5"}
    assert value("P3", "T6", loss="unbiased", ratio=None, **where) == 17.07
    assert value("P3", "T6", loss="pos_neg_omega", ratio=1e-1, **where) == 18.68
    assert value("P3", "T5", loss="pos_neg", ratio=1e-5, **where) == 7.29
    with pytest.raises(ValueError, match="selects 5 cells"):
        value("P3", "T5", loss="unbiased", **where)


def test_errors_name_what_was_given():
    with pytest.raises(ValueError, match="'T9'.*P3 T3"):
        table("P3", "T9")
    with pytest.raises(ValueError, match="'metrik'.*'metric'"):
        select(table("P3", "T5"), metrik="P@5")
    with pytest.raises(ValueError, match="'7,2'"):
        paper_tables._number("7,2")
    with pytest.raises(ValueError, match="netflix"):
        p3.average_popularity("netflix")
    with pytest.raises(ValueError, match="no cells"):
        p3.violations(name="T5", better="sogram", worse="unbiased")


def test_suspicious_cells_are_named():
    found = paper_tables.suspicious_cells("P3")
    starts = [sentence.split(":")[0] for sentence in found]
    assert starts == [
        "Table 5, Popularity at ratio 1e-2 on EUR-Lex with the logistic loss",
        "Table 5, Unbiased at ratio 1e-5 on EUR-Lex with the logistic loss",
        "Table 5, Popularity at ratio 1e-2 on EUR-Lex with the logistic loss",
        "Table 5, P@5, Pos-Neg at ratio 1e-1 on EUR-Lex with the logistic loss",
        "Table 5, R@5, Pos-Neg at ratio 1e-1 on EUR-Lex with the logistic loss",
        "Table 6, P@25, Pos-Neg-omega at ratio 1e-5 on EUR-Lex with the square loss",
    ]
    assert "5 x 33.90 = 169.5 hits exceed 25 x 0.34 = 8.5" in found[0]
    assert "P@5 = 50.75 beside R@5 = 43.88, a ratio of 1.16 where the median model has 1.021" in found[1]
    with pytest.raises(ValueError, match="'P4'"):
        paper_tables.suspicious_cells("P4")


def test_every_table_has_a_citation():
    for paper, name in paper_tables.CAPTIONS:
        assert f"Table {name[1:]}" in citation(paper, name)


def test_violations_are_counted_by_comparing_cells(monkeypatch):
    cell = {"ratio": None, "dataset": "d", "pointwise": "square", "metric": "P@1"}
    cells = [{**cell, "loss": "a", "value": 2.0}, {**cell, "loss": "b", "value": 1.0}]
    monkeypatch.setattr(p3, "table", lambda paper, name: cells)
    assert p3.count_violations(name="T6", better="a", worse="b") == 0
    assert p3.count_violations(name="T6", better="b", worse="a") == 1
    cells[1]["value"] = 2.0
    assert p3.count_violations(name="T6", better="b", worse="a") == 0
    assert p3.count_ties(name="T6", better="b", worse="a") == 1
