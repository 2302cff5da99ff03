"""L-BFGS on one device with looks: the objective is the course's, and the way leads where SciPy's leads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from long_tails import long_tailed
from refused import refused

from course_lib import in_batch
from course_lib.interactions import Interactions
from course_lib.training import objectives, paths
from course_lib.training.objectives import GRADIENTS, full_data, random_start

DATA = long_tailed(60, 40, timed=False)


def start(scale: float = 0.3, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    return random_start(DATA.shape, k, np.random.default_rng(0), scale)


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("kind", in_batch.KINDS)
@pytest.mark.parametrize("cells", [40, 90, 10**6])
def test_dense_blocks_have_the_gradient_of_the_objective(kind: str, pointwise: str, cells: int) -> None:
    """In blocks of one row, of two, and in one. The other implementation computes the logistic grid in float32."""
    data = full_data(kind, DATA, batch_size=32, omega=0.5 if kind == "unbiased_omega" else None)
    tables = [torch.tensor(table) for table in start()]
    ours, theirs = paths.DenseObjective(pointwise, data, cells)(*tables), GRADIENTS[pointwise](*tables, data)
    tolerance = 1e-12 if pointwise == "square" else 1e-5
    assert float(ours[0]) == pytest.approx(theirs[0], rel=tolerance)
    for one, other in zip(ours[1:], theirs[1:], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance * float(other.abs().max()))


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("given", [{"kind": "unbiased_omega", "omega": 0}, {"kind": "in_batch", "batch_size": 1}])
def test_where_negatives_have_no_weight_the_gradient_is_that_of_the_pairs(given: dict, pointwise: str) -> None:
    data = full_data(interactions=DATA, **given)
    tables = [torch.tensor(table, requires_grad=True) for table in start()]
    value, *gradients = paths.DenseObjective(pointwise, data)(*(table.detach() for table in tables))
    scores = (tables[0][data.rows] * tables[1][data.cols]).sum(1)
    own = data.positive * paths.POINTWISE[pointwise].positive(scores) + data.own * paths.POINTWISE[pointwise].negative(
        scores
    )
    assert value.item() == pytest.approx(own.sum().item())
    for ours, theirs in zip(gradients, torch.autograd.grad(own.sum(), tables), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_loss_of_a_very_high_score_keeps_its_digits() -> None:
    """torch's softplus is the identity from 20 on: wrong by 2e-9 there."""
    score = torch.tensor(21.0, dtype=torch.float64)
    assert float(paths.POINTWISE["logistic"].negative(score) - score) == pytest.approx(np.exp(-21), rel=1e-5)
    assert float(paths.POINTWISE["logistic"].positive(score)) == pytest.approx(np.exp(-21), rel=1e-5)


@pytest.mark.parametrize("kind", ["unbiased", "popularity", "pos_neg"])
def test_the_way_ends_where_scipys_ends(kind: str) -> None:
    """The square loss has one minimum value at a width, which neither has quite reached with popularity's weights.

    The gradient's norm is that of the original coordinates.
    """
    labels = long_tailed(20, 15, timed=False)
    data, begin = full_data(kind, labels, batch_size=32), random_start(labels.shape, 3, np.random.default_rng(0), 0.3)
    theirs = objectives.minimise("square", data, begin, gradient_norm=1e-9)
    path = paths.descend(paths.DenseObjective("square", data), begin, at=paths.log_even(600), look=lambda u, v: {})
    assert path.points[-1]["objective"] == pytest.approx(theirs.value, rel=1e-4 if kind == "popularity" else 1e-9)
    users, items = path.users, path.items
    value, du, dv = paths.DenseObjective("square", data)(users, items)
    assert path.points[-1]["objective"] == float(value)
    assert path.points[-1]["gradient norm"] == pytest.approx(float(torch.cat([du, dv]).norm()), rel=1e-9)
    assert (path.rule_met is None) == (kind == "popularity")
    assert path.rule_met in [None, *(point["iteration"] for point in path.points)]


def test_looks_do_not_disturb_and_a_longer_path_begins_alike() -> None:
    """L-BFGS keeps its memory over looks: the same numbers whether one looks at each iteration or at the last."""
    objective, seen = paths.DenseObjective("logistic", full_data("unbiased", DATA)), []
    every = paths.descend(objective, start(), at=range(21), look=lambda u, v: seen.append(1) or {"x": float(u.sum())})
    last = paths.descend(objective, start(), at=[20], look=lambda u, v: {"x": float(u.sum())})
    assert len(seen) == 21 and [point["iteration"] for point in every.points] == [*range(21)]
    assert every.points[-1] == last.points[0]
    values = [point["objective"] for point in every.points]
    assert all(after < before for before, after in itertools.pairwise(values))


def test_separable_labels_have_no_minimiser_and_the_rule_is_met_on_the_way() -> None:
    """One positive a user, width 2: the logistic objective goes to 0 as the tables grow without end."""
    data = full_data("unbiased", Interactions(range(6), range(6), n_users=6, n_items=6))
    begin = random_start((6, 6), 6, np.random.default_rng(1), 0.5)
    path = paths.descend(paths.DenseObjective("logistic", data), begin, at=paths.log_even(200), look=lambda u, v: {})
    assert path.rule_met is not None and path.points[-1]["objective"] < 1e-9
    at_rule = next(point for point in path.points if point["iteration"] == path.rule_met)
    assert at_rule["gradient norm"] <= paths.RULE and at_rule["objective"] > path.points[-1]["objective"]


def test_looks_are_even_in_the_logarithm() -> None:
    looks = paths.log_even(2000)
    assert looks[0] == 0 and looks[-1] == 2000 and len(set(looks)) == len(looks)
    ratios = np.array(looks[12:-1]) / np.array(looks[11:-2])
    assert ratios.max() < 1.3 and set(paths.log_even(300)[:-1]) <= set(looks)


test_numbers_that_are_none_are_refused = refused(
    (lambda: paths.log_even(-3), "^last is -3; expected a whole number"),
    (lambda: paths.log_even(100, 0), "^per_factor_10 is 0; expected a whole number"),
    (lambda: paths.DenseObjective("hinge", full_data("unbiased", DATA)), "point_loss"),
)


def test_what_is_not_finite_is_refused() -> None:
    (users, items), objective = start(), paths.DenseObjective("square", full_data("unbiased", DATA))
    with pytest.raises(FloatingPointError, match="iteration 0"):
        paths.descend(objective, (users * np.nan, items), at=[1], look=lambda u, v: {})
