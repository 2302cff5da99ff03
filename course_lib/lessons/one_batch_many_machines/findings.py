"""What the chapter says of trainings on films, and in which cases it holds: the page's own runs, three seeds.

Each function is given the outcomes by seed: of one machine, and of eight that gather constants or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.lessons.one_batch_many_machines.machines import Outcome
from course_lib.lessons.shared.findings import Difference, finding

Outcomes = Sequence[Outcome]


def _by_seed(differences: Sequence[float]) -> dict[str, Difference]:
    """One case for each seed, without an interval."""
    return {f"seed {seed}": Difference(float(value)) for seed, value in enumerate(differences)}


@finding("Without the far pushes the uncorrected loss finds half as much again, or more", case="seed")
def lost_pushes_find_more(one: Outcomes, constant: Outcomes) -> dict[str, Difference]:
    """R@10 with constants minus 1.5 times that of one machine."""
    return _by_seed([new.recall - 1.5 * old.recall for old, new in zip(one, constant, strict=True)])


@finding("Without the far pushes the median recommended film has half as many fans again, or more", case="seed")
def lost_pushes_show_popular_films(one: Outcomes, constant: Outcomes) -> dict[str, Difference]:
    """Fans of the median recommended film with constants minus 1.5 times those of one machine."""
    return _by_seed([new.fans - 1.5 * old.fans for old, new in zip(one, constant, strict=True)])


@finding("With logQ the lost pushes bring no gain: the recall grows by less than a tenth, or falls", case="seed")
def logq_leaves_no_gain(one: Outcomes, constant: Outcomes) -> dict[str, Difference]:
    """1.1 times R@10 of one machine minus that with constants, both with logQ."""
    return _by_seed([1.1 * old.recall - new.recall for old, new in zip(one, constant, strict=True)])


@finding("logQ on one machine finds at least twice as much as the lost pushes", case="seed")
def logq_beats_lost_pushes(constant: Outcomes, logq: Outcomes) -> dict[str, Difference]:
    """R@10 with logQ on one machine minus twice that with constants and without logQ."""
    return _by_seed([right.recall - 2 * wrong.recall for wrong, right in zip(constant, logq, strict=True)])


@finding(
    "The mean film points away from the mean person on one machine, and towards it without far pushes", case="seed"
)
def lost_pushes_turn_the_films(one: Outcomes, constant: Outcomes) -> dict[str, Difference]:
    """The smaller of two: how far the cosine lies below -0.8 on one machine, and above 0.8 with constants; logQ."""
    return _by_seed([min(-0.8 - old.turn, new.turn - 0.8) for old, new in zip(one, constant, strict=True)])


@finding("At a fixed total batch local negatives find as much as one machine, within a quarter", case="seed")
def local_negatives_find_as_much(one: Outcomes, local: Outcomes) -> dict[str, Difference]:
    """1/4 minus the relative difference of R@10, without logQ."""
    return _by_seed([0.25 - abs(new.recall / old.recall - 1) for old, new in zip(one, local, strict=True)])
