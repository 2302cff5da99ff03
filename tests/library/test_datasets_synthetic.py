"""Planted tastes: the law, the truth, and the count of false negatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused
from scipy import stats

from course_lib.checking import some
from course_lib.datasets import PlantedTaste, synthetic, synthetic_large
from course_lib.datasets.planted import BINS, _binned, _sampler, power_law, uniform_of_cell


def planted(seed: int = 0, **options: object):
    return synthetic(rng=np.random.default_rng(seed), **options)


def test_false_negatives_are_the_true_positives_that_nobody_saw() -> None:
    data = planted()
    observed = data.interactions.labels().astype(bool)
    assert not (observed & ~data.truth).any()
    assert data.n_false_negatives == (data.truth & ~observed).sum() > 0
    users, items = np.indices(data.truth.shape)
    assert np.array_equal(data.is_positive(users, items), data.truth)


def test_the_taste_matrix_has_its_rank_and_its_mean() -> None:
    data = planted(n_users=800, n_items=500, rank=3, mean_taste=0.2)
    probability = data.taste_probability(np.arange(800)[:, None], np.arange(500)[None, :])
    assert np.linalg.matrix_rank(probability) == 3
    assert probability.min() >= 0
    assert probability.max() <= 1
    assert probability.mean() == pytest.approx(0.2, abs=0.03)
    np.testing.assert_allclose(data.user_tastes.sum(1), 1)


def exposure(data: PlantedTaste, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """retention (1 - exp(-lambda a_i b_j)): the chance that a liked pair is observed."""
    return data.retention * (1 - np.exp(-data.exposures * data.activity[users] * data.popularity[items]))


def test_pairs_are_observed_with_the_stated_probability() -> None:
    data = planted(n_users=600, n_items=400, observed_share=0.4)
    liked = np.nonzero(data.truth)
    probability = exposure(data, *liked)
    seen = data.interactions.contains(*liked)
    assert probability.mean() == pytest.approx(0.4, abs=1e-6)
    for group in some(np.array_split(np.argsort(probability), 10)):
        spread = np.sqrt((probability * (1 - probability))[group].sum())
        assert abs(seen[group].sum() - probability[group].sum()) < 4 * spread


def slope(counts: np.ndarray, law: np.ndarray) -> float:
    """The exponent that the observed counts show: least squares of log count on log rank of the law."""
    ordered = counts[np.argsort(-law)].astype(float)
    bins = np.array_split(np.arange(1, len(ordered) + 1), 20)
    ranks, means = [np.log(b).mean() for b in bins], [np.log(ordered[b - 1].mean()) for b in bins]
    return -stats.linregress(ranks, means).slope


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_popularity_and_activity_are_power_laws_of_the_exponents_asked_for(exponent: float) -> None:
    options = {"n_users": 1500, "n_items": 1500, "observed_share": 0.02, "rank": 1}
    items = planted(popularity_exponent=exponent, activity_exponent=0.0, **options)
    assert slope(items.interactions.col_counts, items.popularity) == pytest.approx(exponent, abs=0.12)
    users = planted(popularity_exponent=0.0, activity_exponent=exponent, **options)
    assert slope(users.interactions.row_counts, users.activity) == pytest.approx(exponent, abs=0.12)


def test_popular_items_are_liked_no_more() -> None:
    data = planted(n_users=1000, n_items=500, popularity_exponent=1.2)
    assert abs(stats.spearmanr(data.popularity, data.truth.sum(0)).statistic) < 0.15
    assert stats.spearmanr(data.popularity, data.interactions.col_counts).statistic > 0.5


def test_the_large_form_keeps_the_same_law() -> None:
    data = synthetic_large(400, 300, 8_000, rng=np.random.default_rng(0))
    assert len(data.interactions) == 8_000
    assert data.truth[data.interactions.users, data.interactions.items].all()
    assert 0.85 < data.retention <= 1
    liked = np.nonzero(data.truth)
    probability, seen = exposure(data, *liked), data.interactions.contains(*liked)
    assert probability.sum() == pytest.approx(8_000, rel=0.05)
    for group in some(np.array_split(np.argsort(probability), 8)):
        spread = np.sqrt((probability * (1 - probability))[group].sum())
        assert abs(seen[group].sum() - probability[group].sum()) < 4 * spread + 0.05 * seen[group].sum()


def test_the_large_form_never_sees_all_cells() -> None:
    data = synthetic_large(200_000, 100_000, 50_000, rng=np.random.default_rng(0))
    assert len(data.interactions) == 50_000
    assert data.is_positive(data.interactions.users, data.interactions.items).all()
    with pytest.raises(ValueError, match=r"ask is_positive\(users, items\) for some pairs"):
        _ = data.truth
    with pytest.raises(ValueError, match="ask is_positive"):
        _ = data.n_false_negatives
    users = np.random.default_rng(1).integers(0, 200_000, 50_000)
    items = np.arange(50_000)
    share = (data.is_positive(users, items) & ~data.interactions.contains(users, items)).mean()
    assert share == pytest.approx(0.3, abs=0.03)  # mean_taste: almost every true positive is unseen


def test_the_large_form_works_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = synthetic_large(300, 200, 3_000, rng=np.random.default_rng(0))
    monkeypatch.setattr("course_lib.datasets.planted.CHUNK", 50)
    pieces = synthetic_large(300, 200, 3_000, rng=np.random.default_rng(0))
    assert whole.interactions == pieces.interactions


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=50), st.integers(0, 2**32))
def test_the_guide_table_is_a_binary_search(weights: list[float], seed: int) -> None:
    uniform = np.random.default_rng(seed).random(200)
    cumulative = np.cumsum(weights) / np.sum(weights)
    cumulative /= cumulative[-1]
    expected = np.searchsorted(np.cumsum(weights) / np.cumsum(weights)[-1], uniform, side="right")
    assert np.array_equal(_sampler(np.array(weights))(uniform), expected)


def test_a_number_on_a_border_belongs_to_the_cell_above() -> None:
    for weights in (np.array([1.0, 2, 4, 1]), np.array([1.0, 4, 2])):  # on the borders of the guide, and between them
        borders = np.cumsum(weights) / weights.sum()
        assert _sampler(weights)(np.array([0, *borders[:-1]])).tolist() == list(range(len(weights)))


def test_groups_of_near_values_keep_the_sum_and_are_narrow() -> None:
    values = power_law(5000, 1.0, np.random.default_rng(0))
    means, counts = _binned(values)
    assert counts.sum() == 5000 and means @ counts == pytest.approx(1)
    width = (values.max() / values.min()) ** (1 / BINS)
    assert all(np.abs(np.log(means / value)).min() < np.log(width) for value in some(values[:200]))


@pytest.mark.parametrize(("cell", "key"), [(0, 1), (1, 0), (12345, 678), (2**40, 2**63)])
def test_cell_labels_are_those_of_splitmix64(cell: int, key: int) -> None:
    """Vigna's mixer in whole numbers of any size, cut to 64 bits after each step."""
    word = 2**64 - 1
    z = (cell * 0x9E3779B97F4A7C15 + key) & word
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & word
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & word
    z ^= z >> 31
    assert uniform_of_cell(np.array([cell]), key).tolist() == [(z >> 11) / 2**53]


def test_each_cell_of_the_matrix_has_a_number_of_its_own() -> None:
    planted = synthetic(6, 5, rng=np.random.default_rng(0))
    users, items = np.divmod(np.arange(30), 5)
    labels = uniform_of_cell(np.arange(30), planted.key) < planted.taste_probability(users, items)
    assert np.array_equal(planted.is_positive(users, items), labels)


def test_power_law_is_a_distribution() -> None:
    law = power_law(1000, 1.0, np.random.default_rng(0))
    assert law.sum() == pytest.approx(1)
    assert law.max() / np.sort(law)[-2] == pytest.approx(2)
    assert (np.diff(law) > 0).any()  # ranks are dealt out at random
    assert np.ptp(power_law(10, 0.0, np.random.default_rng(0))) == 0


def few(n_pairs: int, rng: object = None) -> object:
    return synthetic_large(10, 10, n_pairs, rng=rng or np.random.default_rng(0))


test_bad_arguments_are_named = refused(
    (lambda: planted().taste_probability(-1, 0), "users.*-1"),
    (lambda: planted().taste_probability(0, 10**6), "items.*1000000"),
    (lambda: planted(n_users=0), "n_users is 0; expected a whole number of at least 1"),
    (lambda: planted(rank=1.5), "rank is 1.5; expected a whole number of at least 1"),
    (lambda: planted(mean_taste=1), r"mean_taste is 1; expected a finite number in \(0, 1\)"),
    (lambda: planted(observed_share=0), r"observed_share is 0; expected a finite number in \(0, 1\)"),
    (lambda: planted(popularity_exponent=-1), "popularity_exponent is -1; expected a finite number of at least 0"),
    (lambda: planted(activity_exponent=float("nan")), "activity_exponent is nan; expected a finite number"),
    (lambda: planted(n_users=100_000, n_items=100_000), "use synthetic_large"),
    (lambda: few(90), "n_pairs must lie between 1 and half the expected number of true positives, 15, got 90"),
    (lambda: few(5, rng="0"), "expected a numpy.random.Generator"),
    (lambda: few(5.0), "^n_pairs is 5.0; expected a whole number"),
    (lambda: synthetic_large(10, None, 5, rng=None), "^n_items is None; expected a whole number"),
    *((lambda u=u, i=i: planted().is_positive(u, i), "(users|items) must") for u, i in ((-1, 0), (0, 10**6), (0.5, 0))),
)
