"""Judge a recommender: the sum of the chapter, the bound of its theorem, its rows, and sentences that can fail."""

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from course_lib import experiments, metrics
from course_lib.checking import some
from course_lib.experiments.practice import judging
from course_lib.interactions import Interactions
from course_lib.lessons.judging import boards, findings, plots, predictions, proofs, sampled_ranks
from course_lib.lessons.judging.sampled_ranks import SampledRanks
from tests.lessons.every import printed
from tests.refused import refused


def test_the_library_and_the_pairs_at_once_have_the_sum_of_the_chapter() -> None:
    for n, m, k in some(product((3, 8), (1, 3), (1, 2, 5))):
        ranks = np.arange(1, n + 2)
        ours = [float(proofs.hit(int(r), n, m, k)) for r in ranks]
        assert metrics.sampled_hit(ranks, n, m, k) == pytest.approx(ours)
        assert boards.expected_hit(ranks, np.full(n + 1, n), m, k) == pytest.approx(np.mean(ours))


def best_repair(n: int, m: int, k: int, ranks: range) -> float:
    """The least largest error over these ranks of any function of the number of better films: a linear program."""
    law = np.array([[float(proofs.hit(r, n, m, j + 1) - proofs.hit(r, n, m, j)) for j in range(m + 1)] for r in ranks])
    target, ones = np.array([float(r <= k) for r in ranks]), np.ones((len(ranks), 1))
    rows = np.block([[law, -ones], [-law, -ones]])
    found = linprog([*np.zeros(m + 1), 1], rows, np.concatenate([target, -target]), bounds=(None, None))
    return float(found.fun)


@pytest.mark.parametrize(("n", "m", "k"), [(3, 2, 1), (4, 3, 2), (5, 4, 3), (6, 2, 2), (8, 3, 3)])
def test_the_bound_is_below_the_best_repair_and_reached_where_the_ranks_are_just_enough(n: int, m: int, k: int) -> None:
    bounds = [(start, float(proofs.least_error(m, k - start))) for start in range(1, n - m + 1) if 0 <= k - start <= m]
    for start, bound in some(bounds):
        assert best_repair(n, m, k, range(start, start + m + 2)) == pytest.approx(bound, abs=1e-9)
        assert best_repair(n, m, k, range(1, n + 2)) >= bound - 1e-9


def test_there_is_no_flip_of_two_people_below_three_others_and_three_with_three() -> None:
    assert [len(proofs.flips(2, n)) for n in (1, 2, 3)] == [0, 0, 3]
    assert proofs.flips(3, 2) == [(1, 1, (1, 3, 3), (2, 2, 2))]


def test_ranks_leave_known_films_out_and_break_ties_by_number() -> None:
    train = Interactions([0, 1], [0, 3], n_users=2, n_items=4)
    hidden = Interactions([0, 1, 1], [2, 0, 2], n_users=2, n_items=4)
    ranks, others = boards.full_ranks([[1.0], [1.0]], [[9.0], [5.0], [5.0], [7.0]], train, hidden)
    assert ranks.tolist() == [3, 1, 3] and others.tolist() == [2, 2, 2]


def test_the_stored_curves_are_those_of_the_models() -> None:
    """The lists, exactly; what towers hit among all films was counted once more, by `metrics.top_k`."""
    stored = json.loads(sampled_ranks.STORED.read_text(encoding="utf-8"))
    train, hidden = boards.split("later")
    users, items = np.ones((train.n_users, 1)), train.col_counts[:, None].astype(float)
    at = stored["rows"].index(boards.POPULAR)
    ranks, others = boards.full_ranks(users, items, train, hidden)
    found = [boards.expected_hit(ranks, others, m) for m in stored["samples"]]
    assert stored["hits"]["later"][0][at] == pytest.approx(found, abs=5.1e-5)
    lists = metrics.top_k(users, items, train, 10)
    among = np.array([item in lists[user] for user, item in hidden.pairs])
    assert found[-1] == pytest.approx(among.mean())
    assert all(row == sorted(row, reverse=True) for split in stored["hits"].values() for row in some(split[0]))


class Stored:
    """A result with one data set, of two seeds."""

    def __init__(self, sampled: float, full: float) -> None:
        self.paths = {"logQ": sampled, "plain + hits": 0.5, "last tenth": 0.5}, {"logQ": full, "plain + hits": 0.5}

    def select(self, **where: Any) -> list[dict[str, Any]]:
        if where["data"] == "ml-1m":
            return []
        row = where["row"]
        path = [0.0] * 4 + [self.paths[0][row]] + [0.0] * 3 + [self.paths[1].get(row, 0.5)]
        return [{"seed": seed, "path": [value + 0.001 * seed for value in path]} for seed in (0, 1)]


FINDINGS = [
    (found, (Stored(0.8, 0.1),), (Stored(0.1, 0.8),))
    for found in (findings.sampled_winner, findings.sampled_winner_loses_among_all)
]


@pytest.fixture(scope="module")
def result() -> experiments.Result:
    return experiments.load_result("PRACTICE-1", "laptop")


def changed(result: experiments.Result, value: float, **where: Any) -> experiments.Result:
    """The result with another value in the rows that agree with `where`."""
    hit = [all(row.get(key) == wanted for key, wanted in where.items()) for row in result.rows]
    assert any(hit)
    return replace(
        result, rows=[row | {"value": value} if one else row for row, one in zip(result.rows, hit, strict=True)]
    )


def test_predictions_are_judged_by_the_stored_numbers_and_can_fail(result: experiments.Result) -> None:
    assert predictions.plain_shows_more(result) is True and predictions.towers_win_beyond(result) is True
    few = changed(result, 10.0, row="plain + hits", metric="films shown")
    assert predictions.plain_shows_more(few) is False
    below = changed(result, -0.01, row="logQ", metric="beyond gain low")
    assert predictions.towers_win_beyond(below) is False
    table = repr(predictions.table(result))
    assert (
        table.count("held") + table.count("failed") + table.count("not all of it was run")
        == len(predictions.PREDICTIONS)
        == 7
    )


def test_the_same_predictions_stand_before_the_run() -> None:
    """Seven, numbered."""
    said = judging.PREDICTIONS
    assert [f" {number}. " in said for number in range(1, 9)] == [True] * 7 + [False]


test_nonsense_is_named = refused(  # scipy gives NaN, or a number, for these ranks
    (lambda: boards.expected_hit(np.array([9]), np.array([5]), 3), r"ranks\[0\] is 9 among 5 others; expected 1 to 6"),
    (lambda: boards.expected_hit(np.array([1, 0]), np.array([5, 5]), 3), r"ranks\[1\] is 0"),
    (lambda: boards.expected_hit(np.array([1]), np.array([5]), -1), "m is -1"),
    (lambda: boards.expected_hit(np.array([1, 2]), np.array([5]), 1), "others has shape"),
)


# ==== wrong sums and wrong flips leave a residual: shared/test_tables_can_fail.py tries them

WRONG = [
    (proofs, "hit", lambda f: lambda r, n, m, k: f(r, n, m, min(k, m)), [proofs.prop_sampled_hit]),
    (proofs, "flips", lambda f: lambda people, n: f(people, n + 1), [proofs.prop_smallest_flip]),
]


# ==== the figures of the chapter, each drawn once; what holds for every figure is tested for all lessons at once

FIGURES = {"sampled_chances": lambda: plots.sampled_chances(660, [20, 100])}


def test_a_sample_of_twenty_cannot_tell_rank_three_from_rank_thirty_and_all_films_can() -> None:
    _, ax = plots.sampled_chances(660, [20])
    sampled, full = ax.lines
    at = {int(rank): value for rank, value in zip(sampled.get_xdata(), sampled.get_ydata(), strict=True)}
    assert at[1] == 1 and min(value for rank, value in at.items() if rank <= 30) > 0.99
    assert list(full.get_xdata()) == pytest.approx([1, 10, 661]) and list(full.get_ydata()) == [1, 0, 0]


# ==== the interactive of the chapter: its words are those of its state, and the order turns over


def test_its_words_name_the_order_of_its_state() -> None:
    shown = SampledRanks()
    stored = shown.board
    at, last = stored["samples"].index(20), len(stored["samples"]) - 1
    assert shown.place == at and "compared with 20 sampled films" in shown.summary()
    hits = [row[at] for row in stored["hits"]["later"][0]]
    best = stored["rows"][hits.index(max(hits))]
    assert f"the order is {best} ({100 * max(hits):.1f} %)" in shown.summary()
    shown.place = last
    assert "compared with all other films" in shown.summary()


def test_the_order_turns_over_between_twenty_films_and_all_in_every_training() -> None:
    stored = SampledRanks().board
    at, model, listed = (
        stored["samples"].index(20),
        *(stored["rows"].index(row) for row in (boards.MODEL, boards.LATELY)),
    )
    for one in stored["hits"]["later"]:
        assert one[model][at] == max(row[at] for row in one)
        assert one[model][-1] < one[listed][-1]


def test_the_table_has_a_line_for_each_number_of_films() -> None:
    heads, rows = SampledRanks().table()
    assert heads[1:] == SampledRanks().board["rows"] and rows[-1][0] == "all other films" and len(rows) == 14


@pytest.mark.seconds
def test_the_same_in_python_is_python_that_runs() -> None:
    shown = SampledRanks(hidden="random", place=6)
    said, names = printed(shown.python())
    for k, row in enumerate(shown.board["rows"]):
        assert names["found"][row][0] == pytest.approx(
            shown.board["hits"]["random"][0][k][6], abs=0.02
        )  # kernels differ
    assert said.count("\n") == 5
