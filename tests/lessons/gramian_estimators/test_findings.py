"""The chapter's findings on its own runs: each holds on numbers that say so, and stops the page on the opposite."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.lessons.gramian_estimators import findings as about
from course_lib.lessons.gramian_estimators.free_tables import Race
from course_lib.lessons.shared.findings import Finding


def race(**late: float) -> Race:
    """A race of four looks; a name such as sogram_128 gives that error at the late looks and twice it before."""
    names = {
        "sampling_128": ("sampling", 128),
        "sampling_1024": ("sampling", 1024),
        "sogram_128": ("sogram 0.1", 128),
        "sogram_1024": ("sogram 0.1", 1024),
        "sagram_128": ("sagram 1", 128),
        "sagram_1024": ("sagram 1", 1024),
    }
    errors = {names[name]: np.array([2 * value, 2 * value, value, value]) for name, value in late.items()}
    return Race(np.arange(1, 5), errors, np.ones(3), 1.0)


def start(first: float, corrected: float) -> Race:
    kinds = {("sogram 0.01", 128): first, ("sogram 0.01 corrected", 128): corrected}
    return Race(np.ones(1), {key: np.array([value]) for key, value in kinds.items()}, np.ones(1), 1.0)


def cache(first: float, last: float) -> Race:
    errors = {("sagram 1/n", 128): np.array([first, last]), ("sampling", 128): np.array([0.3, 0.3])}
    return Race(np.ones(2), errors, np.ones(1), 1.0)


CASES: list[tuple[Finding, tuple[Any, ...], tuple[Any, ...]]] = [
    (about.folded_says_yes, ([0.9],), ([0.7],)),
    (about.penalty_finds_more, ([0.002], [0.011]), ([0.002], [0.009])),
    (about.popularity_wins, ([0.04], 0.1), ([0.06], 0.1)),
    (about.even_gravity_wins, ([0.2], 0.1), ([0.09], 0.1)),
    (about.times_popularity_wins, ([0.2], 0.1), ([0.09], 0.1)),
    (
        about.sogram_beats_larger_batches,
        ([race(sampling_1024=0.2, sogram_128=0.1)],),
        ([race(sampling_1024=0.1, sogram_128=0.2)],),
    ),
    (
        about.beta_one_errs_with_small_batches,
        ([race(sagram_128=0.3, sogram_128=0.1)],),
        ([race(sagram_128=0.19, sogram_128=0.1)],),
    ),
    (
        about.beta_one_is_level_with_large_batches,
        ([race(sagram_1024=0.11, sogram_1024=0.1)],),
        ([race(sagram_1024=0.08, sogram_1024=0.1)],),
    ),
    (about.cache_starts_badly, ([cache(0.5, 0.2)],), ([cache(0.5, 0.4)],)),
    (about.cache_starts_badly, ([cache(0.4, 0.1)],), ([cache(0.2, 0.1)],)),
    (about.corrected_start_helps, ([start(0.8, 0.3)],), ([start(0.8, 0.5)],)),
    (about.walk_predicts_better, ([0.5], [0.2], [0.1]), ([0.5], [0.2], [0.4])),
    (about.examples_make_the_noise, ([30],), ([10],)),
    (about.slow_sogram_minimises_less, ([1.2], [1.0]), ([1.05], [1.0])),
    (about.one_batch_is_enough, ([1.005], [1.0]), ([1.02], [1.0])),
]


def test_every_finding_of_the_pages_own_runs_is_tried() -> None:
    own = {found.name for found in vars(about).values() if isinstance(found, Finding) and not found.rests_on}
    assert own == {found.name for found, _, _ in CASES}
