"""PRACTICE-1: windows know nothing of what comes later, rows are those of the library, and the stored result."""

import numpy as np
import pytest
import torch

from course_lib import experiments, metrics
from course_lib.checking import some
from course_lib.experiments.practice import judging, scoreboard
from course_lib.interactions import Interactions
from course_lib.lessons.judging import boards
from course_lib.training.on_pairs import cosine_tables


@pytest.fixture(scope="module")
def small() -> Interactions:
    """Forty people and thirty films, a pair a minute."""
    rng = np.random.default_rng(0)
    cells = rng.choice(40 * 30, 500, replace=False)
    return Interactions(cells // 30, cells % 30, n_users=40, n_items=30, times=60.0 * np.arange(500))


def test_windows_begin_where_the_one_before_ends_and_train_on_the_past_alone(small: Interactions) -> None:
    first, second = scoreboard.windows(small, (0.6, 0.8))
    for window, start, end in some([(first, 300, 400), (second, 400, 500)]):
        assert window.train.times.max() < 60 * start <= window.later.times.min()
        assert window.later.times.max() < 60 * end and window.now == 60 * (start - 1)
        assert (window.train.row_counts[window.later.users] > 0).all()
    assert first.train.shape == small.shape  # without a core the numbers stay
    newcomer = Interactions([0, 0, 0, 1], [0, 1, 2, 0], n_users=2, n_items=3, times=[0.0, 1.0, 2.0, 3.0])
    [window] = scoreboard.windows(newcomer, (0.5,))
    assert window.later.pairs.tolist() == [[0, 2]]  # at the very cut; person 1 is not known yet


def test_a_core_of_the_past_is_one_and_people_keep_their_numbers(small: Interactions) -> None:
    [window] = scoreboard.windows(small, (0.7,), core=5)
    assert min(window.train.row_counts.min(), window.train.col_counts.min()) >= 5
    pairs = small.select(small.contains(small.users, small.items) & (small.times < 60 * 350)).k_core(5)
    assert (window.people == np.flatnonzero(pairs.row_counts)).all()
    back = set(zip(window.people[window.train.users], window.films[window.train.items], strict=True))
    assert back == {(int(u), int(i)) for u, i in pairs.pairs}


def test_a_shelf_is_without_its_films_and_nothing_else_is_lost(small: Interactions) -> None:
    [window] = scoreboard.windows(small, (0.7,))
    shelf = scoreboard.without(window, np.array([0, 5]))
    assert shelf.train.n_items == 28 and 5 not in shelf.films and shelf.train.n_users == small.n_users
    assert len(shelf.train) == len(window.train) - window.train.col_counts[[0, 5]].sum()


@pytest.mark.seconds
def test_the_training_is_the_librarys_and_alone_is_a_weight_of_zero(small: Interactions) -> None:
    [window] = scoreboard.windows(small, (0.7,))
    tables, losses, rates = scoreboard.cosine_training(window, scoreboard.recall, tau=0.5, passes=2, seed=3)
    theirs = cosine_tables(window.train, tau=0.5, passes=2, seed=3)
    assert all(np.array_equal(one, other.numpy()) for one, other in zip(tables, theirs, strict=True))
    assert len(losses) == len(rates) == 2
    corrected, _, _ = scoreboard.cosine_training(window, scoreboard.recall, tau=0.5, corrected=True, passes=2, seed=3)
    log_q = np.log(np.maximum(window.train.col_counts, 1) / len(window.train))
    theirs = cosine_tables(window.train, tau=0.5, log_q=torch.tensor(log_q), passes=2, seed=3)
    assert all(np.array_equal(one, other.numpy()) for one, other in zip(corrected, theirs, strict=True))
    assert not np.array_equal(corrected[0], tables[0])
    users, items = scoreboard.alone(tables, 0.5)
    served = scoreboard.with_hits(tables, window, 0.5, half_life=1.0, weight=1.0)
    assert np.allclose(served[0][:, :-1], users) and np.allclose(served[1][:, :-1], items)


def test_ranks_and_sampled_hits_are_those_of_the_lesson_and_the_library(small: Interactions) -> None:
    [window] = scoreboard.windows(small, (0.7,))
    rng = np.random.default_rng(1)
    tables = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    ranks, others = scoreboard.full_ranks(tables, window)
    theirs = boards.full_ranks(*tables, window.train, window.later)
    assert (ranks == theirs[0]).all() and (others == theirs[1]).all()
    each = [metrics.sampled_hit([r], int(n), 12, 10)[0] for r, n in zip(ranks, others, strict=True)]
    assert scoreboard.sampled_hits(ranks, others, 12) == pytest.approx(np.mean(each))
    lists = metrics.top_k(*tables, window.train, 10)
    among = np.mean([item in lists[user] for user, item in window.later.pairs])
    assert scoreboard.sampled_hits(ranks, others, None) == pytest.approx(among)


def test_recall_counts_at_most_ten_where_it_says_so() -> None:
    """One person with twelve later films and a list of ten of them."""
    train = Interactions([0], [12], n_users=1, n_items=13)
    later = Interactions(np.zeros(12, int), np.arange(12), n_users=1, n_items=13)
    window = scoreboard.Window(train, later, np.array([0]), np.arange(13), 0.0)
    tables = np.ones((1, 1)), np.arange(13.0)[::-1, None]
    assert scoreboard.recall(tables, window).tolist() == [pytest.approx(10 / 12)]
    assert scoreboard.capped_recall(tables, window).tolist() == [pytest.approx(1.0)]
    few = window._replace(later=later.select(np.array([0, 11])))  # two later films, of which the list has one
    assert scoreboard.capped_recall(tables, few).tolist() == [pytest.approx(0.5)]


def test_a_person_of_two_windows_counts_once() -> None:
    def window(people: list[int]) -> scoreboard.Window:
        pairs = Interactions(np.arange(len(people)), np.zeros(len(people), int), n_users=len(people), n_items=1)
        return scoreboard.Window(pairs, pairs, np.array(people), np.arange(1), 0.0)

    values = [np.array([0.25, 1.0]), np.array([0.5])]
    assert scoreboard.by_person(values, [window([3, 7]), window([7])]).tolist() == [0.25, 0.75]


def test_hits_age_until_the_moment_of_serving_also_where_the_latest_pair_is_lost_to_the_core(
    small: Interactions,
) -> None:
    [window] = scoreboard.windows(small, (0.7,))
    later, tables = window._replace(now=window.now + 86_400), (np.ones((40, 2)), np.ones((30, 2)))
    counts, halved = (scoreboard.list_tables(one, 1.0)[1][:, 0] for one in (window, later))
    assert halved == pytest.approx(counts / 2)
    assert scoreboard.with_hits(tables, later, 0.5, 1.0, 1.0)[1][:, -1] == pytest.approx(np.log(halved + 0.05))


def test_settings_are_chosen_where_they_find_most(small: Interactions) -> None:
    before, _ = scoreboard.windows(small, (0.6, 0.8))
    kinds: dict[scoreboard.Kind, float] = {
        kind: float(scoreboard.recall(scoreboard.list_tables(before, kind), before).mean()) for kind in judging.LISTS
    }
    assert kinds[scoreboard.chosen_list(before, scoreboard.recall, judging.LISTS)] == max(kinds.values())


def test_lists_and_hits_are_chosen_in_the_window_before_the_judged_one(
    small: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = tuple(scoreboard.windows(small, (0.5, 0.7, 0.85)))
    chosen: dict[str, list] = {"lists": [], "hits": [], "trainings": [], "films": []}

    def training(window: scoreboard.Window, *_: object, **__: object) -> tuple[object, list[float], list[float]]:
        rng = np.random.default_rng(len(window.train))
        return (rng.normal(size=(40, 2)), rng.normal(size=(30, 2))), [1.0], [0.5]

    def hits(before: scoreboard.Window, trained: list[object], *more: object) -> tuple[float, float]:
        chosen["hits"].append(before)
        chosen["films"].append(more[-1])
        chosen["trainings"] += [np.array_equal(trained[0][0], training(before)[0][0])]
        return 2.0, 1.0

    def kind(before: scoreboard.Window, *_: object) -> str:
        chosen["lists"].append(before)
        return "popular"

    for name, function in (("cosine_training", training), ("chosen_hits", hits), ("chosen_list", kind)):
        monkeypatch.setattr(scoreboard, name, function)
    cell = judging.ScoreCell(data="movietweetings", protocol="five windows", model="plain", passes=1, seeds=[0])
    rows = judging.model_rows(cell, windows)
    assert {row["window"] for row in rows if row["metric"] == "recall@10"} == {1, 2}
    assert chosen["lists"] == chosen["hits"] == list(windows[:2]) and all(chosen["trainings"])
    monkeypatch.setattr(judging, "HOTTEST", 5)
    chosen["lists"].clear()
    judging.list_rows(cell, windows)
    first, second = (window.now for window in windows[:2])  # of all, then of each window: of all films, of the shelf
    assert [one.now for one in chosen["lists"]] == [first, second, first, first, second, second]
    tables = [training(window)[0] for window in windows[:2]]
    judging.beyond_rows(cell, *windows[:2], ([tables[0]], [tables[1]]))
    hottest, later = (judging.hottest(window) for window in windows[:2])
    assert {*hottest} != {*later} and np.array_equal(chosen["films"][-1], np.setdiff1d(np.arange(30), hottest))


def test_the_list_that_was_chosen_gains_nothing_over_itself_and_beats_chance() -> None:
    stored = experiments.load_result("PRACTICE-1", "laptop")
    for board in some(stored.distinct("protocol", row="chosen list")):
        for data in some(stored.distinct("data", row="chosen list", protocol=board)):
            where = {"data": data, "protocol": board, "window": 1}
            assert stored.mean("gain", row="chosen list", **where) == 0
            assert stored.mean("recall@10", row="chosen list", **where) > 3 * stored.mean(
                "recall@10", row="chance", **where
            )
            assert stored.mean("hindsight", row="best list in hindsight", **where) == 0


def test_twelve_trainings_against_a_thirteenth_are_compared_over_people() -> None:
    """The stored changes are differences of the stored recalls, and one of twelve has a p below 5 %."""
    stored = experiments.load_result("PRACTICE-1", "laptop")
    where = {"protocol": judging.NOTHING, "row": "logQ"}
    recalls, changes, ps = (np.array(stored.values(name, **where)) for name in ("recall@10", "change", "p"))
    assert len(recalls) == judging.MORE_SEEDS + 1 and recalls[1:] - recalls[0] == pytest.approx(changes)
    assert (ps < 0.05).sum() == 1 and ps.argmin() == np.abs(changes).argmax()
