"""P3-X3: the runs of Table 5 beyond 60 epochs, their paths, and the predictions about them, on the smallest set."""

import numpy as np
import pytest
import torch

from course_lib import experiments
from course_lib.experiments.p3 import longer, predictions, setting, stochastic_gradient
from course_lib.training import objectives

[CELL] = experiments.cells_of("P3-X3", "smoke", (0,))


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return longer.longer_cell(CELL)


def test_its_runs_are_those_of_table_5(rows) -> None:
    """The same start and batches: beside fewer losses, and looked at, a run goes the same way for some epochs."""
    train, test = setting.load_split(CELL["data"], CELL["seed"])
    both = {**CELL, "losses": ["unbiased", "popularity", "pos_neg"]}
    before = stochastic_gradient.trained_rows(both, stochastic_gradient.train_cell(both, train, test))
    chosen = [row for row in before if row["loss"] != "popularity"]
    mine = [row for row in rows if row["loss"] != "most popular" and row["selection"] != "path"]
    mine = [row for row in mine if row["metric"] not in ("mean count shown", "items shown %")]
    assert [row["metric"] for row in mine] == [row["metric"] for row in chosen]
    assert [row["value"] for row in mine] == pytest.approx([row["value"] for row in chosen], rel=1e-5)


def test_a_path_has_every_metric_at_each_look_and_ends_where_the_run_ends(rows) -> None:
    for run in predictions.along(longer.paths(rows)):
        assert run.at == [1, 2, 3, 4] and set(run.metrics) > {*setting.METRIC_NAMES, "objective", "gradient norm"}
        end = {row["metric"]: row["value"] for row in rows if (row["loss"], row["selection"]) == (run.loss, "last")}
        assert run.metrics["P@5"][-1] == pytest.approx(end["P@5"], rel=1e-6)
        assert run.metrics["objective"][-1] == pytest.approx(end["objective"], rel=1e-6)
        halves = (run.metrics[f"P@5 of half {half}"][-1] for half in (1, 2))
        assert min(halves) <= run.metrics["P@5"][-1]


def test_the_gradients_norm_is_that_of_the_expected_objective() -> None:
    train, _ = setting.load_split(CELL["data"], CELL["seed"])
    looks, rng = longer.Looks(CELL, train), np.random.default_rng(1)
    users, items = (rng.normal(size=(size, 4)).astype(np.float32) for size in train.shape)
    size = stochastic_gradient.batch_size_from_ratio(CELL["ratio"], len(train))
    left, right = (torch.tensor(table, dtype=torch.float64, requires_grad=True) for table in (users, items))
    weights = objectives.full_data("pos_neg", train, batch_size=size)
    positive = torch.tensor(train.matrix.toarray() > 0)
    scores = left @ right.T
    cells = weights.grid * weights.row_weight[:, None] * weights.col_weight * scores**2 / 2
    on_pairs = scores[positive]  # row by row, as the pairs of the training part lie
    (cells.sum() + (weights.positive * (1 - on_pairs) ** 2 / 2 + weights.own * on_pairs**2 / 2).sum()).backward()
    expected = float(torch.cat([left.grad, right.grad]).norm())
    assert looks.norm("pos_neg", users, items) == pytest.approx(expected, rel=1e-9)


def test_lists_and_most_popular_stand_beside_accuracy(rows) -> None:
    names = {row["metric"] for row in rows if row["loss"] == "unbiased" and row["selection"] == "last"}
    assert names > {"mean count shown", "items shown %"}
    popular = {row["metric"]: row["value"] for row in rows if row["loss"] == "most popular"}
    assert popular["P@5"] > 0 and popular["mean count shown"] > 0
    assert not any("paper" in row for row in rows if row["loss"] == "most popular" or row["selection"] == "path")


def test_each_prediction_speaks_of_a_run_and_could_fail() -> None:
    assert {prediction.where["ratio"] for prediction in longer.PREDICTIONS} == set(setting.RATIOS)
    known = {(cell["ratio"], loss) for cell in experiments.cells_of("P3-X3", "laptop") for loss in cell["losses"]}
    assert all((one.where["ratio"], one.where["loss"]) in known for one in longer.PREDICTIONS)
    where = {"data": "ml-1m", "pointwise": "square", "loss": "pos_neg", "ratio": 1e-3, "seed": 0, "selection": "path"}
    made = [
        {**where, "serving": "raw", "metric": name, "path": path, "value": path[-1]}
        for name, path in {"epoch": [1, 300], "P@5": [2.0, 14.4]}.items()
    ]
    assert longer.scalars(made)["pos-neg-1e-3-best-hold"] == 0
    made[1]["path"] = [2.0, 12.0]
    assert longer.scalars(made)["pos-neg-1e-3-best-hold"] == 1
