"""training.stochastic: gradients against autograd through in_batch, AdaGrad against torch's, and P3's procedure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from refused import refused

from course_lib import in_batch
from course_lib.checking import some
from course_lib.experiments.p3.setting import servings
from course_lib.interactions import Interactions
from course_lib.losses import pair_losses
from course_lib.training import objectives, stochastic

pytestmark = pytest.mark.seconds

LOSSES = ("unbiased", "unbiased_omega", "masked", "pos_neg", "in_batch", "popularity")


def synthetic(m: int = 60, n: int = 40, pairs: int = 700, seed: int = 0) -> tuple[Interactions, Interactions]:
    """Pairs of skewed popularity, 90 % for train; every row and column has a training pair."""
    rng = np.random.default_rng(seed)
    weights = np.outer(rng.pareto(2, m) + 0.3, rng.pareto(2, n) + 0.3).ravel()
    cells = rng.choice(m * n, size=pairs, replace=False, p=weights / weights.sum())
    held, trained = np.sort(cells[: pairs // 10]), cells[pairs // 10 :]
    diagonal = np.arange(m) * n + np.arange(m) % n
    trained = np.union1d(trained, diagonal)
    held = np.setdiff1d(held, trained)
    return tuple(Interactions(*np.divmod(part, n), n_users=m, n_items=n) for part in (trained, held))


def stack(
    train: Interactions, pointwise: str = "square", losses=LOSSES, batch_size: int = 40, **schedule
) -> stochastic.Stack:
    given = {"first_lr": 0.5, "max_epochs": 3, "start_scale": 0.5} | schedule
    return stochastic.Stack(
        losses,
        pointwise,
        train,
        batch_size,
        k=3,
        rng=np.random.default_rng(1),
        schedule=stochastic.Schedule(**given),
        omega=0.3,
        dtype=torch.float64,
    )


def autograd(one: stochastic.Stack, at: int, loss: str, places: np.ndarray, other: np.ndarray | None = None):
    """Gradients of the whole tables by autograd through `in_batch`, on the s x s grid as the paper writes it."""
    users, items = (table[:, at].clone().requires_grad_() for table in (one.u, one.v))
    rows, cols = one.train.users[places], one.train.items[places]
    scores = users[rows] @ items[cols if other is None else one.train.items[other]].T
    grid = pair_losses(one.pointwise, scores)
    given = {"n_positives": len(one.train), "shape": one.train.shape}
    if other is None:
        given |= {"row_counts": one.train.row_counts[rows], "col_counts": one.train.col_counts[cols]}
        omega = 0.3 if loss == "unbiased_omega" else None
        labels = torch.tensor(one.train.labels()[np.ix_(rows, cols)]) if loss == "masked" else None
        value = in_batch.batch_loss(
            loss, pos_loss=grid[0].diagonal(), neg_loss=grid[1], omega=omega, labels=labels, **given
        )
    else:
        own = pair_losses(one.pointwise, (users[rows] * items[cols]).sum(1))
        given |= {"row_counts": one.train.row_counts[rows], "col_counts": one.train.col_counts[one.train.items[other]]}
        value = in_batch.sogram_loss(pos_loss=own[0], neg_diag=own[1], neg_cross=grid[1], **given)
    value.backward()
    return users.grad, items.grad


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("losses", [LOSSES, ("sogram",)])
def test_gradients_equal_autograd_through_the_batch_loss(pointwise: str, losses: tuple[str, ...]) -> None:
    one, rng = stack(synthetic()[0], pointwise, losses), np.random.default_rng(3)
    places, other = (rng.choice(len(one.train), 40, replace=False) for _ in range(2))
    second = [other] if "sogram" in losses else []
    batch = one.batch(places, *second)
    assert (len(batch.rows) < 40 and len(batch.cols) < 40) or second  # there are copies to collapse
    du, dv = one.gradients(batch)
    for at, loss in enumerate(losses):
        expected_u, expected_v = autograd(one, at, loss, np.sort(places), *second)
        found_u, found_v = torch.zeros_like(expected_u), torch.zeros_like(expected_v)
        found_u[batch.rows], found_v[batch.cols] = du[:, at], dv[:, at]
        torch.testing.assert_close(found_u, expected_u, rtol=1e-10, atol=1e-15)
        torch.testing.assert_close(found_v, expected_v, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("losses", [LOSSES, ("sogram",)])
def test_a_run_whose_gradients_are_not_autograds_does_not_start(
    pointwise: str, losses: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, test = synthetic()
    one = stack(data, pointwise, losses, batch_size=300)  # more pairs than are looked at
    batch = next(one.batches())
    before = one.rng.bit_generator.state
    one.check_gradients(batch)
    assert one.rng.bit_generator.state == before  # the check draws nothing: the run stays the same
    right = stochastic._StackedWeights.own
    monkeypatch.setattr(stochastic._StackedWeights, "own", lambda *given: right(*given) * 1.001)
    with pytest.raises(FloatingPointError, match=f"{losses[0]} .{pointwise}. differs from autograd through in_batch"):
        train(one, test)
    assert torch.equal(one.u, one.start[0].repeat(1, len(losses), 1))  # no step was taken


def test_steps_equal_torchs_adagrad() -> None:
    one = stack(synthetic()[0], losses=("in_batch",))
    users, items = (torch.nn.Parameter(table[:, 0].clone()) for table in (one.u, one.v))
    optimizer = torch.optim.Adagrad([users, items], lr=0.5, eps=1e-10)
    rng = np.random.default_rng(4)
    for _ in range(5):
        places = np.sort(rng.choice(len(one.train), 40, replace=False))
        users.grad, items.grad = autograd(one, 0, "in_batch", places)
        optimizer.step()
        one.step(one.batch(places))
    torch.testing.assert_close(one.u[:, 0], users.data, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(one.v[:, 0], items.data, rtol=1e-9, atol=1e-12)


def train(one: stochastic.Stack, test: Interactions, **options: Any) -> list[stochastic.Trained]:
    halves = np.arange(one.train.n_users) % 2 == 0
    return stochastic.train_stack(one, test, cutoffs=(1, 5), halves=halves, servings=servings, **options)


def test_progress_is_told_at_the_end_of_each_epoch() -> None:
    data, test = synthetic()
    one, told = stack(data, first_lr=0.1, max_epochs=3, patience=3), []
    train(one, test, progress=lambda step, running: told.append((step, len(running))))
    assert [step for step, _ in told] == [one.steps_per_epoch * epoch for epoch in (1, 2, 3)]
    assert all(running for _, running in some(told))


def test_a_stack_is_exactly_its_members_trained_alone() -> None:
    """Also after some of them are finished and leave the stack."""
    data, test = synthetic()
    given = {"first_lr": 0.1, "max_epochs": 30, "patience": 2}
    together = train(stack(data, **given), test)
    assert len({run.steps for run in together}) > 2 and not any(run.halvings for run in together)
    for loss, run in zip(LOSSES, together, strict=True):
        alone = train(stack(data, losses=(loss,), **given), test)[0]
        assert (run.loss, run.steps, run.stopped) == (loss, alone.steps, alone.stopped)
        np.testing.assert_allclose(run.users, alone.users, rtol=1e-7, atol=1e-10)
        assert [entry["objective"] for entry in run.history] == pytest.approx(
            [entry["objective"] for entry in alone.history], rel=1e-9
        )


def test_a_restart_touches_one_configuration_only() -> None:
    one, fresh = (stack(synthetic()[0]) for _ in range(2))
    batches = one.batches()
    for _ in range(3):
        one.step(next(batches))
    before = one.u.clone(), one.square_v.clone()
    one.restart(2, 0.125)
    assert torch.equal(one.u[:, 2], fresh.u[:, 2]) and torch.equal(one.v[:, 2], fresh.v[:, 2])
    assert not one.square_u[:, 2].any() and not one.square_v[:, 2].any() and float(one.lr[2]) == 0.125
    others = [0, 1, 3, 4, 5]
    assert torch.equal(one.u[:, others], before[0][:, others])
    assert torch.equal(one.square_v[:, others], before[1][:, others])
    assert [float(one.lr[at]) for at in others] == [0.5] * 5


def test_the_learning_rate_is_halved_until_it_does_not_diverge() -> None:
    data, test = synthetic()
    one = stack(data, losses=("unbiased",), first_lr=2.0**18)
    first = one.objective(0)
    run = train(one, test)[0]
    assert run.lr == 2.0 ** (18 - run.halvings) and run.halvings >= 10
    assert all(entry["objective"] <= 100 * first for entry in some(run.history))
    worse = stack(data, losses=("unbiased",), first_lr=2 * run.lr)
    assert train(worse, test)[0].lr == run.lr  # twice the rate diverges again


def test_the_unbiased_loss_approaches_the_full_minimum() -> None:
    """Stochastic training against the closed form, which knows nothing of it: within a tenth of the way down."""
    data, test = synthetic()
    one = stack(data, losses=("unbiased",), first_lr=0.25, max_epochs=80, patience=80, start_scale=0.1)
    first = one.objective(0)
    weights = objectives.full_data("unbiased", data)
    lowest = objectives.square_gradient(*map(torch.tensor, objectives.closed_form("unbiased", data, 3)), weights)[0]
    reached = train(one, test)[0].history[-1]["objective"]
    assert lowest < reached < lowest + 0.1 * (first - lowest)


def test_runs_repeat_exactly() -> None:
    data, test = synthetic()
    first, again = (train(stack(data, "logistic"), test) for _ in range(2))
    assert [run.history for run in first] == [run.history for run in again]


def history(values: list[tuple[float, float, float]]) -> stochastic.Trained:
    run = stochastic.Trained("unbiased", 1.0)
    for at, triple in enumerate(values):
        metrics = {"raw": {"P@5": list(triple)}}
        run.history.append({"step": at, "epoch": float(at), "objective": 1.0, "metrics": metrics})
        run.epochs = float(at)
    return run


def test_all_batches_are_whole_and_both_halves_are_measured() -> None:
    train_part, test = synthetic()
    for losses in (("unbiased",), ("sogram",)):  # Sogram draws a second stream
        drawn = stack(train_part, losses=losses, batch_size=33).batches()
        assert {len(next(drawn).row_at) for _ in range(2 * len(train_part) // 33 + 2)} == {33}
    [run] = train(stack(train_part, losses=("unbiased",)), test)
    whole, first, second = run.history[-1]["metrics"]["raw"]["P@5"]
    assert first != second and min(first, second) < whole < max(first, second)


def test_each_pass_has_every_pair_at_most_once_in_an_order_of_its_own() -> None:
    train_part, _ = synthetic()
    one = stack(train_part, losses=("unbiased",), batch_size=33)
    first, second = (np.concatenate([one.draw()[0] for _ in range(one.steps_per_epoch)]) for _ in range(2))
    assert len(np.unique(first)) == len(np.unique(second)) == len(first) > len(train_part) - 33
    assert not np.array_equal(first, second)


def test_the_two_batches_of_sogram_are_drawn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4, footnote 5. Two independent batches of s of N pairs have s^2 / N pairs in common on average.

    One and the same would have s; two parts of one shuffled epoch would have none.
    """
    data, size = synthetic()[0], 40
    one = stack(data, losses=("sogram",), batch_size=size)
    monkeypatch.setattr(one, "batch", lambda *both: tuple(np.array(places) for places in both))
    epochs, drawn = 25, one.batches()
    pairs = [next(drawn) for _ in range(epochs * one.steps_per_epoch)]
    common = np.array([len(np.intersect1d(first, second)) for first, second in some(pairs)])
    expected = size * size / len(data)
    deviation = (expected * (1 - size / len(data)) ** 2) ** 0.5  # hypergeometric, about
    assert abs(common.mean() - expected) < 4 * deviation / len(common) ** 0.5
    assert common.min() < expected < common.max()
    for side in (0, 1):  # each epoch shows every pair once at most, in an order of its own
        stream = np.array([both[side] for both in pairs]).reshape(epochs, -1)
        assert all(len(set(epoch.tolist())) == epoch.size for epoch in some(stream))
        assert len({tuple(epoch[:size]) for epoch in stream}) == epochs


def test_of_equally_good_checkpoints_the_first_is_chosen() -> None:
    """1 on half B, 5 on half A."""
    equal = history([(0.0, 5.0, 1.0), (0.0, 5.0, 9.0), (0.0, 5.0, 9.0)])
    assert stochastic.cross_fitted(equal, "raw", "P@5") == 3.0


def test_it_stops_after_the_patience_or_at_the_cap() -> None:
    schedule = stochastic.Schedule(patience=2, max_epochs=5)
    assert not stochastic._stop(history([(1, 1, 1), (2, 2, 2), (1, 1, 1)]), schedule)
    gone = history([(1, 1, 1), (2, 2, 2), (1, 1, 1), (2, 2, 2)])
    assert stochastic._stop(gone, schedule) and gone.stopped == "no gain"  # equal is no gain
    capped = history([(float(at),) * 3 for at in range(6)])
    assert stochastic._stop(capped, schedule) and capped.stopped == "epoch cap"


NO_SCHEDULE = [
    *(("first_lr", 0), ("patience", 0), ("max_epochs", 2.5), ("evaluations_per_epoch", 0)),
    ("start_scale", float("nan")),
]


def made(train: Any, **changes: Any) -> stochastic.Stack:
    given = {"k": 3, "rng": np.random.default_rng(1), "schedule": stochastic.Schedule()} | changes
    return stochastic.Stack(["sogram"], "square", train, 5, **given)


def halved(halves: Any) -> object:
    train, test = synthetic()
    return stochastic.train_stack(stack(train), test, cutoffs=(5,), halves=halves, servings=servings)


def test_the_losses_may_be_a_list() -> None:
    """A list of "sogram" alone draws two batches a step, as a tuple does."""
    assert len(made(synthetic()[0]).draw()) == 2


test_errors_name_what_is_wrong = refused(
    (lambda: stack(synthetic()[0], losses=("sogram", "unbiased")), "stack of its own"),
    (lambda: stack(synthetic()[0], "Square"), "^pointwise is 'Square'; expected one of square, logistic"),
    (lambda: made(synthetic()[0], k=0), "^k is 0; expected a whole number of at least 1"),
    (lambda: made(synthetic()[0], rng=0), "^rng is 0; expected a numpy.random.Generator"),
    (lambda: made([[0, 0]]), "^train is .*; expected Interactions"),
    *((lambda halves=halves: halved(halves), "^halves is .*; expected True or False") for halves in ([0] * 60, [True])),
    *((lambda n=n, x=x: stochastic.Schedule(**{n: x}), f"{n} is {x}") for n, x in NO_SCHEDULE),
)
