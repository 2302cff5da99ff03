"""The chapter's findings on small runs whose answer is known: one that follows the theorem, one that cannot."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib import datasets, losses
from course_lib.lessons.cosine_orthogonality import findings as about
from course_lib.lessons.shared.findings import Finding, FindingError
from course_lib.training.free_vectors import TableRun, train_tables


@pytest.fixture(scope="module")
def runs() -> dict[str, TableRun]:
    films = datasets.load("movietweetings", min_rating=7, core=5)
    return {
        name: train_tables(
            films,
            loss=lambda values: losses.infonce(values, tau=0.1),
            lr=10,
            steps=5,
            scores=scores,
            generator=torch.Generator().manual_seed(0),
        )
        for name, scores in (("cosine", losses.cosine_scores), ("dot", losses.dot_scores))
    }


@pytest.mark.parametrize("found", [about.no_move_shortens, about.pythagoras_adds_up])
def test_what_the_theorem_says_holds_for_the_cosine_and_fails_for_the_dot_product(
    found: Finding, runs: dict[str, TableRun]
) -> None:
    assert found.evidence([runs["cosine"]]).support == "one data set, one seed"
    with pytest.raises(FindingError, match=found.name):
        found.evidence([runs["dot"]])


def test_dot_products_shorten_and_cosines_do_not(runs: dict[str, TableRun]) -> None:
    assert about.dot_moves_shorten.evidence([runs["dot"]])
    with pytest.raises(FindingError, match="dot-moves-shorten"):
        about.dot_moves_shorten.evidence([runs["cosine"]])


def test_the_ratio_of_lengths_compares_the_most_popular_tenth_with_the_rest(runs: dict[str, TableRun]) -> None:
    counts = np.arange(20)[::-1]  # films 0 and 1 are the most popular tenth
    items = torch.ones(20, 1, dtype=torch.float64)
    items[:2] = 3
    run = TableRun(items, items, runs["cosine"].moves, np.zeros(1))
    assert about.length_ratio(run, counts) == pytest.approx(3)
    assert about.popular_films_end_longer.evidence([run], counts).cases["MovieTweetings"].value == pytest.approx(1.75)
