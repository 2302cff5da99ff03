"""course_lib.training.free_vectors: every move is on record, and lengths follow from the record."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refused import refused

from course_lib import geometry, losses
from course_lib.interactions import Interactions
from course_lib.training.free_vectors import Moves, _moves_of, descend, train_tables


def toy(n_pairs: int = 60) -> Interactions:
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers([[12, 9]], size=(n_pairs, 2)), axis=0)
    return Interactions(pairs[:, 0], pairs[:, 1], n_users=12, n_items=9)


def info_nce(scores: torch.Tensor) -> torch.Tensor:
    return losses.infonce(scores, tau=0.2)


def run(**options):
    options = {"loss": info_nce, "lr": 1.0, "steps": 25, "batch_size": 16, "d": 5} | options
    return train_tables(toy(), generator=torch.Generator().manual_seed(1), **options)


def test_free_vectors_under_a_cosine_loss_only_grow() -> None:
    found = run()
    moves = found.moves
    assert moves.shorter == 0 and moves.longer == len(moves) > 150
    assert moves.worst_cosine < 1e-14
    last, predicted = moves.pythagoras()
    np.testing.assert_allclose(last, predicted, rtol=1e-13)
    items = np.unique(moves.item)
    np.testing.assert_allclose(last, geometry.norm(found.items)[items].numpy(), rtol=1e-14)
    assert found.loss.shape == (25,) and found.loss[-1] < found.loss[0]


def test_float32_stays_float32() -> None:
    found = run(dtype=torch.float32)
    assert found.items.dtype == found.users.dtype == torch.float32
    assert 1e-9 < found.moves.worst_cosine < 1e-5


@pytest.mark.parametrize("change", [{"scores": losses.dot_scores}, {"shared_bias": True, "lr": 10.0}])
def test_what_breaks_it(change: dict) -> None:
    moves = run(**change).moves
    last, predicted = moves.pythagoras()
    assert moves.shorter > 0 and moves.worst_cosine > 0.2
    assert np.abs(last / predicted - 1).max() > 0.05


def test_moves_without_a_gradient_have_no_cosine() -> None:
    moves = run(loss=lambda scores: 0 * scores.sum()).moves
    assert np.isnan(moves.cosine).all() and moves.worst_cosine == 0.0


@pytest.mark.parametrize(("measured", "wanted"), [(True, (0, 3)), (False, (4, 0))])
def test_a_move_is_the_gradients_or_what_was_seen(measured: bool, wanted: tuple[float, float]) -> None:
    before, after = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 3.0]])
    *_, start, end, length, cosine = _moves_of(
        1, torch.tensor([7]), before, torch.tensor([[4.0, 0.0]]), after, measured
    )
    assert (start, end, length) == (1, pytest.approx(10**0.5), max(wanted))
    assert cosine == wanted[0] / length


@pytest.mark.parametrize("shared_bias", [False, True])
def test_the_gradients_of_copies_add_up(shared_bias: bool) -> None:
    """(9): three steps are those of autograd on the whole tables, where a batch of 16 draws users and items again."""
    found, data = run(steps=3, shared_bias=shared_bias), toy()
    seed = torch.Generator().manual_seed(1)
    tables = [5**-0.5 * torch.randn(size, 5, generator=seed, dtype=torch.float64) for size in (12, 9)]
    tables.append(torch.zeros(5, dtype=torch.float64))  # what all items share
    pairs = torch.tensor(data.pairs)
    for step in (1, 2, 3):
        drawn = torch.randint(len(pairs), (16,), generator=seed)
        users, items, shared = (table.requires_grad_() for table in tables)
        left, right = pairs[drawn].T
        assert len(set(left.tolist())) < 16 and len(set(right.tolist())) < 9  # there are copies, and not all items
        loss = info_nce(losses.cosine_scores(users[left], (items + shared)[right]))
        slopes = torch.autograd.grad(loss, (users, items, shared))
        if not shared_bias:
            moved = found.moves.item[found.moves.step == step]
            np.testing.assert_allclose(
                found.moves.length[found.moves.step == step], geometry.norm(slopes[1])[moved], rtol=1e-11
            )
        tables = [(table - slope).detach() for table, slope in zip((users, items, shared), slopes, strict=True)]
        tables[2] = tables[2] if shared_bias else torch.zeros(5, dtype=torch.float64)
    torch.testing.assert_close(found.users, tables[0], rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found.items, tables[1], rtol=1e-12, atol=1e-14)
    if shared_bias:
        torch.testing.assert_close(found.bias, tables[2], rtol=1e-12, atol=1e-14)
    else:
        assert found.bias is None


def test_the_path_of_an_item() -> None:
    moves = Moves(
        *map(np.array, ([4, 7, 4], [1, 1, 3], [1.0, 2.0, 1.5], [1.5, 1.0, 2.5], [1.0, 1.0, 2.0], [0.0, 0.5, 0.0]))
    )
    steps, norms = moves.path(4)
    assert steps.tolist() == [0, 1, 3] and norms.tolist() == [1.0, 1.5, 2.5]
    assert (moves.longer, moves.shorter, moves.worst_cosine) == (2, 1, 0.5)
    last, predicted = moves.pythagoras()
    assert last.tolist() == [2.5, 1.0]
    np.testing.assert_allclose(predicted, [np.sqrt(6), np.sqrt(5)])
    with pytest.raises(ValueError, match="item=5 never moved; 2 items did"):
        moves.path(5)


def test_descend_keeps_its_arguments() -> None:
    Q, K = torch.eye(2, dtype=torch.float64), torch.ones(2, 2, dtype=torch.float64)
    paths = descend(Q, K, loss=lambda s: -s.sum(), lr=0.1, steps=3)
    assert [tuple(p.shape) for p in paths] == [(4, 2, 2), (4, 2, 2)]
    assert not any(p.requires_grad for p in paths)
    assert (torch.eye(2) == Q).all() and (paths[0][0] == Q).all()
    assert (geometry.norm(paths[0]).diff(dim=0) >= 0).all()


def root_at_zero(s: torch.Tensor) -> torch.Tensor:
    return s.sum() + (0 * s[0, 0]).sqrt()


EYES, FAR = (torch.eye(2), torch.eye(2)), (torch.full((1, 2), 1e30), torch.full((1, 2), 1e-30))
OF_Q, DOT = r"the gradient of Q\[0, 0\] is nan at step 1", {"scores": losses.dot_scores}
ONE_STEP = {"loss": info_nce, "lr": 1.0, "steps": 1}
test_what_is_not_finite_or_no_size_is_reported = refused(
    *((lambda name=name: run(**{name: 0}), f"{name} is 0; expected a whole") for name in ("steps", "batch_size", "d")),
    (lambda: run(loss=lambda s: s.sum() * float("nan")), "became nan at step 1"),
    (lambda: run(loss=lambda s: s.diagonal()), r"^the value of loss is tensor\(\[.*; expected a tensor of one number"),
    (lambda: run(loss=lambda s: 1.0), "^the value of loss is 1.0; expected a tensor of one number, with a gradient"),
    (lambda: descend(*EYES, loss=lambda s: s.detach().sum(), lr=0.1, steps=1), "^the value of loss is .* a gradient"),
    (lambda: run(lr="x"), "^lr is 'x'; expected a finite number"),
    (lambda: run(scale=np.nan), "^scale is nan"),
    (lambda: train_tables(toy(), **ONE_STEP, generator=0), "^generator is 0; expected a torch.Generator"),
    (lambda: train_tables(toy().select([]), **ONE_STEP, generator=torch.Generator()), "expected at least one pair"),
    (lambda: descend(*EYES, loss=root_at_zero, lr=0.1, steps=-1), "^steps is -1"),
    (lambda: descend(*EYES, loss=root_at_zero, lr=None, steps=1), "^lr is None"),
    (lambda: run(loss=root_at_zero), f"{OF_Q}; expected a loss whose gradients"),
    (lambda: descend(*EYES, loss=root_at_zero, lr=0.1, steps=3), OF_Q),
    (lambda: descend(*FAR, loss=lambda s: 1e10 * s.sum(), lr=0.1, steps=1, **DOT), r"of K\[0, 0\] is inf at step 1"),
    (lambda: descend(*EYES, loss=lambda s: 1e3 * s.sum(), lr=1e38, steps=3, **DOT), "became inf at step 2; .* 1e.38"),
)
