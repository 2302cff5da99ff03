"""The training that the chapter's pages share, against loops written out, on a list of a few pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from course_lib import gramians
from course_lib.interactions import Interactions
from course_lib.lessons.gramian_estimators import free_tables


@pytest.fixture(scope="module")
def train() -> Interactions:
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((12, 9)) < 0.6)
    return Interactions(users, items, n_users=12, n_items=9)


def by_hand(train: Interactions, lam: float, alpha: float, steps: int, batch: int) -> torch.Tensor:
    """The people's table, by the chapter's loop."""
    u, v = free_tables.start(train, 0)
    rng, optimiser = np.random.default_rng(0), torch.optim.Adagrad([u, v], lr=0.3)
    people, films = torch.tensor(train.users), torch.tensor(train.items)
    gram_u = gram_v = torch.zeros(16, 16)
    for _ in range(steps):
        seen, used = torch.from_numpy(rng.integers(len(train), size=(2, batch)))
        fresh_u, fresh_v = u[people[seen]].detach(), v[films[seen]].detach()
        gram_u = (1 - alpha) * gram_u + alpha * fresh_u.T @ fresh_u / batch
        gram_v = (1 - alpha) * gram_v + alpha * fresh_v.T @ fresh_v / batch
        left, right = u[people[used]], v[films[used]]
        gravity = (left @ gram_v * left).sum(1) + (right @ gram_u * right).sum(1)
        loss: Any = ((1 - (left * right).sum(1)).square() + lam * gravity).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return u.detach()


@pytest.mark.parametrize(("lam", "alpha"), [(1.0, 0.1), (3.0, 1.0)])
def test_the_fit_is_the_loop_of_the_page(train: Interactions, lam: float, alpha: float) -> None:
    found = free_tables.fit(train, lam, make=lambda: gramians.SOGram(16, alpha), batch=8, steps=20)
    assert np.allclose(found[0], by_hand(train, lam, alpha, 20, 8), atol=1e-5)


def test_with_one_batch_the_gramians_of_a_step_are_those_of_the_batch_before(train: Interactions) -> None:
    seen: list[list[int]] = []

    class Watched(gramians.BatchGramian):
        def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
            seen.append(indices.tolist())
            return super().update(indices, embeddings, partners)

    free_tables.fit(train, 1.0, make=Watched, batch=4, steps=3, two_batches=False)
    draws = np.random.default_rng(0).integers(len(train), size=(3, 2, 4))
    expected = draws[0, 0], draws[0, 1], draws[1, 1], draws[2, 1]  # the first step has nothing before it
    assert seen[::2] == [batch.tolist() for batch in expected]


def test_even_weights_make_the_gravity_uniform_over_pairs_of_entities(train: Interactions) -> None:
    rng = np.random.default_rng(1)
    u, v = rng.normal(size=(12, 16)), rng.normal(size=(9, 16))
    heavy_u, heavy_v = (
        weight.numpy() * table for weight, table in zip(free_tables.even_weights(train), (u, v), strict=True)
    )
    found = gramians.gravity(heavy_u[train.users], heavy_v[train.items])
    assert (train.row_counts > 0).all() and (train.col_counts > 0).all()
    assert found == pytest.approx(((u @ v.T) ** 2).mean(), rel=1e-5)


def test_the_objective_is_the_double_sum(train: Interactions) -> None:
    rng = np.random.default_rng(2)
    u, v = rng.normal(size=(12, 16)), rng.normal(size=(9, 16))
    left, right = u[train.users], v[train.items]
    expected = ((1 - (left * right).sum(1)) ** 2).mean() + 2 * ((left @ right.T) ** 2).mean()
    assert free_tables.objective(train, 2.0, (u, v)) == pytest.approx(expected)


def test_a_race_measures_how_far_an_estimate_is_off(train: Interactions) -> None:
    class TooLong(gramians.BatchGramian):
        """Sampling, times one and a half."""

        def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
            self._estimate = 1.5 * super().update(indices, embeddings, partners)
            return self._estimate

    def make(name: str, _: int) -> gramians.BatchGramian:
        return TooLong() if name == "too long" else gramians.BatchGramian()

    watched = {"sampling": (8, 256), "too long": (256,)}
    found = free_tables.race(train, watched, make, steps=40, every=10)
    assert list(found.steps) == [10, 20, 30, 40] and len(found.moved) == 3
    assert found.late("sampling", 256) < found.late("sampling", 8)
    assert found.late("too long", 256) > 0.3 and (found.moved > 0).all() and found.sigma > 0
