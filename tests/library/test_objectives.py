"""training.objectives: values and gradients against in_batch and autograd, closed forms against L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from refused import refused

from course_lib import in_batch
from course_lib.interactions import Interactions
from course_lib.losses import pair_losses
from course_lib.training import objectives, paths, towers

KINDS = ("unbiased", "unbiased_omega", "popularity", "pos_neg", "in_batch", "masked")


def small(seed: int = 0, m: int = 9, n: int = 7, share: float = 0.4) -> Interactions:
    """A random label matrix without empty rows or columns."""
    rng = np.random.default_rng(seed)
    labels = rng.random((m, n)) < share
    labels[np.arange(m), np.arange(m) % n] = True
    users, items = np.nonzero(labels)
    return Interactions(users, items, n_users=m, n_items=n)


def tables(data: Interactions, k: int = 3, seed: int = 1, scale: float = 0.7) -> tuple[torch.Tensor, torch.Tensor]:
    start = objectives.random_start(data.shape, k, np.random.default_rng(seed), scale)
    return tuple(torch.tensor(table, requires_grad=True) for table in start)


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_size", [2, 11])
def test_value_and_gradient_equal_the_dense_expectation_under_autograd(
    kind: str, pointwise: str, batch_size: int
) -> None:
    data = small()
    omega = 0.3 if kind == "unbiased_omega" else None
    users, items = tables(data)
    positive, negative = pair_losses(pointwise, users @ items.T)
    labels = torch.tensor(data.labels())
    dense = in_batch.expected_objective(
        kind, pos_loss=positive, neg_loss=negative, labels=labels, batch_size=batch_size, omega=omega
    )
    dense.backward()
    weights = objectives.full_data(kind, data, batch_size=batch_size, omega=omega)
    value, du, dv = objectives.GRADIENTS[pointwise](users.detach(), items.detach(), weights)
    tolerance = 1e-12 if pointwise == "square" else 2e-6  # the logistic grid is computed in float32
    assert value == pytest.approx(float(dense.detach()), rel=tolerance)
    for ours, auto in ((du, users.grad), (dv, items.grad)):
        assert ours.dtype == torch.float64
        torch.testing.assert_close(ours, auto, rtol=tolerance, atol=tolerance * float(auto.abs().max()))
    assert objectives.objective_value(pointwise, users, items, weights) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unbiased_omega"])
def test_the_check_before_a_run_passes_and_finds_a_wrong_gradient(
    kind: str, pointwise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = small(m=40, n=30)
    for size in (11, None, 10**6):  # a part of the data may hold fewer pairs than a batch
        objectives.check_gradient(pointwise, kind, data, batch_size=size)
    right = objectives.GRADIENTS[pointwise]

    def wrong(*arguments):
        value, du, dv = right(*arguments)
        return value, du, dv * (1 + 1e-3)

    monkeypatch.setitem(objectives.GRADIENTS, pointwise, wrong)
    with pytest.raises(FloatingPointError, match=f"the {pointwise} objective of {kind} or its gradient differs"):
        objectives.check_gradient(pointwise, kind, data, batch_size=11)


def test_the_logistic_gradient_does_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small(m=50, n=6)
    users, items = (table.detach() for table in tables(data))
    weights = objectives.full_data("popularity", data)
    whole = objectives.logistic_gradient(users, items, weights)
    monkeypatch.setattr(objectives, "BLOCK_CELLS", 7 * data.n_items)
    blocks = objectives.logistic_gradient(users, items, weights)
    assert whole[0] == pytest.approx(blocks[0], rel=1e-6)
    assert objectives.logistic_value(users, items, weights) == pytest.approx(blocks[0], rel=1e-6)
    torch.testing.assert_close(whole[1], blocks[1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("chunk", [1, 5, 1000])
def test_both_ways_to_the_pair_scores_agree(chunk: int) -> None:
    data = small()
    users, items = (table.detach() for table in tables(data))
    weights = objectives.full_data("unbiased", data)
    expected = (users @ items.T)[data.users.copy(), data.items.copy()]
    torch.testing.assert_close(objectives.pair_scores(users, items, weights), expected, rtol=1e-13, atol=1e-14)
    with pytest.MonkeyPatch.context() as patch:  # as on a processor that is not Intel's or AMD's
        patch.setattr(objectives, "has_mkl", lambda: False)
        torch.testing.assert_close(objectives.pair_scores(users, items, weights, chunk), expected)
    torch.testing.assert_close(
        objectives.gathered_scores(users, items, weights, chunk), expected, rtol=1e-13, atol=1e-14
    )


@pytest.mark.seconds
@pytest.mark.parametrize("kind", ["unbiased", "popularity"])
def test_the_closed_form_is_what_l_bfgs_finds(kind: str) -> None:
    """Independent of each other: an SVD against an optimiser that knows only the objective and its gradient."""
    data, k = small(m=14, n=11), 3
    users, items = objectives.closed_form(kind, data, k)
    weights = objectives.full_data(kind, data)
    closed, du, dv = objectives.square_gradient(torch.tensor(users), torch.tensor(items), weights)
    assert float(torch.cat([du, dv]).norm()) < 1e-12  # a stationary point
    fits = [
        objectives.minimise(
            "square",
            weights,
            objectives.random_start(data.shape, k, np.random.default_rng(seed), 0.3),
            gradient_norm=1e-8,
        )
        for seed in range(3)
    ]
    assert all(fit.value >= closed - 1e-12 for fit in fits)  # none is below the global minimum
    best = min(fits, key=lambda fit: fit.value)
    assert best.value == pytest.approx(closed, rel=1e-9) and best.stopped == "gradient norm reached"
    np.testing.assert_allclose(best.users @ best.items.T, users @ items.T, atol=1e-5)


def test_the_closed_form_of_an_empty_row_is_zero() -> None:
    data = Interactions([0, 0, 1, 3], [0, 1, 1, 2], n_users=5, n_items=4)
    users, items = objectives.closed_form("popularity", data, 2)
    assert not users[[2, 4]].any() and not items[3].any() and np.isfinite(users).all() and np.isfinite(items).all()


def test_l_bfgs_stops_at_the_norm_of_the_gradient_in_the_original_coordinates() -> None:
    data = small(m=14, n=11)
    weights = objectives.full_data("in_batch", data, batch_size=12)
    seen: list[tuple[int, float, float]] = []
    start = objectives.random_start(data.shape, 2, np.random.default_rng(0), 0.1)
    fit = objectives.minimise("square", weights, start, gradient_norm=1e-6, progress=lambda *line: seen.append(line))
    value, du, dv = objectives.square_gradient(torch.tensor(fit.users), torch.tensor(fit.items), weights)
    assert fit.gradient_norm == pytest.approx(float(torch.cat([du, dv]).norm()), rel=1e-6) and fit.gradient_norm <= 1e-6
    assert fit.value == pytest.approx(value, rel=1e-12) and [line[0] for line in seen] == list(
        range(1, fit.iterations + 1)
    )
    assert seen[-2][2] > 1e-6  # it did not run longer than it had to
    short = objectives.minimise("square", weights, start, gradient_norm=1e-6, max_iterations=3)
    assert short.iterations == 3 and short.stopped != "gradient norm reached" and short.gradient_norm > 1e-6


def test_an_objective_that_is_not_finite_is_no_minimum() -> None:
    data = small(m=14, n=11)
    users, items = objectives.random_start(data.shape, 2, np.random.default_rng(0), 0.1)
    users[3, 1] = np.nan
    with pytest.raises(FloatingPointError, match="the objective became nan; expected a start whose entries are finite"):
        objectives.minimise("square", objectives.full_data("unbiased", data), (users, items))


def two() -> towers.TwoTower:
    return towers.lookup_towers(small(), d=2)


def sgd() -> torch.optim.SGD:
    return torch.optim.SGD(two().parameters(), lr=1)


EYE = objectives.full_data("unbiased", Interactions([0, 1], [0, 1], n_users=2, n_items=2))
ONES, COMPLEX = (np.ones((2, 1)), np.ones((2, 1))), torch.ones(2, 1, dtype=torch.complex64)
test_errors_name_what_is_wrong = refused(
    (lambda: objectives.full_data("in_batch", small()), "needs batch_size"),
    (lambda: objectives.full_data("strange", small()), "kind is 'strange'"),
    (lambda: objectives.closed_form("pos_neg", small(), 2), "closed form is known"),
    (lambda: objectives.closed_form("unbiased", small(), 7), "k is 7"),
    (lambda: objectives.closed_form("unbiased", [[0, 1]], 1), "^interactions is .*; expected Interactions"),
    (lambda: objectives.random_start((2, 1.5), 1, np.random.default_rng(0), 0.1), r"^shape\[1\] is 1.5"),
    (lambda: objectives.random_start((2, 2), None, np.random.default_rng(0), 0.1), "^k is None"),
    (lambda: objectives.random_start((2, 2), 1, 0, 0.1), "^rng is 0"),
    (lambda: objectives.random_start((2, 2), 1, np.random.default_rng(0), np.nan), "^scale is nan"),
    (lambda: towers.lookup_towers(small(), d=2, seed=None), "^seed is None; expected a whole number from 0 to"),
    (lambda: objectives.full_data("unbiased", [[0, 1]]), "^interactions is .*; expected Interactions"),
    (lambda: objectives.objective_value("square", COMPLEX, COMPLEX, EYE), "^users and items .* expected numbers"),
    (lambda: objectives.minimise("square", EYE, (np.ones((2, 1)), np.ones((3, 1)))), r"^start .*\(3, 1\); expected"),
    (lambda: objectives.minimise("square", EYE, "x"), "^start is 'x'; expected a table of users"),
    (lambda: objectives.minimise("square", [[1]], None), r"^data is \[\[1\]\]; expected FullData"),
    (lambda: objectives.minimise("square", EYE, ONES, gradient_norm=np.nan), "^gradient_norm is nan"),
    (lambda: objectives.minimise("square", EYE, ONES, max_iterations=0), "^max_iterations is 0; .* at least 1"),
    (lambda: objectives.full_data("unbiased_omega", small(), omega=np.ones(2)), r"^omega has shape \(2,\); expected"),
    (lambda: objectives.weighted_data(in_batch.coefficients_from("masked", a=1, rho=1), small()), "are masked"),
    (lambda: towers.judge(two(), small(), small(), examples=np.arange(len(small()))), "one for each user"),
    (lambda: towers.train_towers(two(), sgd(), small(), steps=1, seed=0, examples=[0]), "one for each training pair"),
    (lambda: towers.Growth(sgd(), two().left.weight), "table is no parameter of the optimiser"),
    (lambda: paths.descend(paths.DenseObjective("square", EYE), ONES, at=[0.5], look=print), "^at is 0.5"),
    (lambda: towers.uniform_pairs([[0, 1]]), "^train is .*; expected Interactions"),
    (lambda: towers.previous_items(small(), 1.5), "^length is 1.5"),
    (lambda: towers.judge(None, small(), small(), lists="x"), "^lists is 'x'"),
    (lambda: towers.item_norms(None, 2), "^towers is None; expected Module"),
    (lambda: towers.train_towers(None, None, small(), steps=1, seed=0), "^towers is None; expected Module"),
    (lambda: objectives.objective_value("cubic", None, None, None), "point_loss is 'cubic'"),
    (lambda: objectives.minimise("cubic", None, ()), "point_loss is 'cubic'"),
)


@pytest.mark.parametrize("kind", [np.ndarray.tolist, torch.tensor, lambda x: torch.tensor(x, requires_grad=True)])
def test_a_start_may_be_lists_or_tensors(kind: Callable[[np.ndarray], Any]) -> None:
    start, where = objectives.random_start(EYE.shape, 2, np.random.default_rng(0), 0.5), {"at": [2], "look": no_look}
    given = tuple(map(kind, start))
    wanted, found = (objectives.minimise("square", EYE, one, max_iterations=3) for one in (start, given))
    assert np.array_equal(found.users, wanted.users) and found.value == wanted.value
    objective = paths.DenseObjective("square", EYE)
    assert paths.descend(objective, given, **where).points == paths.descend(objective, start, **where).points


def no_look(users: torch.Tensor, items: torch.Tensor) -> dict[str, float]:
    return {}
