"""P1-X2: the pull matrix as an operator, its axes, and the rows that the lab shows."""

import itertools

import numpy as np
import pytest

from course_lib import popularity
from course_lib.experiments.p1 import axis
from course_lib.experiments.p1.data import load_split
from course_lib.interactions import Interactions
from course_lib.popularity import LIBRARY_LAWS, TripleLaw

pytestmark = pytest.mark.seconds

LAWS = [
    TripleLaw(*parts)
    for parts in itertools.product(("pairs", "users"), ("uniform", "popularity"), ("redraw", "skip", "keep"))
]


@pytest.fixture(scope="module")
def small() -> Interactions:
    rng = np.random.default_rng(0)
    labels = rng.random((14, 9)) < np.linspace(0.6, 0.15, 9)
    labels[np.arange(14), rng.integers(0, 9, 14)] = True
    return Interactions(*np.nonzero(labels), n_users=14, n_items=9)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.users}-{law.negatives}-{law.collision}")
def test_the_operator_is_the_matrix(small: Interactions, law: TripleLaw) -> None:
    dense = popularity.pull_matrix(small.labels(), law)
    operator = axis.pull_operator(small, law)
    np.testing.assert_allclose(operator @ np.eye(9), dense, atol=1e-12)
    np.testing.assert_allclose(operator.T @ np.eye(14), dense.T, atol=1e-12)
    positives, negatives = popularity.expected_roles(small.labels(), law)
    np.testing.assert_allclose(axis.drift(small, law), positives - negatives, atol=1e-12)


def test_an_item_of_exactly_a_twentieth_of_the_users_is_no_head(monkeypatch: pytest.MonkeyPatch) -> None:
    train, seen = Interactions([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 2], n_users=40, n_items=3), []
    monkeypatch.setattr(axis, "singular_axes", lambda rest, law: seen.append(rest) or (None, [[2.0, 1.0]]))
    assert axis.headless_axis(train, TripleLaw()) == pytest.approx(1) and seen[0].col_counts.tolist() == [2, 1]


def test_axes_are_numpys(small: Interactions) -> None:
    law = popularity.LIBRARY_LAWS["implicit"]
    sizes, vectors = axis.singular_axes(small, law)
    _, expected, right = np.linalg.svd(popularity.pull_matrix(small.labels(), law))
    np.testing.assert_allclose(sizes, expected[:3])
    np.testing.assert_allclose(abs((vectors * right[:3]).sum(1)), 1, atol=1e-9)
    np.testing.assert_allclose(vectors.sum(1), 0, atol=1e-9)  # orthogonal to 1


def test_empty_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="user 1 has no positive"):
        axis.pull_operator(Interactions([0], [0], n_users=2, n_items=2), TripleLaw())


def test_the_smoke_rows() -> None:
    (plan,) = {cell["data"] for cell in axis.axis_plan("smoke", (0,))}
    assert plan == "movietweetings-10core"
    rows = {
        (law, row["metric"]): row["value"]
        for law in ("RecBole", "implicit")
        for row in axis.axis_cell({"data": plan, "law": law, "seed": 0})
    }
    assert rows["RecBole", "first axis"] > 0.95 > rows["implicit", "first axis"]
    assert rows["RecBole", "spread"] > 3 * rows["implicit", "spread"]
    assert 0.15 < rows["RecBole", "chance"] < 0.25
    assert rows["RecBole", "trained r"] > 0.7 and rows["RecBole", "widest"] > 0.7
    assert ("implicit", "trained r") not in rows  # bpr_epoch does not skip


def test_a_trained_axis_along_which_everything_lies() -> None:
    """One taste: everybody likes what is popular. Then the items lie along one line and the line is popularity."""
    rng = np.random.default_rng(1)
    chances = 0.9 / np.arange(1, 61)
    labels = rng.random((300, 60)) < chances
    labels[:, 0] = True
    one = Interactions(*np.nonzero(labels), n_users=300, n_items=60)
    found = axis.trained_axis(one, "uniform", np.random.default_rng(0))
    assert found["trained r"] > 0.9 and found["widest"] > 0.9 and found["share"] > 0.5


def test_without_the_head_popularity_is_no_longer_the_first_axis_of_the_films() -> None:
    train = load_split("movietweetings-10core", 0).train.compact()
    law = LIBRARY_LAWS["RecBole"]
    whole = abs(popularity.pearson(axis.singular_axes(train, law)[1][0], train.col_counts.astype(float)))
    kept = train.col_counts <= train.n_users / 20
    labels = train.select(kept[train.items]).compact().labels()
    first = np.linalg.svd(popularity.pull_matrix(labels, law), full_matrices=False)[2][0]
    assert axis.headless_axis(train, law) == pytest.approx(abs(popularity.pearson(first, labels.sum(0))), abs=1e-6)
    assert whole > 0.95 and axis.headless_axis(train, law) < 0.6
