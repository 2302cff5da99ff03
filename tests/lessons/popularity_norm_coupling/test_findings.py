"""The chapter's findings on made-up runs whose answer is known: one that obeys, one that does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from course_lib.lessons.popularity_norm_coupling import findings as about
from course_lib.lessons.popularity_norm_coupling.films import FilmRun
from course_lib.lessons.shared.findings import Finding, FindingError

COUNTS = np.geomspace(3, 3000, 40).astype(int)
CENTRED = COUNTS - COUNTS.mean()
NOISE = np.cos(np.arange(40)) - np.cos(np.arange(40)).mean()
FLAT = 1 + 0.01 * (NOISE - NOISE @ CENTRED / (CENTRED @ CENTRED) * CENTRED)  # not correlated with the counts


def fourth_root() -> FilmRun:
    """Lengths like the fourth root of the count, by equal shares of updates and of pulls."""
    root, half = COUNTS**0.25, COUNTS**0.5
    return FilmRun(COUNTS, before=FLAT, after=root, updates=half, squared=half * half, law=root)


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (about.the_longest_are_the_most_popular, {"after": COUNTS**-0.25}),
        (about.training_makes_the_correlation, {"after": FLAT}),
        (about.training_makes_the_correlation, {"before": COUNTS**0.25}),
        (about.the_slope_is_near_a_quarter, {"after": COUNTS**0.5}),
        (about.the_slope_is_near_a_quarter, {"after": FLAT}),
        (about.the_slope_is_near_a_quarter, {"after": COUNTS ** (1 / 3)}),
        (about.the_slope_is_near_a_quarter, {"after": COUNTS ** (1 / 6)}),
        (about.the_law_gives_every_length, {"law": COUNTS**0.25 * 1.001}),
    ],
)
def test_a_run_that_does_not_obey_is_found_out(found: Finding, wrong: dict[str, Any]) -> None:
    good = fourth_root()
    assert found.evidence([good, good]).support.startswith("one data set, ")
    with pytest.raises(FindingError, match=found.name):
        found.evidence([good, replace(good, **wrong)])


@pytest.mark.parametrize(
    ("found", "slope", "wrong"),
    [
        (about.popular_films_are_hit_harder, 0.5, {"squared": COUNTS**0.5}),
        (about.evenly_updated_films_are_hit_harder, 0.5, {"squared": COUNTS**0.5}),
        (about.evenly_updated_films_differ, 0.25, {"after": np.ones(40)}),
    ],
)
def test_slopes_are_compared_with_none(found: Finding, slope: float, wrong: dict[str, Any]) -> None:
    """Pulls that grow like the root of the count; then pulls, or lengths, that are all equal."""
    good = fourth_root()
    assert found.evidence([good, good]).cases["MovieTweetings"].value == pytest.approx(slope)
    with pytest.raises(FindingError, match=found.name):
        found.evidence([replace(good, **wrong)])


def test_one_number_is_flatter_than_lengths_that_follow_updates_and_pulls() -> None:
    good = fourth_root()
    assert about.one_number_is_too_flat.evidence([good, good])
    with pytest.raises(FindingError, match="one-number"):
        about.one_number_is_too_flat.evidence([replace(good, after=FLAT)])


def test_the_law_with_copies_is_compared_in_the_head_alone() -> None:
    """Pulls like the square of the count bend the fitted line upwards; lengths like a fourth root stay below it."""
    steep = replace(fourth_root(), squared=1e-4 * (COUNTS + 0.01 * COUNTS.astype(float) ** 2))
    head = COUNTS >= about.HEAD
    fitted = steep.slope(steep.by_copies()[1], least=about.HEAD)
    case = about.copies_are_too_steep_in_the_head.evidence([steep]).cases["MovieTweetings"]
    assert head.any() and case.value == pytest.approx(fitted - 0.25) and case.value > 0


def test_the_overlap_counts_the_longest_among_the_most_popular() -> None:
    run = replace(fourth_root(), after=np.where(np.arange(40) >= 36, 3.0, 1.0))  # the most popular tenth
    assert about.longest_and_most_popular(run, few=4) == 4
    assert about.longest_and_most_popular(replace(run, after=run.after[::-1]), few=4) == 0
