"""A shortlist of a long table gives the lists of all its items, or says that it cannot."""

import numpy as np
import pytest

from course_lib import metrics
from course_lib.audit import shortlist
from course_lib.audit.evidence import Evidence, part_of
from course_lib.interactions import Interactions

N, M, K = 3_000, 40, 11


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray, Interactions]:
    """Users, items of 3,000 rows, of which each user knows the best 30 and others."""
    monkeypatch.setattr(shortlist, "LONG", 1_000)
    monkeypatch.setattr(shortlist, "HELD", 64 * M * 3)
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(rows, 8)).astype(np.float32) for rows in (M, N))
    best = np.argsort(-(users @ items.T), axis=1)[:, :30]
    known = np.concatenate([best, rng.integers(0, N, (M, 20))], axis=1)
    pairs = Interactions.merged(np.repeat(np.arange(M), 50), known.ravel(), n_users=M, n_items=N, keep="first")
    return users, items, pairs


def test_the_lists_are_those_of_all_items(tables: tuple[np.ndarray, np.ndarray, Interactions]) -> None:
    users, items, known = tables
    some = shortlist.shortlist(users, items, known, K)
    assert some is not None and len(some) < N / 2
    lists = some[metrics.top_k(users, items[some], part_of(known, items=some), K)]
    assert np.array_equal(lists, metrics.top_k(users, items, known, K))


@pytest.mark.parametrize(("equal", "told"), [(10, True), (60, False)])
def test_so_many_equal_scores_that_some_may_be_left_out(
    equal: int, told: bool, tables: tuple[np.ndarray, np.ndarray, Interactions]
) -> None:
    """The rows that a user would see last, `equal` times over: all of them are listed, or none is."""
    users, items, known = tables
    last = metrics.top_k(users, items, known, K)
    items[-equal:] = items[last[0, -1]]
    some = shortlist.shortlist(users, items, known, K)
    assert (some is not None) is told
    assert some is None or np.isin(np.arange(N - equal, N), some).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_what_has_no_scores_is_left_to_the_ranking_that_refuses_it(
    value: float, tables: tuple[np.ndarray, np.ndarray, Interactions]
) -> None:
    users, items, known = tables
    items[5] = value
    assert shortlist.shortlist(users, items, known, K) is None


def test_an_audit_of_a_long_table_has_the_lists_of_a_short_one(
    tables: tuple[np.ndarray, np.ndarray, Interactions], monkeypatch: pytest.MonkeyPatch
) -> None:
    users, items, known = tables
    evidence = Evidence(items, users, known.col_counts.astype(float), known)
    found = evidence.lists(users, items, known)
    monkeypatch.setattr(shortlist, "LONG", 10**9)
    assert len(evidence.among(users, items, known)) == N and np.array_equal(found, evidence.lists(users, items, known))
