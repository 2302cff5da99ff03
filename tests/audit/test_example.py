"""The model of another library that the book's page audits: the file holds what its maker made."""

from typing import Any

import numpy as np
import pytest
from audit import make_example

from course_lib import metrics
from course_lib.audit import example


def test_the_file_holds_what_the_maker_made() -> None:
    with np.load(example.FILE, allow_pickle=False) as stored:
        tables = dict(stored)
    assert make_example.digest(tables) == make_example.DIGEST
    assert all(table.dtype == np.float16 for table in tables.values()) and example.FILE.stat().st_size < 500_000


@pytest.mark.parametrize("seed", example.SEEDS)
def test_the_tables_are_those_of_a_model_of_these_pairs(seed: int) -> None:
    """One row for each person and film, a bias in the last column; held-out films stand far above chance (.01)."""
    (train, test), (items, users) = example.pairs(), example.tables(seed)
    assert (len(users), len(items)) == train.shape and items.shape[1] == make_example.OPTIONS["factors"] + 1
    trained = np.unique(train.users)
    assert (users[trained, -1] == 1).all() and items.dtype == users.dtype == np.float32
    assert metrics.evaluate(users, items, train, test, 10)["ndcg@10"] > 0.1


@pytest.mark.parametrize("seed", [3, True, 1.0])
def test_a_seed_that_was_not_trained_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match=f"seed is {seed}"):
        example.tables(seed)
