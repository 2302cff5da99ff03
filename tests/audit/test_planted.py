"""Planted faults are found, and clean models have none: a few models here, 20 seeds each with COURSE_EXAMPLES=thorough.

`make test-thorough` runs the latter. What was settled before, and on which seeds, says `planted`; these
here are others.
"""

from __future__ import annotations

import os

import pytest
from audit import planted

from course_lib.audit import CATALOGUE
from course_lib.audit.rates import rates

THOROUGH = os.environ.get("COURSE_EXAMPLES") == "thorough"
SEEDS = range(100, 120 if THOROUGH else 101)
NEEDED = 19 if THOROUGH else 1  # of the seeds, at each of the two stronger strengths


def test_every_verdict_has_a_plant() -> None:
    assert set(planted.PLANTS) == set(planted.IMPLIED) == set(CATALOGUE)


def test_clean_models_have_no_fault() -> None:
    """At most one report in 20 with any fault in it, and every question has an answer."""
    reports = [planted.clean(seed).audited(seed) for seed in SEEDS]
    assert sum(bool(report.ids("fault")) for report in reports) <= len(SEEDS) // 20
    assert [report.ids("cannot tell") for report in reports] == [[]] * len(SEEDS)


@pytest.mark.parametrize("strength", planted.STRENGTHS[1:])
@pytest.mark.parametrize("name", CATALOGUE)
def test_a_planted_fault_is_found_and_no_other_that_it_does_not_imply(name: str, strength: int) -> None:
    found = [set(planted.PLANTS[name](seed, strength).audited(seed).ids("fault")) for seed in SEEDS]
    assert sum(name in faults for faults in found) >= NEEDED
    strange = [faults - {name} - planted.IMPLIED[name] for faults in found]
    assert sum(bool(others) for others in strange) <= len(SEEDS) // 20, strange


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - {"popularity-lengths", "leaked-test-pairs", "ddc-gain"}))
def test_the_weakest_plant_is_below_the_threshold(name: str) -> None:
    """A fault is a matter of degree: each threshold separates the two weaker strengths of its plant."""
    assert name not in planted.PLANTS[name](0, 0).audited(0).ids("fault")


def test_the_rates_that_are_shown_are_of_these_plants() -> None:
    """Measured anew by tests/audit/make_rates.py, where a plant, a threshold or an implication changes."""
    stored = rates()
    assert stored["implied"] == {name: sorted(others) for name, others in planted.IMPLIED.items()}
    assert set(stored["plants"]) == set(CATALOGUE) and stored["models"] == 20
    assert stored["clean_with_a_fault"] <= 1
    assert min(count for plant in stored["plants"].values() for count in plant["found"][1:]) >= 19
