"""`Interactions`: what it refuses, its counts, cores and splits, and the laws of its samplers."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from refused import refused
from scipy import stats

from course_lib.checking import some
from course_lib.interactions import (
    NEGATIVE_LAWS,
    Interactions,
    TripleLaw,
    epoch_batches,
    sample_in_batch,
    sample_negatives,
)


def label_matrices(max_side: int = 7, min_pairs: int = 0) -> st.SearchStrategy[np.ndarray]:
    """A small 0/1 matrix with at least `min_pairs` ones, if it has as many cells."""
    matrices = array_shapes(min_dims=2, max_dims=2, max_side=max_side).flatmap(partial(arrays, bool))
    return matrices.filter(lambda labels: labels.sum() >= min(min_pairs, labels.size))


def from_labels(labels: np.ndarray, **columns: object) -> Interactions:
    users, items = np.nonzero(labels)
    return Interactions(users, items, n_users=labels.shape[0], n_items=labels.shape[1], **columns)


def example() -> Interactions:
    """Four users, five items; user 3 and item 4 have nothing."""
    return Interactions(
        [2, 0, 1, 0, 2, 1, 2],
        [3, 1, 0, 0, 0, 1, 2],
        n_users=4,
        n_items=5,
        times=[30, 20, 10, 40, 50, 60, 30],
        ratings=[4, 5, 4, 5, 4, 5, 4.5],
        name="example",
    )


# ----------------------------------------------------------------------------------------------------------------- form
def test_csr_order_carries_times_and_ratings() -> None:
    data = example()
    assert data.pairs.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 2], [2, 3]]
    assert data.times.tolist() == [40, 20, 10, 60, 50, 30, 30]
    assert data.ratings.tolist() == [5, 5, 4, 5, 4, 4.5, 4]


@given(label_matrices(), st.randoms())
def test_counts_and_matrix_agree_with_the_dense_labels(labels: np.ndarray, random) -> None:
    pairs = list(zip(*np.nonzero(labels), strict=True))
    random.shuffle(pairs)
    users, items = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    data = Interactions(users, items, n_users=labels.shape[0], n_items=labels.shape[1])
    assert len(data) == labels.sum()
    assert np.array_equal(data.labels(), labels)
    assert np.array_equal(data.matrix.toarray(), labels)
    assert data.matrix.dtype == np.float32
    assert np.array_equal(data.row_counts, labels.sum(1))
    assert np.array_equal(data.col_counts, labels.sum(0))
    assert data.mean_pair_popularity == pytest.approx(np.outer(labels.sum(1), labels.sum(0)).mean())
    assert all(np.array_equal(data.items_of(user), np.flatnonzero(labels[user])) for user in some(range(len(labels))))
    users, items = np.indices(labels.shape)
    assert np.array_equal(data.contains(users, items), labels)
    nothing = Interactions([], [], n_users=2, n_items=2).contains([[0], [1]], [0, 1])
    assert nothing.shape == (2, 2) and nothing.dtype == bool and not nothing.any()
    assert data == from_labels(labels)


def test_statistics_are_the_columns_of_table_3() -> None:
    assert example().statistics() == {"m": 4, "n": 5, "positives": 7, "mean_pair_popularity": 49 / 20}


def test_equality_looks_at_content_and_not_at_names() -> None:
    data = example()
    assert data == dataclasses.replace(data, name="other")
    assert hash(data) == hash(dataclasses.replace(data, name="other"))
    assert data != dataclasses.replace(data, times=None)
    assert data != dataclasses.replace(data, n_items=6)
    assert data != data.select(np.arange(6))
    assert data != "example"
    assert data == pickle.loads(pickle.dumps(data))


def test_the_fingerprint_changes_with_every_part() -> None:
    data = example()
    others = [
        dataclasses.replace(data, n_users=5),
        dataclasses.replace(data, times=None),
        dataclasses.replace(data, times=data.times + 1),
        dataclasses.replace(data, ratings=data.ratings + 1),
        dataclasses.replace(data, times=data.ratings, ratings=None),
        data.select(np.arange(6)),
    ]
    assert len({data.sha256, *(other.sha256 for other in others)}) == 7


def test_it_cannot_be_changed() -> None:
    given = {name: np.array([0, 1]) for name in ("users", "items", "times", "ratings")}
    names = np.array(["a", "b"])
    data = Interactions(**given, n_users=2, n_items=2, user_table={"name": names})
    for name, array in given.items():
        array[0] = 1  # the caller's array stays the caller's
        assert getattr(data, name).tolist() == [0, 1]
    names[0] = "b"
    assert data.user_names.tolist() == ["a", "b"]
    for array in (data.users, data.items, data.pairs, data.row_counts, data.col_counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.n_users = 3


@pytest.mark.parametrize(
    ("keep", "times", "ratings"), [("first", [1, 2], [3, 5]), ("last", [4, 3], [5, 1]), ("highest", [4, 2], [5, 5])]
)
def test_merging_keeps_the_copy_that_was_asked_for(keep: str, times: list, ratings: list) -> None:
    columns = {"times": [1, 2, 3, 4], "ratings": [3, 5, 1, 5]}
    data = Interactions.merged([0, 1, 1, 0], [1, 0, 0, 1], n_users=2, n_items=2, keep=keep, name="log", **columns)
    assert data.pairs.tolist() == [[0, 1], [1, 0]]
    assert data.times.tolist() == times
    assert data.ratings.tolist() == ratings
    assert data.name == "log"


def test_the_highest_rating_is_told_in_float64() -> None:
    rated = {"ratings": [2**24, 2**24 + 1], "times": [1, 2]}
    data = Interactions.merged([0, 0], [0, 0], n_users=1, n_items=1, keep="highest", **rated)
    assert data.times.tolist() == [2]


def test_of_a_long_log_the_first_or_the_last_row_of_each_pair_lends_its_time() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 20, 5000), rng.integers(0, 10, 5000)
    for keep, rows in (("first", range(4999, -1, -1)), ("last", range(5000))):
        wanted = {(int(users[row]), int(items[row])): row for row in rows}
        found = Interactions.merged(users, items, n_users=20, n_items=10, keep=keep, times=np.arange(5000))
        assert dict(zip(map(tuple, found.pairs.tolist()), found.times.tolist(), strict=True)) == wanted


def test_more_cells_than_64_bits_number_are_refused_and_fewer_are_in_order() -> None:
    """The pairs are sorted by user n + item: past 2^63 that overflows, and the order would be wrong without a word."""
    makers = (Interactions, lambda *both, **sizes: Interactions.merged(*both, **sizes, keep="first"))
    for make in makers:
        for m, n in ((2**32, 2**31), (2**31, 2**32), (2**62, 2**62), (2**63, 1)):
            with pytest.raises(ValueError, match=r"n_users \* n_items is .* expected fewer than 2\^63 cells"):
                make([m - 1, 0], [0, n - 1], n_users=m, n_items=n)
        large = make([2**31 - 1, 0, 2**31 - 1], [5, 2**32 - 3, 0], n_users=2**31, n_items=2**32 - 2)
        assert large.pairs.tolist() == [[0, 2**32 - 3], [2**31 - 1, 0], [2**31 - 1, 5]]
        assert large.contains([0, 0, 2**31 - 1], [0, 2**32 - 3, 5]).tolist() == [False, True, True]


# -------------------------------------------------------------------------------------------------------------- filters
def largest_core(labels: np.ndarray, k: int) -> np.ndarray:
    """The k-core by definition: of all subsets of rows and columns, the largest whose lines have k ones each."""
    best = np.zeros_like(labels)
    rows, cols = (list(itertools.product((False, True), repeat=side)) for side in labels.shape)
    for row, col in itertools.product(rows, cols):
        part = labels & np.outer(row, col)
        if (part.sum(1)[list(row)] >= k).all() and (part.sum(0)[list(col)] >= k).all() and part.sum() > best.sum():
            best = part
    return best


@given(label_matrices(max_side=5), st.integers(1, 4))
def test_the_k_core_is_the_largest_one(labels: np.ndarray, k: int) -> None:
    core = from_labels(labels).k_core(k)
    assert core.shape == labels.shape
    assert np.array_equal(core.labels(), largest_core(labels, k))


@pytest.mark.parametrize("k", [2, 3])
def test_the_k_core_is_peeled_to_the_end(k: int) -> None:
    """A block of k x k pairs with a chain of 12 rows and columns at it: each peel takes the end of the chain only."""
    labels = np.zeros((k + 12, k + 12), dtype=bool)
    labels[:k, :k] = True
    for at in range(k, k + 12):
        labels[at, at - k + 1 : at] = True  # user `at`: k - 1 items before it, and its own
        labels[at, at] = True
    ends = labels.sum(1).min(), labels.sum(0)[-1]
    assert ends == (k, 1)  # the last item has one pair; without it the last user has k - 1; and so on
    core = from_labels(labels).k_core(k)
    expected = np.zeros_like(labels)
    expected[:k, :k] = True
    assert np.array_equal(core.labels(), expected)


@given(label_matrices(min_pairs=1))
def test_compact_drops_exactly_the_empty_rows_and_columns(labels: np.ndarray) -> None:
    m, n = labels.shape
    tables = {"user_table": {"id": np.arange(m)}, "item_table": {"id": np.arange(n)}}
    data = from_labels(labels, **tables).compact()
    assert (data.row_counts > 0).all()
    assert (data.col_counts > 0).all()
    ids = np.stack((data.user_table["id"][data.users], data.item_table["id"][data.items]), axis=1)
    assert np.array_equal(ids, np.argwhere(labels))


# --------------------------------------------------------------------------------------------------------------- splits
def assert_partition(data: Interactions, train: Interactions, test: Interactions) -> None:
    assert train.shape == test.shape == data.shape
    assert not train.contains(test.users, test.items).any()
    assert np.array_equal(train.labels() + test.labels(), data.labels())


@given(label_matrices(), st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_every_split_partitions_the_pairs(labels: np.ndarray, fraction: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = from_labels(labels, times=rng.integers(0, 5, labels.sum()))
    exact, independent = data.split_random(fraction, rng), data.split_bernoulli(fraction, rng)
    for train, test in (exact, independent):
        assert_partition(data, train, test)
    assert len(exact[0]) == round(fraction * len(data))


def test_random_split_is_uniform_over_the_subsets_and_an_independent_one_binomial() -> None:
    data, rng = from_labels(np.ones((2, 2), dtype=bool)), np.random.default_rng(0)
    drawn = [tuple(data.split_random(0.5, rng)[0].pairs.ravel()) for _ in range(3000)]
    counts = np.unique(np.array(drawn), axis=0, return_counts=True)[1]
    assert len(counts) == 6  # 4 choose 2
    assert stats.chisquare(counts).pvalue > 1e-3
    sizes = [len(data.split_bernoulli(0.3, rng)[0]) for _ in range(1000)]
    assert stats.chisquare(np.bincount(sizes, minlength=5), 1000 * stats.binom(4, 0.3).pmf(range(5))).pvalue > 1e-3


@given(label_matrices(min_pairs=2), st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_a_split_by_time_puts_all_earlier_pairs_before_all_later_ones(
    labels: np.ndarray, fraction: float, seed: int
) -> None:
    """Times with ties: as many earlier pairs as asked, unless pairs of one time lie on both sides of the cut."""
    data = from_labels(labels, times=np.random.default_rng(seed).integers(0, 5, labels.sum()))
    size, in_order = round(fraction * len(data)), np.sort(data.times)
    if size == len(data) or not (in_order < in_order[size]).any():
        with pytest.raises(ValueError, match=r"fraction is .*; expected one"):
            data.split_by_time(fraction)
        return
    earlier, later = data.split_by_time(fraction)
    assert_partition(data, earlier, later)
    assert earlier.times.max() < later.times.min()
    assert len(earlier) == (data.times < in_order[size]).sum()  # pairs of one time stay together on the later side


# ------------------------------------------------------------------------------------------------------------- samplers


def test_the_order_inside_a_batch_is_random_too() -> None:
    """All 5 x 4 ordered draws of two pairs are as likely: who takes the first half of a batch takes a random half."""
    data, rng = from_labels(np.ones((1, 5), dtype=bool)), np.random.default_rng(0)
    orders, counts = np.unique([sample_in_batch(data, 2, rng) for _ in range(4000)], axis=0, return_counts=True)
    assert len(orders) == 20
    assert stats.chisquare(counts).pvalue > 1e-3


@given(label_matrices(min_pairs=1), st.data())
def test_batches_of_an_epoch_visit_every_pair_once(labels: np.ndarray, data_: st.DataObject) -> None:
    data = from_labels(labels)
    size = data_.draw(st.integers(1, len(data)))
    batches = list(epoch_batches(data, size, np.random.default_rng(0)))
    assert sorted(np.concatenate(batches)) == list(range(len(data)))
    assert {len(batch) for batch in batches[:-1]} <= {size}
    whole = list(epoch_batches(data, size, np.random.default_rng(0), drop_last=True))
    assert len(whole) == len(data) // size
    assert all(len(batch) == size for batch in some(whole))


@pytest.mark.parametrize("law", ["uniform", "popularity"])
@given(labels=label_matrices(min_pairs=1), seed=st.integers(0, 2**32))
def test_negatives_are_items_of_others_alone(law: str, labels: np.ndarray, seed: int) -> None:
    data = from_labels(labels)
    open_to = ~labels if law == "uniform" else ~labels & (data.col_counts > 0)  # others have none to draw
    users = np.repeat(np.flatnonzero(open_to.any(axis=1)), 20)
    drawn = sample_negatives(data, users, np.random.default_rng(seed), law=law)
    assert open_to[users, drawn].all()


@pytest.mark.parametrize("law", NEGATIVE_LAWS)
def test_each_law_of_negatives_has_its_probabilities(law: str) -> None:
    """Counts 3, 2, 1, 4, 0; user 0 has items 0 and 2, user 4 has nothing."""
    labels = np.array(
        [[1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]],
        dtype=bool,
    )
    data, rng = from_labels(labels), np.random.default_rng(0)
    for user in range(6):
        drawn = np.bincount(sample_negatives(data, np.full(6000, user), rng, law=law), minlength=5)
        weights = {"uniform": ~labels[user], "popularity": ~labels[user] * labels.sum(0), "everything": np.ones(5)}
        weight = weights[law].astype(float)
        assert drawn[weight == 0].sum() == 0
        kept = weight > 0
        assert kept.sum() == 1 or stats.chisquare(drawn[kept], 6000 * weight[kept] / weight.sum()).pvalue > 1e-4


def merged(**change: object) -> Interactions:
    return Interactions.merged([0], [0], n_users=1, n_items=1, **change)


def two_pairs(**change: object) -> Interactions:
    return Interactions(**{"users": [0, 1], "items": [0, 1], "n_users": 3, "n_items": 2} | change)


def at_one_time() -> Interactions:
    return dataclasses.replace(example(), times=np.full(7, 3))


def matrix(*rows: list[int]) -> Interactions:
    return from_labels(np.array(rows, dtype=bool))


RNG = np.random.default_rng(0)
NO_GENERATOR = "expected a numpy.random.Generator"
FRACTION = r"fraction is {}; expected a finite number in \(0, 1\)"
SECONDS = np.array([0, 1], "m8[s]")
test_what_cannot_be_done_is_refused_by_name = refused(
    (lambda: two_pairs(users=[1, 0, 1, 1], items=[0] * 4), "2 rows repeat an earlier pair, .* user 1, item 0.*merged"),
    (lambda: two_pairs(users=[0, 4]), r"users must lie in 0\.\.2 \(n_users=3\), got 4 at position 1"),
    (lambda: two_pairs(items=[-1, 0]), r"items must lie in 0\.\.1 \(n_items=2\), got -1 at position 0"),
    (lambda: two_pairs(users=[0.0, 1.0]), "users must hold integers, got dtype float64"),
    (lambda: two_pairs(users=[True, False]), "users must hold integers, got dtype bool"),
    (lambda: two_pairs(users=[[0, 1]]), r"users must have one axis of ids, got shape \(1, 2\)"),
    (lambda: two_pairs(users=[0]), "users and items must have one entry per pair each, got 1 and 2"),
    (lambda: two_pairs(n_users=0), "n_users is 0; expected a whole number of at least 1"),
    (lambda: two_pairs(n_items=2.0), "n_items is 2.0; expected a whole number of at least 1"),
    (lambda: two_pairs(times=[1, 2, 3]), r"times must have one entry per pair, shape \(2,\), got shape \(3,\)"),
    (lambda: two_pairs(times=SECONDS), "times must hold numbers"),
    (lambda: two_pairs(ratings=[1, np.nan]), "ratings must be finite, got nan"),
    (lambda: two_pairs(ratings=["a", "b"]), "ratings must hold numbers"),
    (lambda: two_pairs(items=[[0], [1, 1]]), "items is .*whose rows are of one length"),
    (lambda: two_pairs(name=["a"]), r"name is \['a'\]; expected a string"),
    (lambda: two_pairs(user_table=None), "user_table is None; expected a dict of columns"),
    (lambda: two_pairs(item_table={"name": ["x"]}), r"item_table\['name'\] must have 2 entries, got shape \(1,\)"),
    (lambda: sample_in_batch("pairs", 2, np.random.default_rng(0)), "interactions is 'pairs'; expected Interactions"),
    (lambda: epoch_batches(None, 2, np.random.default_rng(0)), "interactions is None"),
    (lambda: sample_negatives(None, [0], np.random.default_rng(0)), "interactions is None"),
    (lambda: merged(keep="any"), "keep is 'any'; expected one of first, last, highest"),
    (lambda: merged(keep="highest"), "ratings must be given"),
    (lambda: Interactions([0], [0], n_users=100_000, n_items=100_000).labels(), "100000 x 100000 cells"),
    (lambda: example().select(np.array([True, False])), "mask with one entry per pair"),
    (lambda: example().select([1, 1]), "duplicate pairs"),
    *((lambda at=at: example().select([at]), "where must") for at in (7, 0.5, -1)),
    (lambda: example().contains([0, 1], [0, 1, 2]), r"users has shape \(2,\) and items \(3,\)"),
    (lambda: example().items_of(1.5), r"user is 1\.5"),
    *((lambda k=k: example().k_core(k), f"k is {k}; expected a whole number of at") for k in (0, -1, 1.5, True)),
    *((lambda f=f: example().split_random(f, RNG), FRACTION.format(f)) for f in (0, 1, 1.5, -0.1, float("nan"))),
    *((lambda f=f: example().split_by_time(f), FRACTION.format(f)) for f in (0, 1, 1.5, -0.1, float("nan"))),
    (lambda: example().split_random(0.5, 0), NO_GENERATOR),
    (lambda: dataclasses.replace(example(), times=None).split_by_time(0.5), "times is None; expected a time for each"),
    *(
        (lambda f=f: at_one_time().split_by_time(f), f"fraction is {f}; expected one .*{said}")
        for f, said in ((0.5, "a pair before the cut, of 7"), (0.01, "a pair before"), (0.99, "leaves a later pair"))
    ),
    (lambda: example().select([]).split_by_time(0.5), "of 0 pairs"),
    (lambda: example().select([]).compact(), "needs at least one pair"),
    (lambda: sample_negatives(example(), [0], RNG, law="hard"), "'hard'; expected one of uniform, popularity, every"),
    (lambda: TripleLaw("everybody"), "users is 'everybody'; expected one of pairs, users"),
    (lambda: sample_negatives(matrix([1, 1, 0], [0, 1, 0]), [0], RNG, law="popularity"), "user 0 has every item that"),
    (lambda: sample_negatives(matrix([1, 0], [1, 1]), [0, 1], RNG), "user 1 has all 2 items"),
    (lambda: sample_in_batch(example(), 8, RNG), r"batch_size is 8; .* from 1 to 7, the number of pairs \|O\|"),
    (lambda: epoch_batches(example(), 0, RNG), "batch_size is 0; expected a whole number from 1 to 7"),
    *((lambda draw=draw: draw(example(), 2, np.random), NO_GENERATOR) for draw in (sample_in_batch, epoch_batches)),
)


def test_positions_and_tensors_are_taken() -> None:
    data = Interactions([0, 1], [1, 2], n_users=2, n_items=3)
    assert len(data.select([])) == 0 and data.select([1]).items.tolist() == [2]
    rated = Interactions([0, 1], [1, 2], n_users=2, n_items=3, ratings=torch.ones(2, requires_grad=True))
    assert rated.ratings.tolist() == [1, 1]
