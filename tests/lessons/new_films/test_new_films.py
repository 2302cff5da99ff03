"""The chapter: what its towers, lists and priors do, on its own data and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.lessons.new_films import films


def test_a_step_moves_a_film_outside_the_batch_as_said() -> None:
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(4, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    x, new = torch.randn(5, 4, generator=generator).double(), torch.randn(4, generator=generator).double()
    vectors = x @ W
    vectors.retain_grad()
    torch.nn.functional.cross_entropy(vectors @ vectors.T, torch.arange(5)).backward()
    said = -0.1 * ((x @ new)[:, None] * vectors.grad).sum(0)
    torch.testing.assert_close(new @ (W - 0.1 * W.grad) - new @ W, said)


@pytest.mark.seconds
def test_new_films_are_in_no_batch_and_have_no_earlier_rating() -> None:
    at, ratings = films.at_cut(), films.ratings()
    earlier = ratings.select(ratings.times < at.cut)
    assert at.new.sum() > 100 and not at.train.col_counts[at.new].any()
    assert not np.isin(earlier.items, at.items[at.new]).any()


@pytest.mark.seconds
def test_a_list_that_knows_the_future_finds_most() -> None:
    at = films.at_cut()
    rng = np.random.default_rng(0)
    ones, to_come = np.ones((at.train.n_users, 1)), at.later.col_counts[:, None].astype(float)
    chance = films.recall_of_new(ones, np.zeros((at.train.n_items, 1)))
    drawn = films.recall_of_new(*(rng.standard_normal((rows, 8)) for rows in at.train.shape))
    assert abs(chance - films.TOP / at.new.sum()) < 1e-9 and abs(drawn - chance) < 0.02
    assert films.recall_of_new(ones, to_come) > 5 * chance


@pytest.mark.seconds
def test_films_of_this_year_are_expected_to_get_more_ratings() -> None:
    priors = films.priors()
    means = [prior.shape / prior.rate for prior in priors.values()]
    assert means[-1] > 5 * means[0] and all(prior.shape < 1 for prior in priors.values())
