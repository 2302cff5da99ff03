"""The weight on popularity beside the methods: its score, its curve, and what is read off it."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import experiments
from course_lib.experiments.core.results import Result
from course_lib.experiments.p1 import weight as experiment
from course_lib.lessons.ddc import findings, weight

CHANGES = {-1.0: (-10.0, -4.0), 0.0: (0.0, 0.0), 1.0: (20.0, 2.0)}
X3 = Result(
    "P1-X3",
    "laptop",
    "",
    [
        {"data": "x", "backbone": "MF", "weight": w, "seed": seed, "metric": name, "value": value + seed}
        for w, both in CHANGES.items()
        for name, value in zip(weight.CHANGES, both, strict=True)
        for seed in (0, 1)
    ],
)
T3 = Result(
    "P1-T3",
    "laptop",
    "",
    [
        {"data": "x", "backbone": "MF", "method": "PC", "seed": seed, "metric": name, "value": value}
        for seed, both in ((1, (-4.0, 0.0)), (0, (10.0, 3.0)))  # in another order than the curves
        for name, value in zip(weight.CHANGES, both, strict=True)
    ],
)


def test_the_score_is_the_models_plus_the_weight_times_the_log_of_the_count() -> None:
    rng = np.random.default_rng(0)
    users, items, logs = rng.normal(size=(3, 4)), rng.normal(size=(5, 4)), np.log([1, 2, 3, 5, 8])
    u, i = experiment.served(users, items, logs, -0.3)
    np.testing.assert_allclose(u @ i.T, users @ items.T - 0.3 * logs)


def test_a_method_is_laid_on_the_curve_of_its_own_training() -> None:
    assert weight.curve(X3, 1, data="x", backbone="MF").popularity.tolist() == [-9, 1, 21]
    # seed 1: halfway between (-9, -3) and (1, 1); seed 0: halfway between (0, 0) and (20, 2)
    assert weight.beyond(T3, X3, "PC", data="x", backbone="MF") == pytest.approx([0 - -1.0, 3 - 1.0])


def test_beyond_its_ends_a_curve_is_not_a_number_and_a_weight_keeps_the_promise_on_average() -> None:
    assert np.isnan(weight.curve(X3, 0, data="x", backbone="MF").at(20.5))
    assert weight.keeps(X3, data="x", backbone="MF") == {}
    shifted = Result(
        "P1-X3", "laptop", "", [{**row, "value": row["value"] + 5 * ("MRR" in row["metric"])} for row in X3.rows]
    )
    assert weight.keeps(shifted, data="x", backbone="MF") == {-1.0: 1.5}


def test_what_is_not_there_is_named() -> None:
    for look in (
        lambda: weight.beyond(T3, X3, "IPZ", data="x", backbone="MF"),
        lambda: weight.curve(X3, 7, data="x", backbone="MF"),
    ):
        with pytest.raises(
            ValueError, match=r"P1-.* has no AvgPop@10 change % of \{.*(IPZ|7).*expected values of its col"
        ):
            look()


def test_the_predictions_that_the_lab_counts() -> None:
    t3, x3 = (experiments.load_result(name, "laptop") for name in ("P1-T3", "P1-X3"))
    said = findings.few_methods_beat_a_weight.evidence(t3, x3).said
    assert weight.verdicts(t3, x3, len(said)) == {name: name != "promise" for name in experiment.PREDICTIONS}
    assert not weight.verdicts(t3, x3, 1)["certain"]


def test_every_method_lies_within_the_stored_curves() -> None:
    t3, x3 = (experiments.load_result(name, "laptop") for name in ("P1-T3", "P1-X3"))
    assert weight.weights(x3) == list(experiment.WEIGHTS)
    for data in x3.distinct("data"):
        for backbone in ("MF", "LightGCN"):
            zero = x3.values("MRR@10", weight=0.0, data=data, backbone=backbone)
            plain = t3.values("MRR@10", method=None, data=data, backbone=backbone)
            assert zero[: len(plain)] == pytest.approx(plain, rel=1e-9)  # the rivals of the slowest have fewer seeds
            for method in t3.distinct("method")[1:]:
                assert np.isfinite(weight.beyond(t3, x3, method, data=data, backbone=backbone)).all()
