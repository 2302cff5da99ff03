"""The printed tables of the papers, as data: complete, within range, and consistent with each other."""

import itertools

import numpy as np
import pytest
from refused import refused

from course_lib import papers
from course_lib.checking import some
from course_lib.papers import citation, p0, p1, p3, p4, select, table, value

METRICS = ("P@1", "P@5", "P@25", "R@1", "R@5", "R@25")
RATIOS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
COLUMNS = list(itertools.product(("eurlex", "ml-1m"), ("square", "logistic")))
SAME_MODEL = ("loss", "ratio", "dataset", "pointwise")


def keys(cells, *names):
    return [tuple(cell[name] for name in names) for cell in cells]


ROWS = {
    "T4": list(itertools.product(("unbiased", "sogram"), RATIOS)),
    "T5": list(itertools.product(("unbiased", "in_batch", "popularity", "pos_neg"), RATIOS)),
    "T6": [
        *(("unbiased", None), ("popularity", None)),
        *itertools.product(("in_batch_omega", "pos_neg_omega"), RATIOS),
    ],
}


@pytest.mark.parametrize(("name", "count"), [("T4", 40), ("T5", 480), ("T6", 288)])
def test_the_tables_of_p3_hold_a_percentage_in_every_cell_once(name, count):
    parts = (*SAME_MODEL, "metric") if name != "T4" else SAME_MODEL
    found, metrics = table("P3", name), METRICS if name != "T4" else ("",)
    wanted = {(*row, *column, metric)[: len(parts)] for row in ROWS[name] for column in COLUMNS for metric in metrics}
    assert len(found) == count and set(keys(found, *parts)) == wanted
    assert all(0 < cell["value"] < 100 for cell in some(found))


def test_table_4_agrees_with_table_5():
    assert p3.disagreements_with_table_4() == 0


@pytest.mark.parametrize("name", ["T5", "T6"])
def test_recall_grows_with_k(name):
    for model in some(set(keys(table("P3", name), *SAME_MODEL))):
        cells = {
            c["metric"]: c["value"] for c in select(table("P3", name), **dict(zip(SAME_MODEL, model, strict=True)))
        }
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


test_errors_name_what_was_given = refused(
    (lambda: table("P3", "T9"), r"'T9'.*P3 T3"),
    (lambda: value("P3", "T5", loss="unbiased", dataset="ml-1m", pointwise="square", metric="P@5"), "selects 5 cells"),
    (lambda: p0.printed(9, "pearson"), "selects 0 cells"),  # the paper prints none: "no significant correlation"
    (lambda: p4.printed("simple", "sampling_hours"), "selects 0 cells"),
    (lambda: select(table("P3", "T5"), metrik="P@5"), r"'metrik'.*'metric'"),
    (lambda: papers._number("P3", "7,2"), "'7,2'"),
    (lambda: papers._number("P4", "0.03 %"), "'0.03 %'"),
    (lambda: p3.average_popularity("netflix"), "netflix"),
    (lambda: p3.violations(name="T5", better="sogram", worse="unbiased"), "no cells"),
    (lambda: p0.chance_of_right_angle(1), "d is 1; expected"),
    (lambda: p0.chance_of_right_angle(2, within=0), "within is 0; expected"),
    (lambda: p0.smallest_significant_correlation(2), "n is 2; expected"),
    (lambda: p0.smallest_significant_correlation(9, level=1), "level is 1; expected"),
    (lambda: p1.reference("T2", table("P1", "T2")[0]), "MF None prints no percentage"),
    (lambda: p1.worse_than_backbone("LinRec"), "'LinRec' is no method"),
    (lambda: p1.printed("hit rate"), "selects 0 cells"),
)


@pytest.mark.seconds
def test_suspicious_cells_are_named():
    found = p3.suspicious_cells()
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


def test_every_table_has_a_citation():
    for paper, name in some(papers.CAPTIONS):
        assert name == "numbers" or f"Table {name[1:]}" in citation(paper, name)
        assert citation(paper, name).startswith(papers.CITATIONS[paper])


def test_violations_are_counted_by_comparing_cells(monkeypatch):
    cell = {"ratio": None, "dataset": "d", "pointwise": "square", "metric": "P@1"}
    cells = [{**cell, "loss": "a", "value": 2.0}, {**cell, "loss": "b", "value": 1.0}]
    monkeypatch.setattr(p3, "table", lambda paper, name: cells)
    assert p3.count_violations(name="T6", better="a", worse="b") == 0
    assert p3.count_violations(name="T6", better="b", worse="a") == 1
    cells[1]["value"] = 2.0
    assert p3.count_violations(name="T6", better="b", worse="a") == 0
    assert p3.count_ties(name="T6", better="b", worse="a") == 1


# ------------------------------------------------------------------------------------------------------------------ P0


def test_table_1_of_p0_follows_from_its_two_conditions():
    """An arrow of the table is a tick exactly where the conditions of that tower and the loss hold."""
    rows = table("P0", "T1")
    assert [row["experiment"] for row in rows] == list(range(1, 8))
    for row in some(rows):
        assert row["left_orthogonal"] == (row["condition_1"] and row["condition_2"]), row
        assert row["item_orthogonal"] == row["condition_2"], row  # the item tower is an embedding in every experiment
        assert row["condition_2"] == ("dot" not in row["loss"])


def test_table_2_of_p0_holds_two_shares_for_each_of_three_experiments():
    cells = table("P0", "T2")
    assert keys(cells, "experiment", "quantity") == [(e, q) for e in (8, 9, 10) for q in ("share_dot", "share_cos")]
    assert all(0 < cell["value"] < 1 for cell in some(cells))
    assert all(cell["correlated"] == cell["high_lr"] == (cell["experiment"] != 9) for cell in some(cells))
    assert p0.ratio_of_shares(9) == 1 and all(p0.ratio_of_shares(e) > 1.9 for e in (8, 10))


def test_numbers_of_the_text_of_p0():
    assert (p0.printed(8, "pearson"), p0.printed(10, "pearson"), p0.printed(4, "share_near_90")) == (0.66, 0.56, 0.2)
    for paper, places in (("P0", ("Section 4", "Table 2")), ("P4", ("Section 4", "Appendix"))):
        assert all(cell["place"].startswith(places) for cell in some(table(paper, "numbers")))


@pytest.mark.seconds
@pytest.mark.parametrize("d", [2, 3, 4, 64])
def test_chance_of_a_right_angle_agrees_with_drawn_directions(d):
    directions = np.random.default_rng(d).normal(size=(200_000, d))
    angles = np.degrees(np.arccos(directions[:, 0] / np.linalg.norm(directions, axis=1)))
    for within in (5.0, 10.0, 45.0):
        share = np.mean(np.abs(angles - 90) < within)
        assert p0.chance_of_right_angle(d, within=within) == pytest.approx(share, abs=0.004)
    assert p0.chance_of_right_angle(d, within=90) == pytest.approx(1)


@pytest.mark.seconds
@pytest.mark.parametrize("n", [5, 40, 1000])
def test_the_smallest_significant_correlation_has_the_p_value_of_its_level(n):
    from scipy import stats

    for level in (0.05, 0.01):
        r = p0.smallest_significant_correlation(n, level=level)
        beta = stats.beta(n / 2 - 1, n / 2 - 1, loc=-1, scale=2)  # the law of r for independent normal pairs
        assert 2 * beta.sf(r) == pytest.approx(level, rel=1e-9)


# ------------------------------------------------------------------------------------------------------------------ P4


def test_table_2_of_p4_has_every_cell_once_and_a_percentage_for_each_of_sogram():
    cells = table("P4", "T2")
    assert [row["dataset"] for row in table("P4", "T1")] == ["simple", "fr", "en"]
    wanted = [
        (d, *m)
        for d in ("simple", "fr", "en")
        for m in [("sampling", None), *(("sogram", a) for a in (0.001, 0.005, 0.01, 0.1))]
    ]
    assert keys(cells, "dataset", "method", "alpha") == wanted
    for cell in some(cells):
        assert (cell["percent"] is None) == (cell["method"] == "sampling") and 0 < cell["value"] < 0.2
    assert value("P4", "T2", dataset="en", alpha=0.001) == 0.1801
    assert value("P4", "T2", dataset="fr", method="sampling") == 0.0886


def test_the_percentages_of_table_2_of_p4_follow_from_its_maps_up_to_rounding():
    assert p4.impossible_improvements() == 0
    assert p4.improvements_off_by_a_rounding() == [("simple", 0.001), ("simple", 0.01), ("simple", 0.1)]
    assert p4.improvement("simple", 0.001) == pytest.approx(-4.08, abs=0.005)
    least, greatest = p4.improvement_interval("simple", 0.001)
    assert least < -4.3 and -3.8 < greatest < -3.7
    for cell in some(table("P4", "T2")):
        change = p4.improvement(cell["dataset"], cell["alpha"])
        assert cell["percent"] is None or np.sign(cell["percent"]) == np.sign(change)


def test_a_wrong_percentage_would_be_noticed(monkeypatch):
    cells = [{"dataset": "d", "method": "sampling", "alpha": None, "value": 0.1, "percent": None}]
    sogram = {"dataset": "d", "method": "sogram", "alpha": 0.1, "value": 0.11}
    cells += [sogram | {"percent": percent} for percent in (10.0, 10.3, 10.09)]
    monkeypatch.setattr(p4, "table", lambda paper, name: cells)
    monkeypatch.setattr(p4, "_map", lambda dataset, alpha: 0.1 if alpha is None else 0.11)
    assert p4.impossible_improvements() == 1  # 9.89 to 10.11, and 0.05 for the percentage
    assert len(p4.improvements_off_by_a_rounding()) == 2 and p4.worse_than_sampling() == []


# ------------------------------------------------------------------------------------------------------------------ P1

P1_SETS, P1_METRICS = ("amazon-book", "yelp", "tmall"), ("MRR@10", "NDCG@10", "MAP@10")
P1_BACKBONES = ("MF", "LightGCN", "DGCF", "NCL", "LightCCF")
P1_METHODS = ("IPS", "DICE", "MACR", "PC", "PAAC", "DCCL", "TPAB", "DDC")


def test_the_tables_of_p1_have_every_cell_once():
    parts = ("backbone", "method", "dataset", "metric")
    columns = list(itertools.product(P1_SETS, P1_METRICS))
    assert keys(table("P1", "T2"), *parts) == [(b, m, *c) for b in P1_BACKBONES for m in (None, "DDC") for c in columns]
    assert keys(table("P1", "T3"), *parts) == [
        (b, m, *c) for b in P1_BACKBONES[:2] for m in (None, *P1_METHODS) for c in columns
    ]
    t4 = ("MRR@10", "NDCG@10", "AvgPop@10")
    assert keys(table("P1", "T4"), *parts) == [
        (b, m, "tmall", k) for b in P1_BACKBONES for m in (None, "DDC") for k in t4
    ]
    variants = (None, *p1.RULES, "without popularity", "without preference")
    assert keys(table("P1", "T5"), *parts) == [("MF", m, "tmall", k) for m in variants for k in P1_METRICS]
    assert p1.methods() == P1_METHODS and [row["dataset"] for row in table("P1", "T1")] == list(P1_SETS)


def test_numbers_that_p1_prints_in_two_tables_agree():
    """DDC and the plain backbones stand in Tables 2 and 3, those of Tmall also in 4, those of MF also in 5."""
    seen = {}
    for name in ("T2", "T3", "T4", "T5"):
        for cell in table("P1", name):
            method = "DDC" if cell["method"] == "b_a" else cell["method"]
            seen.setdefault((cell["backbone"], method, cell["dataset"], cell["metric"]), set()).add(cell["value"])
    twice = [key for key in seen if key[1] in (None, "DDC")]
    assert len(twice) == 5 * 2 * 10 and all(len(values) == 1 for values in some(seen.values()))
    assert value("P1", "T2", backbone="MF", method="DDC", dataset="yelp", metric="MRR@10") == 0.0760


def test_every_percentage_of_p1_is_that_of_its_printed_numbers():
    assert [len(p1.percentages(name)) for name in ("T2", "T3", "T4")] == [45, 18, 5]
    for name in ("T2", "T3", "T4"):
        assert p1.off_by_a_rounding(name) == [] and p1.impossible(name) == []
    [tie] = [c for c in p1.percentages("T3") if abs(abs(p1.change("T3", c) - c["percent"]) - 0.05) < 1e-9]
    assert (tie["backbone"], tie["dataset"], tie["metric"]) == ("LightGCN", "yelp", "NDCG@10")  # 6.25 printed as 6.3
    assert p1.reference("T3", tie)["method"] == "TPAB"
    for row in some(table("P1", "T1")):
        assert p1.sparsity(row["dataset"]) == pytest.approx(row["sparsity_percent"], abs=0.0005 + 1e-9)


@pytest.mark.parametrize(("percent", "off", "impossible"), [(18.5, 0, 0), (18.6, 1, 0), (18.8, 1, 1), (-18.5, 1, 1)])
def test_a_wrong_percentage_of_p1_would_be_noticed(monkeypatch, percent, off, impossible):
    plain = {"backbone": "MF", "method": None, "dataset": "d", "metric": "MRR@10", "value": 0.0557, "percent": None}
    mended = {**plain, "method": "DDC", "value": 0.0660, "percent": percent}
    monkeypatch.setattr(p1, "table", lambda paper, name: [plain, mended])
    assert (len(p1.off_by_a_rounding("T2")), len(p1.impossible("T2"))) == (off, impossible)


def test_what_the_text_of_p1_says_of_its_tables():
    assert p1.rules_by_quality()[-1] == "a_b" and p1.lead_over_second() == pytest.approx(0.445, abs=0.001)
    assert [len(p1.worse_than_backbone(name)) for name in ("IPS", "MACR", "DDC")] == [6, 6, 0]
    for backbone, dataset in (("LightGCN", "yelp"), ("MF", "amazon-book")):
        percent = p1.printed(f"{backbone.lower()}_loss_percent", dataset)
        assert 100 * p1.loss_ratio(backbone, dataset) == pytest.approx(percent, abs=p1.ROUNDING)
        assert p1.loss_ratio(backbone, dataset) < p1.printed("loss_below")
        summed = p1.loss_per_triple_if_summed(backbone, dataset)
        assert p1.printed(f"{backbone.lower()}_loss", dataset) > np.log(2) > 100 * summed
