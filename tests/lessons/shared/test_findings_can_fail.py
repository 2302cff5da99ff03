"""A finding on numbers that a page computes holds where they say so, and stops the page where they say the opposite.

`CASES` of a lesson's test_findings.py: (the finding, arguments of which it holds, arguments of which it does not).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from course_lib.lessons.shared.findings import Finding, FindingError
from tests.lessons.every import modules

CASES = [
    case for tests in modules("test_findings", of="tests.lessons").values() for case in getattr(tests, "CASES", [])
]


@pytest.mark.parametrize(("found", "holds", "fails"), CASES, ids=[f"{one.lesson}.{one.name}" for one, _, _ in CASES])
def test_a_finding_tells_the_case_it_describes_from_its_opposite(
    found: Finding, holds: tuple[Any, ...], fails: tuple[Any, ...]
) -> None:
    claimed = replace(found, claimed=None)  # whether the page claims it or calls it undecided
    assert claimed.evidence(*holds)
    with pytest.raises(FindingError, match=found.name):
        claimed.evidence(*fails)
