"""Serving from an index: order kept, bounds kept, certificates true, and bad input refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course_lib import index, metrics

faiss = pytest.importorskip("faiss")
NAN = float("nan")


def tables(people: int = 60, films: int = 300, width: int = 8, seed: int = 0) -> tuple[Any, Any]:
    """Tables whose items have unequal lengths."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(people, width)), rng.normal(size=(films, width)) * rng.uniform(1, 3, size=(films, 1))


def best(users: Any, items: Any, k: int) -> Any:
    return np.argsort(-(users @ items.T), axis=1, kind="stable")[:, :k]


def test_one_more_coordinate_orders_as_the_inner_product_does() -> None:
    users, items = tables()
    left, right = index.one_more_coordinate(users, items)
    distances = ((left[:, None] - right) ** 2).sum(axis=2)
    assert (np.argsort(distances, axis=1) == np.argsort(-(users @ items.T), axis=1)).all()
    assert np.linalg.norm(right, axis=1) == pytest.approx(np.linalg.norm(items, axis=1).max())


@pytest.mark.parametrize("space", index.SPACES)
@pytest.mark.parametrize("kind", ["exact", "ivf", "hnsw"])
def test_an_index_that_looks_everywhere_finds_the_exact_lists(kind: str, space: str) -> None:
    users, items = tables()
    asked, held = index.arranged(users, items, space)
    wanted = best(asked, held, 10) if space == "cosine" else best(users, items, 10)
    found = index.nearest(index.build(held, kind, space=space, cells=8, probes=8), asked, 10)
    assert metrics.index_recall(found, wanted) > (0.999 if kind != "hnsw" else 0.97)


def test_fewer_probes_find_less_and_short_lists_end_in_minus_one() -> None:
    users, items = tables()
    asked, held = index.arranged(users, items, "inner product")
    one, four = (index.nearest(index.build(held, "ivf", cells=32, probes=probes), asked, 10) for probes in (1, 4))
    wanted = best(users, items, 10)
    assert metrics.index_recall(one, wanted) < metrics.index_recall(four, wanted) < 1
    assert (one == -1).any()
    with pytest.raises(ValueError, match=r"holds -1; expected items 0..299: look into more cells"):
        index.rescored(users, items, one, 5)


@pytest.mark.parametrize("kind", ["ivf", "pq"])
def test_the_seed_of_k_means_decides_the_cells(kind: str) -> None:
    users, items = tables()
    first, again, other = (
        index.nearest(index.build(items, kind, cells=16, probes=1, seed=seed), users, 10) for seed in (0, 0, 1)
    )
    assert (first == again).all() and (first != other).any()


def test_product_quantisation_pads_widths_that_16_does_not_divide() -> None:
    users, items = tables(width=9)
    built = index.build(items, "pq")
    assert built.d == 16 and index.nearest(built, users, 3).shape == (60, 3)


def test_our_int8_is_that_of_faiss_and_the_bound_holds_for_it() -> None:
    users, items = tables()
    rounded, steps = index.int8_table(items)
    theirs = index.build(items, "int8").reconstruct_n(0, len(items))
    differ = np.abs(theirs - rounded) / steps
    assert (differ < 1.001).all() and (differ > 0.01).mean() < 0.01  # a code of float32 may be the next one
    assert (differ[items.argmax(axis=0), range(8)] < 0.01).all()  # the largest entry has the last code
    bound = index.int8_bound(users, items)
    for table in (rounded, theirs):
        moved = np.abs(users @ (table - items).T).max(axis=1)
        assert (moved <= bound).all() and (moved > bound / 20).all()


def test_the_bound_holds_where_float32_is_coarser_than_a_byte() -> None:
    users, items = tables(width=2)
    far = 1e6 + items
    moved = np.abs(users @ (index.build(far, "int8").reconstruct_n(0, len(far)) - far).T).max(axis=1)
    assert (moved <= index.int8_bound(users, far)).all()
    assert (moved > 2 * index.int8_bound(users, items)).any()  # what the steps alone allow


def test_a_certified_list_is_exact_and_one_without_margin_is_not() -> None:
    users, items = tables(people=400)
    rounded, _ = index.int8_table(items)
    candidates, scores = best(users, rounded, 16), -np.sort(-(users @ rounded.T), axis=1)
    certain = index.certified(scores[:, :16], index.int8_bound(users, items), 10)
    lists, wanted = index.rescored(users, items, candidates[:, :15], 10), best(users, items, 10)
    assert 0.1 < certain.mean() < 1 and (lists[certain] == wanted[certain]).all()
    assert not index.certified([[2.0, 1.0]], [0.5], 1)[0]  # a gap of exactly 2b
    assert index.certified([[2.0, 1.0]], [0.49], 1)[0]
    assert index.certified([[3.0, 2.9, 1.0]], [0.9], 1)[0]  # all that lie within 2b are among the candidates
    exact, rounded = [1.0, 1.3], [1.2, 1.1]  # each moved by 0.2
    assert not index.certified([rounded], [0.2], 1)[0]
    assert index.certified([rounded], [0.04], 1)[0] and np.argmax(rounded) != np.argmax(exact)  # a bound that lies


def test_candidates_are_ordered_by_their_scores_in_float64_also_below_zero() -> None:
    assert index.rescored([[1.0]], [[-3.0], [1.0], [-2.0]], [[0, 1, 2]], 3).tolist() == [[1, 2, 0]]
    assert index.rescored([[1.0]], [[1.0], [1 + 1e-12]], [[0, 1]], 2).tolist() == [[1, 0]]
    assert index.rescored([[1.0]], [[1.0], [1.0]], [[1, 0]], 2).tolist() == [[1, 0]]  # equal ones as the index had them


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: index.build(np.eye(3), "ivf", cells=4), "cells is 4; expected a whole number from 1 to 3, as there are 3"),
    (lambda: index.build(np.eye(3), "ivf", cells=2, probes=3), "probes is 3; expected a whole number from 1 to 2"),
    (lambda: index.build(np.eye(3), "tree"), "kind is 'tree'; expected one of"),
    (lambda: index.build(np.eye(3), "exact", space="l1"), "space is 'l1'; expected one of"),
    (lambda: index.build([[NAN]], "exact"), "vectors"),
    (lambda: index.build(np.eye(3), "pq"), "the number of vectors is 3; expected a whole number of at least 256"),
    (lambda: index.nearest(index.build(np.eye(3), "exact"), np.eye(3), 4), "k is 4; expected a whole number from 1 to"),
    (lambda: index.nearest(index.build(np.eye(3), "exact"), np.eye(40), 1), "queries have width 40; expected 3"),
    (lambda: index.nearest(index.build(np.eye(1), "exact"), [[NAN]], 1), "queries"),
    (lambda: index.nearest(np.eye(3), np.eye(3), 1), "expected an index of faiss, from build"),
    (lambda: index.build(np.zeros((4, 0)), "exact"), "vectors has shape (4, 0); expected at least one coordinate"),
    (lambda: index.build([[1e39]], "exact"), "vectors holds an entry of size 1e+39; expected at most 3.4e+38"),
    (lambda: index.arranged([[1e39]], [[1.0]], "inner product"), "users holds an entry of size 1e+39"),
    (lambda: index.int8_table(np.zeros((0, 4))), "items has no row"),
    (lambda: index.arranged([[1.0]], [[0.0]], "cosine"), "items[0] is the zero vector"),
    (lambda: index.arranged([[0.0]], [[1.0]], "cosine"), "users[0] is the zero vector"),
    (lambda: index.arranged([[1.0]], [[1.0, 2.0]], "inner product"), "users"),
    (lambda: index.one_more_coordinate([[1.0]], np.zeros((0, 1))), "items"),
    (lambda: index.int8_bound([[NAN]], [[1.0]]), "queries"),
    (lambda: index.certified([[1.0, 2.0]], [0.1], 1), "scores rise in a row"),
    (lambda: index.certified([[2.0, 1.0]], [-0.1], 1), "bounds"),
    (lambda: index.certified([[2.0, 1.0]], [0.1], 2), "k is 2; expected a whole number from 1 to 1"),
    (lambda: index.certified([[NAN, 1.0]], [0.1], 1), "scores"),
    (lambda: index.rescored([[1.0]], [[1.0]], [[0]], 2), "k is 2"),
    (lambda: index.rescored([[1.0]], [[1.0]], [[1]], 1), "found[0] holds 1; expected items 0..0"),
    (lambda: index.rescored([[1.0]], [[1.0]], [0], 1), "expected the ids of candidates"),
    (lambda: index.rescored([[1.0]], [[1.0]], [[0], [0, 0]], 1), "found is [[0], [0, 0]]; expected an array"),
    (lambda: index.build(np.eye(3), "ivf", seed=2**31), "seed is 2147483648; expected a whole number from 0 to 2147"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words[:30] for _, words in REFUSED])
def test_nonsense_is_refused_by_name(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert words in str(error.value)
