"""metrics: against a plain reference that loops over users, on random and on adversarial inputs."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from scipy.sparse import csr_array
from sympy.utilities.iterables import multiset_permutations

from course_lib import metrics
from course_lib.checking import some
from course_lib.interactions import Interactions
from course_lib.metrics import METRICS, evaluate, metrics_from_ranking, ranking, top_k


def interactions(mask: np.ndarray) -> Interactions:
    users, items = np.nonzero(mask)
    return Interactions(users, items, n_users=mask.shape[0], n_items=mask.shape[1])


def reference_ranking(scores: np.ndarray, seen: np.ndarray, k: int) -> list[int]:
    """Sort the unseen items by (-score, id) and cut."""
    order = sorted((j for j in range(len(scores)) if not seen[j]), key=lambda j: (-scores[j], j))
    return order[:k]


def reference_metrics(ranking: list[int], wanted: set[int], k: int) -> dict[str, float]:
    """Textbook loops over one user's list."""
    hits = [rank for rank, item in enumerate(ranking, start=1) if item in wanted]
    dcg = sum(1 / math.log2(1 + rank) for rank in hits)
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(k, len(wanted)) + 1))
    precision_at = [(hits.index(rank) + 1) / rank for rank in hits]
    return {
        "precision": len(hits) / k,
        "recall": len(hits) / len(wanted),
        "ndcg": dcg / ideal,
        "mrr": 1 / hits[0] if hits else 0.0,
        "map": sum(precision_at) / min(k, len(wanted)),
    }


@st.composite
def problems(draw):
    """Small integer embeddings (many ties) and disjoint train and test sets with at least one test pair."""
    m, n, d = draw(st.integers(1, 6)), draw(st.integers(1, 9)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = rng.choice(3, size=(m, n), p=[0.5, 0.3, 0.2])
    kind[rng.integers(m), rng.integers(n)] = 2
    spread = draw(st.sampled_from([1, 2, 50]))
    users, items = rng.integers(-spread, spread + 1, (m, d)), rng.integers(-spread, spread + 1, (n, d))
    tables = users.astype(float), items.astype(float)
    return *tables, kind == 1, kind == 2, draw(st.integers(1, 11)), draw(st.integers(1, 7))


@pytest.mark.seconds
@settings(max_examples=100)
@given(problems())
def test_everything_equals_the_reference(problem) -> None:
    users, items, train, test, k, block = problem
    scores = users @ items.T
    ranked = top_k(users, items, interactions(train), k, block=block)
    found = evaluate(users, items, interactions(train), interactions(test), (1, k), block=block)
    assert list(found["users"]) == [u for u in range(len(users)) if test[u].any()]
    for u in some(range(len(users))):
        expected = reference_ranking(scores[u], train[u], k)
        assert [int(j) for j in ranked[u]] == expected + [-1] * (k - len(expected))
    for cutoff in (1, k):
        liked = {u: set(np.flatnonzero(test[u]).tolist()) for u in found["users"]}
        wanted = [mean_over_orders(scores[u], train[u], items, cutoff) for u, items in liked.items()]
        for name in some(METRICS):
            ours = found["per_user"][f"{name}@{cutoff}"]
            np.testing.assert_allclose(ours, [row[name] for row in wanted], rtol=1e-12, atol=1e-15)
            assert found[f"{name}@{cutoff}"] == pytest.approx(np.mean([row[name] for row in wanted]), rel=1e-12)


def mean_over_orders(scores: np.ndarray, seen: np.ndarray, wanted: set[int], k: int) -> dict[str, float]:
    """The means over all orders of the items with equal scores, each written out: lists of 0 (a miss) and 1 (a hit)."""
    ranking = reference_ranking(scores, seen, len(scores))
    groups = [list(group) for _, group in itertools.groupby(ranking, key=lambda j: scores[j])]
    orders = [[*multiset_permutations(sorted(int(j in wanted) for j in group))] for group in groups]
    found = []
    for order in itertools.product(*orders):
        hits = [rank for rank, hit in enumerate(itertools.chain(*order)) if hit]
        found.append(reference_metrics([*range(len(ranking))][:k], set(hits), k))
    return {name: float(np.mean([row[name] for row in found])) for name in METRICS}


def test_equal_scores_earn_what_chance_earns_whatever_the_ids() -> None:
    """Hundreds of equal scores, more than the reference can order: constant tables, and half of the items zero."""
    rng = np.random.default_rng(0)
    drawn, kind = rng.random((300, 200)) < 0.5 / np.arange(1.0, 201), rng.random((300, 200)) < 0.7
    train, test = drawn & kind, drawn & ~kind
    halves = rng.normal(size=(300, 4)), rng.normal(size=(200, 4)) * (np.arange(200) % 2)[:, None]
    for users, items in ((np.ones((300, 4)), np.ones((200, 4))), halves):
        ahead = evaluate(users, items, interactions(train), interactions(test), (5, 10))
        turned = (interactions(mask[:, ::-1]) for mask in (train, test))
        back = evaluate(users, items[::-1].copy(), *turned, (5, 10))
        assert all(back[name] == pytest.approx(ahead[name], rel=1e-9) for name in ("ndcg@10", "map@5"))
    constant = evaluate(np.ones((300, 4)), np.ones((200, 4)), interactions(train), interactions(test), 10)
    seen = train[test.any(axis=1)].sum(axis=1)
    np.testing.assert_allclose(constant["per_user"]["recall@10"], 10 / (200 - seen))


ONE = {"n_users": 1, "n_items": 3}


@pytest.mark.parametrize("scale", [1e-13, 1.0, 1.7e7])
def test_what_ties_does_not_depend_on_the_scale(scale: float) -> None:
    """Items 0 and 1 differ by the order of a sum alone, item 2 by a billionth."""
    items, nobody = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.1, 0.2, 0.3 - 6e-10]]), Interactions([], [], **ONE)
    wanted = (Interactions([0], [item], **ONE) for item in range(3))
    found = [evaluate(np.ones((1, 3)), scale * items, nobody, one, 1)["recall@1"] for one in wanted]
    assert found == [0.5, 0.5, 0.0]


def small():
    train, test = (interactions(np.eye(2, 3, above) > 0) for above in (0, 1))
    return np.ones((2, 2)), np.ones((3, 2)), train, test


U, V, TRAIN, TEST = small()
TWO = Interactions([0, 1], [2, 0], n_users=2, n_items=5)
NOBODY = interactions(np.zeros((2, 3)) > 0)
test_errors_name_what_is_wrong = refused(
    (lambda: evaluate(U[:1], V, TRAIN, TEST, 1), "users has shape"),
    (lambda: evaluate(U, V[:, :1], TRAIN, TEST, 1), "users has width 2 but items has width 1"),
    (lambda: evaluate(U * np.nan, V, TRAIN, TEST, 1), "users holds NaN"),
    (lambda: evaluate(U, V * np.inf, TRAIN, TEST, 1), "items holds NaN or infinity"),
    (lambda: evaluate(U, torch.tensor(V * np.inf), TRAIN, TEST, 1), "items holds NaN or infinite entries"),
    (lambda: evaluate(U * 1e200, V * 1e200, TRAIN, TEST, 1), r"scores hold NaN or \+inf"),
    (lambda: evaluate(U, V, TRAIN, TEST, 0), "k is 0"),
    (lambda: evaluate(U, V, TRAIN, TEST, ()), "k is empty"),
    (lambda: evaluate(U, V, "x", TEST, 1), "train is 'x'; expected Interactions"),
    (lambda: evaluate(U, V, TRAIN, "x", 1), "test is 'x'; expected Interactions"),
    (lambda: evaluate(U, V, TRAIN, TRAIN, 1), "shares 2 pairs with train"),
    (lambda: evaluate(U, V, TRAIN, NOBODY, 1), "test is empty"),
    (lambda: evaluate(U, V, TRAIN, interactions(np.ones((2, 4)) > 0), 1), "expected the same"),
    (lambda: top_k(U, V, "x", 1), "train is 'x'"),
    (lambda: top_k(U, V, TRAIN, 1, block=-1), "block is -1"),  # which would go through nobody
    (lambda: metrics_from_ranking([[0, 5], [0, 1]], TWO, (2,)), r"ranked\[0\] holds 5"),
    (lambda: metrics_from_ranking([[0, 1], [-2, 1]], TWO, (2,)), r"ranked\[1\] holds -2"),
    (lambda: metrics_from_ranking([[0, 0], [0, 1]], TWO, (2,)), r"ranked\[0\] holds item 0 twice"),
    (lambda: metrics_from_ranking([[0.0, 1.0], [0.0, 1.0]], TWO, (2,)), "dtype float64; expected whole ids"),
    (lambda: metrics_from_ranking([[0, 1]], TWO, (1,)), r"shape \(1, 2\)"),
    (lambda: metrics_from_ranking([[0, 1], [0, 1]], TWO, (3,)), "cutoffs is 3"),
    (lambda: metrics_from_ranking([[0, 1], [0, 1]], TWO, (0,)), "cutoffs is 0"),
    (lambda: metrics_from_ranking([[0, 1], [0, 1]], TWO, ()), "cutoffs is"),
    (lambda: metrics_from_ranking([[0, 1], [0, 1]], NOBODY, (1,)), "test is empty"),
)


def test_places_of_a_ranking_may_be_left_empty() -> None:
    assert metrics_from_ranking([[2, -1], [-1, -1]], TWO, (1, 2))["recall@2"] == 0.5


@pytest.mark.seconds
def test_memory_is_bounded_by_the_block() -> None:
    """20,000 x 20,000 scores would need 1.6 GB in float32; the peak grows by far less."""
    import resource

    train = Interactions(np.arange(20000), np.arange(20000), n_users=20000, n_items=20000)
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(20000, 2)).astype("f4"), rng.normal(size=(20000, 2)).astype("f4")
    top_k(users[:10], items, Interactions(np.arange(10), np.arange(10), n_users=10, n_items=20000), 5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    top_k(users, items, train, 5)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 2e8


@given(problems())
def test_the_compiled_loop_numpy_and_torch_rank_alike(problem) -> None:
    """Whole numbers as embeddings: every score is exact, so the lists must be equal, ties and all."""
    users, items, train, _, k, block = problem
    seen = interactions(train).matrix
    both = []
    kinds = ((metrics._ranked, np.array), (metrics._ranked, torch.tensor), (metrics._ranked_compiled, np.array))
    for rank, kind in kinds:
        out = np.full((len(users), min(k, len(items))), -1, dtype=np.int64)
        rank(kind(users), kind(items), seen, block, out)
        both.append(out.tolist())
    assert both[0] == both[1] == both[2]


@pytest.mark.parametrize(
    ("m", "n", "d", "k"), [(3, 1023, 7, 5), (5, 1024, 8, 128), (1025, 1025, 3, 20), (1, 3000, 1, 129), (2, 200, 4, 200)]
)
def test_sizes_around_the_edges_of_tiles_and_blocks(m: int, n: int, d: int, k: int) -> None:
    """Tiles hold 1024 items, blocks 1024 users, groups 4 users and 4 coordinates; lists of up to 128 are compiled."""
    assert ranking.TILE == ranking.USERS == metrics.USERS == 1024 and metrics.LONGEST_COMPILED == 128
    rng = np.random.default_rng(m + n)
    users, items = (rng.integers(-9, 10, (rows, d)) * 1.0 for rows in (m, n))
    seen = rng.random((m, n)) < 0.3
    scores = np.where(seen, -np.inf, users @ items.T)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    expected = np.where(np.isneginf(np.take_along_axis(scores, order, axis=1)), -1, order)
    assert np.array_equal(top_k(users, items, interactions(seen), k), expected)
    assert np.array_equal(top_k(users.astype("f4"), items.astype("f4"), interactions(seen), k), expected)


@pytest.mark.parametrize("k", [5, 150])  # compiled, and through torch
def test_chosen_users_get_the_lists_that_they_have_among_all(k: int) -> None:
    rng = np.random.default_rng(4)
    users, items = rng.integers(-9, 10, (40, 3)) * 1.0, rng.integers(-9, 10, (200, 3)) * 1.0
    train = interactions(rng.random((40, 200)) < 0.3)
    everybody, chosen = top_k(users, items, train, k), [39, 0, 7, 0]
    assert np.array_equal(top_k(users, items, train, k, user_ids=chosen), everybody[chosen])
    assert np.array_equal(top_k(torch.tensor(users), items, train, k, user_ids=np.array(chosen)), everybody[chosen])
    assert top_k(users, items, train, k, user_ids=[]).shape == (0, k)
    with pytest.raises(ValueError, match=r"user_ids must lie in 0\.\.39 \(n_users=40\), got 40 at position 1"):
        top_k(users, items, train, k, user_ids=[3, 40])
    with pytest.raises(ValueError, match="user_ids must hold integers, got dtype bool"):
        top_k(users, items, train, k, user_ids=np.ones(40, dtype=bool))


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(3)
    users, items = rng.normal(size=(3000, 16)).astype("f4"), rng.normal(size=(700, 16)).astype("f4")
    train = interactions(rng.random((3000, 700)) < 0.02)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = top_k(users, items, train, 10)
        torch.set_num_threads(3)
        assert np.array_equal(top_k(users, items, train, 10), alone)
    finally:
        torch.set_num_threads(threads)


RANX = json.loads((Path(__file__).parents[1] / "fixtures" / "ranx.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("k", [1, 5, 10, 25])
def test_ranx_says_the_same(name: str, k: int) -> None:
    """Stored answers of ranx 0.3.21 (tests/fixtures/make_ranx.py);
    its MAP is divided by |test items|, ours by min(K, |test items|).
    """
    wanted = RANX["wanted"]
    mask = np.zeros((len(wanted), 80), dtype=bool)
    for user, items in enumerate(wanted):
        mask[user, items] = True
    found = metrics_from_ranking(np.array(RANX["ranked"]), interactions(mask), (k,))["per_user"][f"{name}@{k}"]
    theirs = np.array(RANX["ranx"][f"{name}@{k}"])
    if name == "map":
        sizes = mask.sum(axis=1)
        theirs = theirs * sizes / np.minimum(sizes, k)
    np.testing.assert_allclose(found, theirs, rtol=1e-12, atol=1e-12)
    assert len(set(theirs.round(6))) > 1  # the problems are not all alike


KINDS = {
    "int16": lambda x: x.astype(np.int16),
    "lists": np.ndarray.tolist,
    "of another byte order": lambda x: x.astype(">f4"),
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "trained": lambda x: torch.tensor(x, requires_grad=True),
    "float16": lambda x: torch.tensor(x).half(),
    "bfloat16": lambda x: torch.tensor(x).bfloat16(),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind_are_ranked_by_their_numbers(kind: str) -> None:
    rng = np.random.default_rng(0)
    tables = [rng.integers(-200, 200, (rows, 8)) * 1.0 for rows in (40, 70)]  # 16 bits hold these alone
    parts = rng.choice(3, size=(40, 70), p=[0.8, 0.1, 0.1])
    train, test = interactions(parts == 1), interactions(parts == 2)
    given = [KINDS[kind](table) for table in tables]
    assert np.array_equal(top_k(*given, train, 10), top_k(*tables, train, 10))
    assert evaluate(*given, train, test, 5)["ndcg@5"] == evaluate(*tables, train, test, 5)["ndcg@5"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sixteen_bits_beside_more_are_ranked_by_the_more(dtype: torch.dtype) -> None:
    fine = torch.tensor([[1.0], [1.0001]])
    assert top_k(torch.ones(1, 1, dtype=dtype), fine, interactions(np.zeros((1, 2)) > 0), 1).tolist() == [[1]]


def test_what_holds_no_real_numbers_is_not_ranked() -> None:
    users, items, train = U, V, TRAIN
    for wrong in (users.astype(object), users.astype(str), users * 1j, torch.tensor(users * 1j), csr_array(users)):
        with pytest.raises(ValueError, match=r"users (has|is a csr_array)"):
            top_k(wrong, items, train, 1)


def test_large_numbers_are_ranked_or_refused_and_tie_nothing() -> None:
    data = Interactions([0], [0], n_users=1, n_items=4)
    test = Interactions([0], [3], n_users=1, n_items=4)
    large = np.array([[1.0], [1.0], [2.0], [3.0]], np.float32) * np.float32(1e20)
    assert metrics.evaluate(np.full((1, 1), 1e-20, np.float32), large, data, test, 1)["recall@1"] == 1
    with pytest.raises(ValueError, match="-inf"):
        metrics.top_k(np.full((1, 1), 1e30, np.float32), -large, data, 2)
    with pytest.raises(ValueError, match="too large for float32"):
        metrics.top_k(np.ones((1, 1), np.float32), large.astype(np.float64) * 1e200, data, 2)
