"""The lab's findings: each holds on numbers that say so, and stops the page on the opposite."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import Row, tidy
from course_lib.lessons.one_batch_many_machines import findings as about
from course_lib.lessons.shared.findings import Finding, FindingError


def result(*rows: list[Row]) -> Result:
    return Result("SCALE-X0", "smoke", "made up", [row for some in rows for row in some])


def gradients(*, right: float = 1e-16, prediction: float = 1e-16, gramians: float = 1e-16) -> Result:
    """Two processes: a right recipe, a wrong one that is off by a half, and SOGram."""
    where = {"processes": 2, "loss": "softmax", "rows": "own", "reduction": "mean", "times_world": False}
    good = tidy(
        {**where, "gather": "gradients"},
        {"towers off": right, "temperature off": 1e-16, "off prediction": prediction},
    )
    bad = tidy({**where, "gather": "constant"}, {"towers off": 0.5, "temperature off": 0.5, "off prediction": 1e-16})
    return result(good, bad, tidy({**where, "gather": "d x d sums"}, {"towers off": gramians}))


def traffic(*, counted: float = 1100.0, sums: float = 1.0) -> Result:
    where = {"processes": 2, "batch": 512, "width": 64, "rows": "own"}
    gather = {"bytes": counted, "formula bytes": 1000.0, "step ms": 5.0}
    return result(
        tidy({**where, "gather": "constant"}, gather),
        tidy({**where, "gather": "d x d sums"}, {"bytes": 600.0, "formula bytes": 500.0, "step ms": sums}),
    )


def shards(*, data: str = "films", plain: float = 0.05, logq: float = 0.15) -> Result:
    """Recall with eight shards; with one it is 0.05 without logQ and 0.15 with it."""
    table = {("softmax", 1): 0.05, ("softmax", 8): plain, ("softmax, logQ", 1): 0.15, ("softmax, logQ", 8): logq}
    rows = [
        tidy({"data": data, "objective": objective, "shards": count, "seed": seed}, {"recall@10": value + seed / 1e4})
        for (objective, count), value in table.items()
        for seed in range(3)
    ]
    return result(*rows)


def tables(*, loss: float = 0.5, ndcg: float = 0.06, grown: float = 0.13, sent: float = 0.003) -> Result:
    """A training in three ways, and a size of tables; the numbers are those with shards."""
    where, of_one = {"loss": "softmax", "optimizer": "sgd"}, {"loss, epoch 1": 0.5, "recall@10": 0.1, "ndcg@10": 0.06}
    return result(
        tidy({**where, "way": "one process"}, {**of_one, "sent GB": 0}),
        tidy({**where, "way": "replicated"}, {**of_one, "sent GB": 0.006}),
        tidy({**where, "way": "sharded"}, {**of_one, "loss, epoch 1": loss, "ndcg@10": ndcg, "sent GB": sent}),
        tidy({"rows": 1000, "way": "sharded"}, {"tables GB": 0.2, "grown GB": grown}),
    )


def costs(*, predicted: float = 5.9) -> Result:
    where = {"processes": 4, "batch": 256, "width": 64, "gather": "constant", "rows": "own", "seed": 0}
    return result(tidy(where, {"step ms": 5.0, "predicted ms": predicted}))


def lost(
    *, data: str = "movietweetings", recalls: tuple[float, ...] = (), late: float = 1.0, bar: float = 0.4
) -> Result:
    """Three seeds, two looks, at 10 and 100 steps: one machine finds .2 and .3, the others in proportion to 1 - kappa.

    recalls: at the end, with 2, 4, 8 and 32 machines. late: multiplies what eight machines lack at the last look.
    """
    rows: list[list[Row]] = []
    for seed in range(3):
        for at, count in enumerate((1, 2, 4, 8, 32)):
            end = 0.3 * (0.5 + 0.5 * about._kappa(count)) if at == 0 or not recalls else recalls[at - 1]
            path = [0.2 - (0.3 - end), 0.3 - late * (0.3 - end)]
            where = {"data": data, "model": about.COSINES, "machines": count, "seed": seed}
            rows.append([{**where, "metric": "recall@10", "value": path[-1] + seed / 1e5 * count, "path": path}])
            rows.append([{**where, "metric": "steps", "value": 100.0, "path": [10.0, 100.0]}])
    rows += [
        tidy({"data": data, "model": name, "machines": 1, "seed": 0}, {"recall@10": bar})
        for name in ("most popular", "popular lately")
    ]
    return result(*rows)


# the page calls it undecided; here one setting decides it
ON_ML1M = replace(about.shards_cost_some_recall, claimed=frozenset({"ml-1m-5core, softmax, logQ"}))
CASES: list[tuple[Finding, Any, Any]] = [
    (about.gradients_as_predicted, gradients(), gradients(prediction=1e-8)),
    (about.right_recipes_are_exact, gradients(), gradients(right=1e-8)),
    (about.summed_gramians_are_exact, gradients(), gradients(gramians=1e-8)),
    (about.sockets_send_the_formula, traffic(), traffic(counted=4001.0)),
    (about.sockets_send_the_formula, traffic(), traffic(counted=999.0)),
    (about.gramians_are_quicker, traffic(), traffic(sums=5.1)),
    (about.two_processes_predict_four, costs(), costs(predicted=6.3)),
    (about.two_processes_predict_four, costs(predicted=3.8), costs(predicted=3.7)),
    (replace(about.shards_find_nearly_as_much, claimed=None), shards(), shards(plain=0.039)),
    (ON_ML1M, shards(data="ml-1m-5core", logq=0.14), shards(data="ml-1m-5core")),
    (about.logq_outweighs_the_shards, shards(), shards(logq=0.099)),
    (about.shards_of_tables_train_alike, tables(), tables(loss=0.500001)),
    (about.shards_of_tables_rank_alike, tables(), tables(ndcg=0.0602)),
    (about.shards_of_tables_halve_the_memory, tables(), tables(grown=0.2)),
    (about.shards_of_tables_send_less, tables(), tables(sent=0.007)),
    (about.more_machines_find_less, lost(), lost(recalls=(0.2, 0.21, 0.1, 0.05))),
    (about.loss_is_in_proportion, lost(), lost(recalls=(0.29, 0.25, 0.2, 0.1))),
    (about.points_lost_do_not_grow, lost(), lost(late=2.0)),
    (about.recent_films_find_more_in_time, lost(), lost(bar=0.2)),
    (about.cosines_beat_popular_in_time, lost(data="ml-1m", bar=0.2), lost(data="ml-1m")),
]


@pytest.mark.parametrize(("finding", "holding", "failing"), CASES)
def test_a_finding_holds_and_can_fail(finding: Finding, holding: Any, failing: Any) -> None:
    cases = finding.evidence(holding).cases
    assert all(cases[name].holds for name in finding.claimed or cases)
    with pytest.raises(FindingError):
        finding.evidence(failing)
