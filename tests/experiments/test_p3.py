"""P3's experiments at smoke scale, and the shapes that the paper reports and that must show there."""

import json

import numpy as np
import pytest

from course_lib import experiments, papers
from course_lib.experiments import p3
from course_lib.experiments.p3 import setting, statistics, stochastic_gradient
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds

DATA = "movietweetings-10core"
SQUARE = {"pointwise": "square"}  # what the shapes are asked of; all cells run in the lab and among the pipelines
# Cells that the book's labs have run with the same code are read from their store.


def means(result: experiments.Result, **where) -> dict:
    """{(loss, ratio): value} of the rows selected."""
    return {(row["loss"], row["ratio"]): row["value"] for row in result.select(**where)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "which", ["P3-T3", "P3-T4", *(pytest.param(one, marks=pytest.mark.pipeline) for one in ("P3-T5", "P3-T6"))]
)
def test_smoke_scale_is_complete(which: str) -> None:
    """How long it takes is measured by benchmarks/smoke.py, on a quiet machine."""
    result = experiments.run(which, "smoke", progress=False)
    cells = result.provenance["cells"]
    assert cells["finished"] == cells["planned"] and result.scalars
    assert all(np.isfinite(row["value"]) for row in result.rows)
    assert result.provenance["data"][0]["sha256"] == setting.load_data(DATA).sha256
    json.dumps(result.__dict__, allow_nan=False)
    assert result.to_html() and result.to_markdown()


def test_the_spread_of_table_3_is_that_of_splits_drawn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Interactions(*np.nonzero(np.random.default_rng(0).random((30, 20)) < 0.1), n_users=30, n_items=20)
    monkeypatch.setattr(statistics, "load_data", lambda name: data)
    rows = statistics.table3_cell({"data": "made", "law": "bernoulli", "splits": 5, "seed": 3})
    found = {row["summary"]: row["value"] for row in rows if row["metric"] == "positives"}
    sizes = [len(data.split_bernoulli(0.9, np.random.default_rng([3, at]))[0]) for at in range(5)]
    wanted = {"mean": np.mean(sizes), "sd": np.std(sizes, ddof=1), "least": min(sizes), "greatest": max(sizes)}
    assert found == pytest.approx(wanted) and wanted["sd"] > 0


@pytest.mark.slow
def test_table_6_shows_the_papers_order() -> None:
    result = experiments.run("P3-T6", "smoke", only=SQUARE, progress=False)
    found = means(result, pointwise="square", metric="P@5", method="L-BFGS", serving="raw")
    assert found["unbiased", None] > 1.5 * found["popularity", None]
    assert found["pos_neg_omega", 0.1] > 1.5 * found["in_batch_omega", 0.1]
    assert result.select(loss="most popular", pointwise="square", metric="P@5")[0]["value"] > 0
    served = {
        row["serving"]: row["value"] for row in result.select(loss="popularity", method="closed form", metric="P@5")
    }
    assert served["times popularity"] > 2 * served["raw"]  # claim X19


@pytest.mark.slow
def test_table_6_finds_the_closed_form_from_above() -> None:
    result = experiments.run("P3-T6", "smoke", only=SQUARE, progress=False)
    for loss in ("unbiased", "popularity"):
        values = {
            row["method"]: row["value"] for row in result.select(pointwise="square", loss=loss, metric="objective")
        }
        assert values["closed form"] < values["L-BFGS"] < 1.001 * values["closed form"]


@pytest.mark.slow
def test_table_5_shows_the_papers_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unbiased is steady over batch ratios and best; Pos-Neg grows with the ratio; In-Batch and Popularity fail.

    At the largest and the smallest ratio, for quickness; all of them run in the lab and among the pipelines.
    """
    ratios = (setting.RATIOS[0], setting.RATIOS[-1])
    monkeypatch.setattr(stochastic_gradient, "RATIOS", (ratios[0], ratios[0], ratios[1]))  # smoke takes every second
    result = experiments.run("P3-T5", "smoke", only=SQUARE, progress=False, max_epochs=10)
    found = means(result, pointwise="square", metric="P@5", selection="test", serving="raw")
    unbiased = [found["unbiased", ratio] for ratio in ratios]
    assert min(unbiased) > 0.75 * max(unbiased)
    assert found["pos_neg", 1e-1] > 3 * found["pos_neg", 1e-5]
    for ratio in ratios:
        assert found["unbiased", ratio] > 3 * found["in_batch", ratio]
        assert found["unbiased", ratio] > 10 * found["popularity", ratio]
    served = means(result, pointwise="square", metric="P@5", selection="test", serving="times popularity")
    assert served["in_batch", 1e-5] > 5 * found["in_batch", 1e-5]  # claim X19: what was divided out can be put back
    chosen = means(result, pointwise="square", metric="P@5", selection="cross-fitted", serving="raw")
    assert np.mean([found[key] - chosen[key] for key in found]) > 0  # choosing on the test set is optimistic


@pytest.mark.slow
def test_table_4_the_two_unbiased_losses_are_alike() -> None:
    result = experiments.run("P3-T4", "smoke", progress=False)
    for pointwise in ("square", "logistic"):
        found = means(result, pointwise=pointwise, metric="P@5", selection="test")
        assert 0.75 < found["unbiased", 1e-3] / found["sogram", 1e-3] < 1.33
        curves = {
            loss: result.select(pointwise=pointwise, loss=loss, metric="objective at step")
            for loss in ("unbiased", "sogram")
        }
        assert all(curve[-1]["value"] < 0.9 * curve[0]["value"] and curve[0]["step"] >= 1 for curve in curves.values())


def test_the_chapters_sweep_hands_out_the_models_that_it_judged() -> None:
    train, test = p3.load_split(DATA, 0)
    first = p3.batch_ratio_sweep(train, test, ratios=(1e-2,), k=8, max_epochs=3)
    assert set(first.models) == {(loss, 1e-2) for loss in p3.BATCH_LOSSES}
    users, items = first.models["unbiased", 1e-2]
    assert users.shape == (train.n_users, 8) and items.shape == (train.n_items, 8) and users.dtype == np.float64
    last = first.result.select(loss="unbiased", metric="P@5", selection="last")[0]["value"]
    assert setting.quality(users, items, train, test)["P@5"] == pytest.approx(last, abs=1e-9)


def test_corrected_rankings() -> None:
    train = Interactions([0, 0, 1, 1, 2], [0, 1, 0, 2, 0], n_users=3, n_items=3)
    users, items = np.eye(3), np.arange(9.0).reshape(3, 3)
    assert list(setting.servings("unbiased", "square", users, items, train)) == ["raw"]
    raw = users @ items.T
    left, right = setting.servings("in_batch", "square", users, items, train)["times popularity"]
    np.testing.assert_allclose(left @ right.T, raw * train.col_counts)
    left, right = setting.servings("popularity", "logistic", users, items, train)["plus log popularity"]
    np.testing.assert_allclose(left @ right.T, raw + np.log(train.col_counts))


@pytest.mark.parametrize("which", ["P3-T4", "P3-T5", "P3-T6"])
def test_full_scale_is_the_papers_own_grid(which: str) -> None:
    """Every number that the table prints for ML-1M has a cell of the full plan, and the coordinates match."""
    cells = experiments.cells_of(which, "full")
    losses = [
        (cell, loss)
        for cell in cells
        for loss in cell.get("losses", [cell["loss"]] if "loss" in cell else ["unbiased", "sogram"])
    ]
    planned = {(cell["data"], cell["pointwise"], loss, cell["ratio"]) for cell, loss in losses}
    table = papers.select(papers.table("P3", which[3:]), dataset="ml-1m")
    printed = {(row["dataset"], row["pointwise"], row["loss"], row["ratio"]) for row in table}
    assert printed <= planned and len(printed) == {"P3-T4": 20, "P3-T5": 40, "P3-T6": 24}[which]
    assert {cell["k"] for cell in cells} == {64}


@pytest.mark.parametrize("scale", ["laptop", "full"])
def test_stored_results_are_sound(scale: str) -> None:
    """Whatever lies in book/results was written by this code: provenance complete, the paper's numbers its own."""
    for which in experiments.names():
        try:
            result = experiments.load_result(which, scale)
        except FileNotFoundError:
            continue
        for key in ("scale", "data", "cells", "versions", "hardware", "git", "finished"):
            assert result.provenance[key], (which, scale, key)
        assert result.provenance["seconds"] >= 0, (which, scale)  # 0 where another experiment had trained the models
        drawn = any("seed" in row for row in result.rows) or which.endswith("-T1") or which == "TEXT-X1"
        assert drawn, (which, scale)  # counts of the data, and what a finished encoder says of it, draw nothing
        assert all(len(entry["sha256"]) == 64 for entry in result.provenance["data"])
        assert all(state["commit"] for state in result.provenance["git"])
        if which.startswith("P3-") and which != "P3-T3":
            keys = ("loss", "ratio", "pointwise", "metric", "data", "paper")
            compared = [row for row in result.rows if row.get("paper") is not None]
            for *where, printed in {tuple(row[key] for key in keys) for row in compared}:
                cell = dict(zip(("loss", "ratio", "pointwise", "metric", "dataset"), where, strict=True))
                assert printed == papers.value("P3", {"X2": "T6", "X3": "T5"}.get(which[3:], which[3:]), **cell)


def test_the_sweep_does_not_depend_on_the_number_of_threads() -> None:
    """Small sets are trained on one thread, so that a page shows the same digits on every number of cores."""
    import torch

    train, test = p3.load_split(DATA, 0)
    given = {"ratios": (1e-1,), "losses": ("in_batch",), "k": 4, "max_epochs": 2}
    before, rows = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            rows.append(p3.batch_ratio_sweep(train, test, **given).result.rows)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert rows[0] == rows[1]
