"""P3-X2: paths of Table 6, their lists, and the predictions about them, on the smallest set."""

import dataclasses

import numpy as np
import pytest
import torch

from course_lib import experiments, papers
from course_lib.experiments.core import registry, verify
from course_lib.experiments.p3 import full_gradient, paths, predictions, setting

DATA = "movietweetings-10core"
CELL: paths.PathCell = {
    "data": DATA,
    "pointwise": "logistic",
    "loss": "in_batch_omega",
    "ratio": 1e-1,
    "k": 8,
    "seed": 0,
    "iterations": 6,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return paths.path_cell(CELL)


def test_a_path_has_a_row_for_each_metric_and_one_that_says_where_it_was_looked_at(rows) -> None:
    at = next(row for row in rows if row["metric"] == "iteration")
    assert at["path"] == [0, 1, 2, 3, 4, 5, 6] and at["stopped"] == "last iteration"
    assert {row["metric"] for row in rows if row["serving"] == "raw"} > {*setting.METRIC_NAMES, "objective"}
    assert all(len(row["path"]) == 7 and row["value"] == row["path"][-1] for row in rows)
    assert {row["serving"] for row in rows} == {"raw", "plus log popularity"}
    assert not any("paper" in row for row in rows)  # each printed number counts once, in P3-T6


def test_it_starts_where_table_6_starts(rows) -> None:
    train, _ = setting.load_split(DATA, 0)
    cell = {**CELL, "method": "L-BFGS", "max_iterations": 1}
    size = paths.batch_size_from_ratio(1e-1, len(train))
    extra = full_gradient.minimum(cell, "in_batch", size, train)[2]
    objective = next(row for row in rows if row["metric"] == "objective")["path"]
    assert extra["objective"] < objective[0] and objective[-1] < extra["objective"]


def test_lists_on_the_device_have_the_numbers_of_the_metrics() -> None:
    train, test = setting.load_split(DATA, 0)
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(train.n_users, 4)), rng.normal(size=(train.n_items, 4))
    halves = rng.random(train.n_users) < 0.5
    found = paths.Lists(train, test, halves, "cpu").measure(torch.tensor(users), torch.tensor(items))
    for name, value in setting.quality(users, items, train, test).items():
        assert found[name] == pytest.approx(value, rel=1e-9)
    counted = test.row_counts > 0
    weights = np.array([(counted & half).sum() for half in (halves, ~halves)])
    mean = weights @ [found["P@5 of half 1"], found["P@5 of half 2"]] / weights.sum()
    assert found["P@5"] == pytest.approx(mean, rel=1e-9)
    assert 0 < found["items shown %"] <= 100 and found["mean count shown"] <= train.col_counts.max()


def test_the_popular_list_is_the_baseline_of_table_6() -> None:
    found = {row["metric"]: row["value"] for row in paths.path_cell({**CELL, "loss": "most popular", "ratio": None})}
    users, items, _ = full_gradient.minimum({"method": "baseline"}, "", None, setting.load_split(DATA, 0)[0])
    expected = setting.quality(users, items, *setting.load_split(DATA, 0))
    assert found["P@25"] == pytest.approx(expected["P@25"], rel=0.02)  # counts are tied, which Table 6 averages over


def test_full_scale_has_every_loss_that_table_6_prints_and_goes_on_with_two() -> None:
    cells = registry.cells_of("P3-X2", "full", (0, 1), device="cuda")
    table = papers.select(papers.table("P3", "T6"), dataset="ml-1m", pointwise="logistic")
    printed = {(row["loss"], row["ratio"]) for row in table}
    for data in ("ml-1m", "ml-100k"):
        mine = [cell for cell in cells if cell["data"] == data and cell["pointwise"] == "logistic"]
        assert printed == {(cell["loss"], cell["ratio"]) for cell in mine if cell["loss"] != "most popular"}
        long = {(cell["loss"], cell["ratio"]) for cell in mine if cell["iterations"] > 300}
        assert long == {("unbiased", None), ("in_batch_omega", 0.1)}
    assert [cell["seed"] for cell in cells[:4]] == [0, 1, 0, 1]


def path_of(values: list[float], **where) -> list[dict]:
    """Rows of a path with these P@5 at iterations 0, 1, 2, ..."""
    place = {"data": "ml-1m", "pointwise": "logistic", "loss": "unbiased", "ratio": None, "seed": 1, "serving": "raw"}
    halves = [values[::-1], values]
    told = {"iteration": [*range(len(values))], "P@5": values, "objective": [1.0] * len(values)}
    told |= {f"P@5 of half {half}": path for half, path in enumerate(halves, 1)}
    return [{**place, **where, "metric": name, "value": path[-1], "path": path} for name, path in told.items()]


def test_a_path_is_read_back() -> None:
    rows = [*path_of([1.0, 5.0, 3.0]), {**path_of([1.0])[0], "metric": "rule met", "value": 2.0}]
    del rows[-1]["path"]
    (run,) = predictions.along(rows)
    assert (run.best, run.best_at, run.rule_met) == (5.0, 1, 2)
    assert run.passes(4.0) == 1 and run.passes(6.0) is None
    assert [run.value("P@5", at) for at in (0, 1, 2, 50)] == [1.0, 5.0, 3.0, 3.0]
    (skewed,) = predictions.along(path_of([1.0, 2.0, 6.0]))
    assert skewed.cross_fitted == (1.0 + 1.0) / 2  # each half is best where the other is worst


def test_a_prediction_speaks_of_its_own_paths_alone() -> None:
    best = next(one for one in predictions.PREDICTIONS if one.name == "unbiased-best")
    rows = path_of([10.0, 16.0]) + path_of([10.0, 12.0], seed=2) + path_of([1.0], seed=0)
    rows += path_of([1.0], data="ml-100k") + path_of([1.0], serving="plus log popularity", seed=3)
    assert [(run.seed, held) for run, _, held in best.judged(rows)] == [(1, True), (2, False)]
    found = predictions.scalars(rows)
    assert (found["unbiased-best-cases"], found["unbiased-best-hold"]) == (2.0, 1.0)
    assert found["unbiased-end-cases"] == 2.0 and found["unbiased-end-hold"] == 0.0  # not gone so far: does not hold
    assert "rule-far-cases" in found and found["rule-far-hold"] == 0.0


def test_predictions_have_names_of_their_own_and_a_bound() -> None:
    names = [one.name for one in predictions.PREDICTIONS]
    assert len(set(names)) == len(names)
    assert all(np.isfinite(one.low) or np.isfinite(one.high) for one in predictions.PREDICTIONS)


def test_another_device_is_asked_for_what_rounding_leaves_alone() -> None:
    """The first iterations of the losses that agree there; of the others, which may part at once, the start."""
    unbiased, in_batch = (
        paths.again_elsewhere({**CELL, "loss": loss, "iterations": 300}) for loss in ("unbiased", CELL["loss"])
    )
    assert (unbiased[0]["iterations"], in_batch[0]["iterations"]) == (15, 0)
    rows = paths.path_cell(in_batch[0])
    assert next(row for row in rows if row["metric"] == "iteration")["path"] == [0.0]


@pytest.mark.slow
def test_what_a_gpu_made_is_compared_with_its_beginning_on_the_processor(monkeypatch) -> None:
    """To one in a thousand; a number beyond it, at any look that was made again, is named."""
    monkeypatch.setattr(paths, "REPEATED", 3)
    cell = {**CELL, "loss": "unbiased", "ratio": None}
    cells = [{**cell, "device": "cuda"}]
    monkeypatch.setitem(
        registry.REGISTRY, "P3-X2", dataclasses.replace(registry.get("P3-X2"), plan=lambda *_, **how: cells)
    )
    monkeypatch.setattr(verify.registry, "options_of", lambda name: ["device"])
    monkeypatch.setattr(verify.registry, "check_options", lambda name, options: None)
    rows = paths.path_cell(cell)
    for row in rows:
        row["path"] = [value * (1 + 5e-4) if row["metric"] == "objective" else value for value in row["path"]]
    origin = {"seeds": [0], "hardware": [{"device": "cuda"}]}
    result = experiments.Result("P3-X2", "smoke", "", rows, {}, origin)
    verdict = verify.verify(result, rng=np.random.default_rng(0))
    assert verdict and verdict.elsewhere and 4e-4 < verdict.worst < 6e-4
    assert "on the processor, 0.001 allowed" in str(verdict)
    vouched = verify.vouch(result, verdict).provenance["vouched"]
    assert vouched["on a"] == "the processor" and vouched["to"] == 0.001
    next(row for row in rows if row["metric"] == "objective")["path"][2] *= 1.1
    assert not verify.verify(result, rng=np.random.default_rng(0))
