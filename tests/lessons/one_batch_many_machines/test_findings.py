"""The chapter's findings on its trainings: each holds of the stored table, and fails on the opposite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from course_lib.lessons.one_batch_many_machines import findings as about
from course_lib.lessons.one_batch_many_machines import stops
from course_lib.lessons.one_batch_many_machines.stops import Stopped
from course_lib.lessons.shared.findings import Finding, FindingError

Table = dict[str, dict[str, Stopped]]
PLAIN, LOGQ, COSINES = stops.MODELS
ONE, CONSTANT, LOCAL = stops.MACHINES


def level(recall: float, fans: float = 10.0, count: int = len(stops.STOPS)) -> Stopped:
    """The same at all stops and for both seeds, but for a thousandth."""
    values = np.full((2, count), recall) + np.array([[0.0], [0.001]])
    return Stopped(values, values, np.full((2, count), fans))


def table() -> Table:
    """Everything as the chapter says; the middle model has no cost before 600 steps, and then half."""
    late = np.array(stops.STOPS) >= 600
    middle = replace(level(14.0), recall=level(14.0).recall * np.where(late, 0.5, 1.0))
    return {
        "lists": {"most popular": level(19.0, count=1), "random": level(0.6, count=1)},
        PLAIN: {ONE: level(2.0), CONSTANT: level(5.0, 40.0), LOCAL: level(2.1)},
        LOGQ: {ONE: level(14.0), CONSTANT: middle, LOCAL: level(13.5)},
        COSINES: {ONE: level(20.0), CONSTANT: level(9.0), LOCAL: level(19.5)},
    }


OPPOSITES: list[tuple[Finding, str, str, Stopped]] = [  # a finding, and a training of which it is false
    (about.popular_beats_inner_products, LOGQ, LOCAL, level(19.5)),
    (about.cosines_beat_popular, COSINES, ONE, level(18.5)),
    (about.lost_pushes_find_more, PLAIN, CONSTANT, level(1.9)),
    (about.lost_pushes_show_popular_films, PLAIN, CONSTANT, level(5.0, 14.0)),
    (about.an_early_stop_hides_the_cost, LOGQ, CONSTANT, level(12.5)),
    (about.lost_pushes_cost_recall, LOGQ, CONSTANT, level(14.1)),
    (about.lost_pushes_cost_a_quarter, LOGQ, CONSTANT, level(10.6)),
    (about.lost_pushes_cost_cosines_more, COSINES, CONSTANT, level(12.1)),
    (about.local_negatives_find_as_much, COSINES, LOCAL, level(14.9)),
]


@pytest.mark.parametrize(
    ("finding", "model", "holding", "opposite"), OPPOSITES, ids=[case[0].name for case in OPPOSITES]
)
def test_a_finding_holds_and_can_fail(finding: Finding, model: str, holding: str, opposite: Stopped) -> None:
    made = table()
    if finding.claimed == frozenset():  # called undecided, which this table is not
        with pytest.raises(FindingError, match="decide it"):
            finding.evidence(made)
        made[model][holding] = opposite
        assert "the other way" in finding.evidence(made).support
        return
    assert "2 seeds" in finding.evidence(made).support
    made[model][holding] = opposite
    with pytest.raises(FindingError, match="fails in"):
        finding.evidence(made)


def test_a_best_stop_that_one_seed_reaches_early_counts() -> None:
    """At its best stop: the largest of all stops, not that of the last."""
    made = table()
    high = level(14.0)
    high.recall[:, 3] = 19.5
    made[LOGQ][LOCAL] = high
    with pytest.raises(FindingError, match="eight, local"):
        about.popular_beats_inner_products.evidence(made)


def test_all_findings_of_the_trainings_have_a_case_here() -> None:
    ours = {name for name, thing in vars(about).items() if isinstance(thing, Finding) and not thing.rests_on}
    of_the_lab = {"gradients_as_predicted", "right_recipes_are_exact", "summed_gramians_are_exact"}
    of_the_lab |= {"sockets_send_the_formula"}
    assert {case[0].name.replace("-", "_") for case in OPPOSITES} == ours - of_the_lab


@pytest.mark.parametrize("finding", [case[0] for case in OPPOSITES], ids=[case[0].name for case in OPPOSITES])
def test_a_finding_holds_of_the_stored_table(finding: Finding) -> None:
    assert "3 seeds" in finding.evidence(stops.stored()).support


def test_the_stop_that_validation_chooses_is_read_from_the_test() -> None:
    validation = np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 1.0]])
    found = Stopped(validation, np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]), validation)
    assert found.at_best_validation().tolist() == [20.0, 40.0]
