"""The chapter's findings on its own runs: each holds on numbers that say so, and stops the page on the opposite."""

from __future__ import annotations

from typing import Any

import pytest

from course_lib.lessons.one_batch_many_machines import findings as about
from course_lib.lessons.one_batch_many_machines.machines import Outcome
from course_lib.lessons.shared.findings import Finding, FindingError


def found(recall: float = 0.1, fans: float = 10, turn: float = 0.0) -> list[Outcome]:
    return [Outcome(recall, fans, 100, turn)]


CASES: list[tuple[Finding, tuple[Any, ...], tuple[Any, ...]]] = [
    (about.lost_pushes_find_more, (found(0.1), found(0.16)), (found(0.1), found(0.14))),
    (
        about.lost_pushes_show_popular_films,
        (found(fans=10), found(fans=16)),
        (found(fans=10), found(fans=14)),
    ),
    (about.logq_leaves_no_gain, (found(0.1), found(0.1)), (found(0.1), found(0.12))),
    (about.logq_beats_lost_pushes, (found(0.1), found(0.21)), (found(0.1), found(0.19))),
    (
        about.lost_pushes_turn_the_films,
        (found(turn=-0.9), found(turn=0.9)),
        (found(turn=-0.9), found(turn=0.7)),
    ),
    (about.local_negatives_find_as_much, (found(0.1), found(0.12)), (found(0.1), found(0.13))),
]


@pytest.mark.parametrize(("finding", "says_so", "opposite"), CASES, ids=[case[0].name for case in CASES])
def test_a_finding_holds_and_can_fail(finding: Finding, says_so: tuple[Any, ...], opposite: tuple[Any, ...]) -> None:
    assert finding.evidence(*says_so).support == "one seed"
    with pytest.raises(FindingError, match="fails in"):
        finding.evidence(*opposite)
