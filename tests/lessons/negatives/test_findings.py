"""The findings of the chapter on rows whose answer is known, and on the stored result."""

from __future__ import annotations

from typing import Any

import pytest

from course_lib import experiments
from course_lib.experiments.core.results import Result
from course_lib.experiments.practice.negatives import PREDICTIONS
from course_lib.experiments.practice.negatives_verdicts import verdicts
from course_lib.lessons.negatives import findings as about
from course_lib.lessons.shared.findings import Finding, FindingError

FILMS = about.SETS["MovieTweetings"]


def rows_of(with_hits: float, alone: float, change: float, films: tuple[float, float]) -> Result:
    """Two losses at τ 0.5 on both data sets, plain and logQ, with these differences and films shown."""
    rows: list[dict[str, Any]] = []
    for data in about.SETS.values():
        for loss, shown in zip(("plain", "logQ"), films, strict=True):
            where = {"data": data, "loss": loss, "tau": 0.5}
            for serving, value in (("alone", alone), ("with hits", with_hits)):
                more = {"half": 0.005, "people": 800}
                rows.append({**where, "serving": serving, "metric": "minus the list", "value": value, **more})
                rows += [
                    {**where, "serving": serving, "metric": "films shown", "value": shown + seed, "seed": seed}
                    for seed in (0, 1)
                ]
            if loss == "logQ":
                found = {"metric": "minus plain", "value": change, "half": 0.002, "people": 800}
                rows.append({**where, "serving": "with hits", **found})
    return Result("PRACTICE-2", "laptop", "", rows)


GOOD, BAD = rows_of(0.02, -0.1, 0.003, (100, 20)), rows_of(-0.02, 0.1, 0.03, (30, 20))


@pytest.mark.parametrize(
    "found",
    [
        about.no_model_alone_reaches_the_hits,
        about.with_hits_a_model_beats_the_list,
        about.plain_shows_twice_as_many_films,
    ],
)
def test_a_finding_tells_the_case_it_describes_from_its_opposite(found: Finding) -> None:
    assert all(case.holds for case in found.cases(GOOD).values())
    assert not any(case.holds for case in found.cases(BAD).values())


def test_losses_agree_where_the_whole_interval_is_close() -> None:
    assert about.losses_agree_with_hits.cases(GOOD)["logQ, 0.5"].holds
    assert not about.losses_agree_with_hits.cases(BAD)["logQ, 0.5"].holds
    with pytest.raises(FindingError):
        about.losses_agree_with_hits.evidence(BAD)


def test_every_claimed_case_holds_on_the_stored_result() -> None:
    stored = experiments.load_result("PRACTICE-2", "laptop")
    found = [one for one in vars(about).values() if isinstance(one, Finding)]
    assert len(found) >= 5 and all(one.evidence(stored).cases for one in found)


def test_the_verdicts_are_those_of_the_page() -> None:
    held = {name: holds for name, (_, holds) in verdicts(experiments.load_result("PRACTICE-2", "laptop")).items()}
    assert list(held) == list(PREDICTIONS) and held == HELD


HELD = {name: name != "films" for name in PREDICTIONS}  # on ML-1M plain shows fewer films than logQ
