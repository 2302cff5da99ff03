"""P3-X1: the made data, documents with labels, the vote of similar rows, and the reversal at smoke scale."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from course_lib import datasets, experiments
from course_lib.experiments.p3 import reversal
from course_lib.in_batch import expected_objective
from course_lib.interactions import Interactions
from course_lib.losses import pair_losses
from course_lib.training import objectives

LINKS = Interactions(
    np.array([0, 0, 1, 2, 3]),
    np.array([1, 2, 0, 0, 1]),
    n_users=4,
    n_items=3,
    user_table={
        "name": np.array(["Paris", "Rome", "Cat", "Dog"], dtype=object),
        "categories": np.array(
            ["subject.Geo.Cities", "subject.Geo.Cities|subject.Art", "subject.Life", "subject.Life"], dtype=object
        ),
    },
    item_table={
        "name": np.array(["Cat", "Rome", "Zebra"], dtype=object),
        "categories": np.array(["subject.Life", "subject.Geo.Cities|subject.Art", ""], dtype=object),
    },
    name="wikispeedia",
)


@pytest.fixture
def four_articles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(datasets, "load", lambda name: LINKS)
    reversal.articles.cache_clear()
    yield
    reversal.articles.cache_clear()


def test_a_row_carries_labels_of_one_group() -> None:
    data = reversal.made(10, np.random.default_rng(0))
    assert data.row_counts.tolist() == [reversal.CARRIED] * reversal.ROWS
    parts, part = connected_components(data.matrix.T @ data.matrix)  # labels that stand in one row are of one group
    assert parts == reversal.GROUPS and np.bincount(part).max() == 10


def test_where_all_that_fits_is_carried_the_vote_survives_the_division() -> None:
    """And where a part is carried, it does not: the weights 1/j make the popular label the better guess."""
    whole, tenth = (reversal.votes(reversal.task(f"made-{fitting}", 0)) for fitting in (5, 50))
    assert whole == {"vote": 100, "divided vote": 100, "kept": 100}
    assert tenth["kept"] < 20 and tenth["vote"] > 20


def test_an_article_may_carry_the_categories_above_its_own(four_articles: None) -> None:
    plain, features = reversal.articles(False)
    nested, same = reversal.articles(True)
    assert plain.shape == (4, 3) and nested.shape == (4, 4)  # Cities, Art, Life; and Geo
    assert len(plain) == 5 and len(nested) == 7
    assert features.shape == (4, 8) and (features != same).nnz == 0  # links out and links in, Zebra is no document
    np.testing.assert_allclose(np.unique(features.power(2).sum(axis=1).round(12)), [1])


def test_new_rows_have_no_known_label_and_no_label_of_their_own(four_articles: None) -> None:
    labels, features = reversal.articles(False)
    found = reversal._new_rows(labels, features, np.random.default_rng(3))
    assert (found.train.n_users, found.test.n_users) == (3, 1) and found.features.shape[0] == 3
    assert len(found.known) == 0 and (found.train.col_counts > 0).all()
    assert found.train.n_items == found.test.n_items and not found.lookup


def test_towers_on_features_go_down_the_objective() -> None:
    """By the library's dense objective; with the identity as features they are a table for each row."""
    train = reversal.made(5, np.random.default_rng(0)).select(np.arange(100)).compact()
    start = objectives.random_start(train.shape, 2, np.random.default_rng(1), 0.3)

    def value(users: np.ndarray, items: np.ndarray) -> float:
        positive, negative = pair_losses("square", torch.tensor(users @ items.T))
        labels = torch.tensor(train.labels())
        return float(expected_objective("in_batch", pos_loss=positive, neg_loss=negative, labels=labels, batch_size=9))

    data = objectives.full_data("in_batch", train, batch_size=9)
    eye = csr_array(np.eye(train.n_users))
    found = value(*reversal._on_features(eye, data, start, 300))
    table = objectives.minimise("square", data, start, max_iterations=300)
    assert found < value(*start) and found == pytest.approx(table.value, rel=1e-3)


def test_unknown_data_is_refused() -> None:
    with pytest.raises(ValueError, match="data is 'made-7'; expected one of made-5, made-6"):
        reversal.task("made-7", 0)


@pytest.mark.slow
def test_the_reversal_shows_at_smoke_scale() -> None:
    result = experiments.run("P3-X1", "smoke", progress=False)
    found = result.scalars
    assert found["made-5-8-in-batch-1e-3-p1"] > 2 * found["made-5-8-unbiased-p1"]
    assert found["made-20-8-in-batch-1e-3-p1"] < 0.5 * found["made-20-8-unbiased-p1"]
    assert result.to_html() and result.provenance["cells"]["finished"] == 2
