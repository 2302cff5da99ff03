"""The trainings of the chapter on a small world: the law holds, and its summaries agree with counting."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import norms
from course_lib.interactions import Interactions
from course_lib.lessons.popularity_norm_coupling import films

COUNTS = np.array([1, 2, 4, 8, 16, 32])


@pytest.fixture(scope="module")
def pairs() -> Interactions:
    """Film i has COUNTS[i] people, the first ones."""
    items = np.repeat(np.arange(len(COUNTS)), COUNTS)
    users = np.concatenate([np.arange(count) for count in COUNTS])
    return Interactions(users, items, n_users=COUNTS.max(), n_items=len(COUNTS))


@pytest.fixture(scope="module")
def run(pairs: Interactions) -> films.FilmRun:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(films, "BATCH", 8)
        return films.train(pairs, seed=0, steps=40)


def test_the_law_gives_every_length_and_no_vector_shrinks(run: films.FilmRun) -> None:
    np.testing.assert_allclose(run.law, run.after, rtol=1e-5)
    assert (run.after >= run.before * (1 - 1e-6)).all() and run.after.max() > 1.5
    assert run.counts.tolist() == COUNTS.tolist()


def test_the_law_follows_from_the_recorded_pulls(run: films.FilmRun) -> None:
    """Without the fourth powers of the steps the law is a lower bound."""
    bound = (run.before**4 + 2 * films.RATE**2 * run.squared) ** 0.25
    assert (bound <= run.law * (1 + 1e-9)).all()
    np.testing.assert_allclose(run.mean_squared * run.updates, run.squared)
    assert run.h**2 * run.updates.sum() == pytest.approx(run.squared.sum())


def test_updates_are_batches_and_even_sampling_forgets_the_counts(pairs: Interactions, run: films.FilmRun) -> None:
    assert run.updates.max() <= 40 and run.updates[-1] > run.updates[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(films, "BATCH", 8)
        even = films.train(pairs, seed=0, steps=40, evenly=True)
    expected = 40 * norms.update_probability(1 / len(COUNTS), 8)
    assert abs(even.updates - expected).max() < 12 < expected - run.updates[0]


def world(squared: np.ndarray, updates: np.ndarray) -> films.FilmRun:
    """A run of which only counts, updates and pulls matter."""
    ones = np.ones(len(COUNTS))
    return films.FilmRun(COUNTS, ones, ones, updates, squared, ones)


def test_slopes_are_read_among_the_chosen_films() -> None:
    run = world(COUNTS.astype(float), np.ones(len(COUNTS)))
    bent = np.where(COUNTS < 8, COUNTS**0.25, 8**-0.25 * COUNTS**0.5)  # a quarter below 8, a half from 8
    assert run.slope(bent, below=8) == pytest.approx(0.25)
    assert run.slope(bent, least=8) == pytest.approx(0.5)
    assert 0.25 < run.slope(bent) < 0.5


def test_one_number_knows_the_count_alone() -> None:
    """All pulls of size 1/100: the law at T pi(p) updates."""
    updates = np.full(len(COUNTS), 7.0)
    expected = films.STEPS * (1 - (1 - COUNTS / COUNTS.sum()) ** films.BATCH)
    lengths = world(updates / 10_000, updates).by_one_number()
    np.testing.assert_allclose(lengths, (1 + 2 * films.RATE**2 / 10_000 * expected) ** 0.25)


@pytest.mark.parametrize("coherence", [0.0, 0.4])
def test_the_law_with_copies_finds_the_coherence_that_it_was_made_with(coherence: float) -> None:
    p, size = COUNTS / COUNTS.sum(), films.BATCH
    squared = films.STEPS * 0.003 * (size * p + coherence * size * (size - 1) * p**2)
    found, lengths = world(squared, np.ones(len(COUNTS))).by_copies()
    assert found == pytest.approx(coherence, abs=1e-12)
    np.testing.assert_allclose(lengths, (1 + 2 * films.RATE**2 * squared) ** 0.25)
