"""course_lib.popularity: correlations, slopes, shares and the direction of popularity."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refused import refused
from scipy import stats
from scipy.sparse import csr_array

from course_lib import popularity
from course_lib.checking import some
from course_lib.interactions import Interactions, sample_negatives

seeds = st.integers(0, 2**32 - 1)
BY_COUNT = popularity.TripleLaw(negatives="popularity")


def sample(seed: int, n: int = 40, d: int = 6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(1, 500, n)


# ------------------------------------------------------------------------------------------------------------- norms


@given(seeds)
def test_correlation_and_slope_agree_with_scipy_on_numpy_and_torch(seed: int) -> None:
    items, counts = sample(seed)
    lengths = np.linalg.norm(items, axis=1)
    correlation = stats.pearsonr(lengths, counts).statistic
    assert popularity.norm_correlation(lengths, counts) == pytest.approx(correlation, abs=1e-12)
    slope = stats.linregress(np.log(counts), np.log(lengths)).slope
    assert popularity.log_log_slope(lengths, counts) == pytest.approx(slope, abs=1e-12)
    for dtype, accuracy in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        tensor = torch.tensor(lengths, dtype=dtype)
        found = popularity.norm_correlation(tensor, torch.tensor(counts))
        assert float(found) == pytest.approx(correlation, abs=accuracy)
        assert float(popularity.log_log_slope(tensor, counts)) == pytest.approx(slope, abs=10 * accuracy)


# ------------------------------------------------------------------------------------------------------------- lists


def test_head_and_tail_go_by_count_and_then_by_id() -> None:
    counts = [5, 9, 9, 1, 1, 0]
    assert popularity.head_items(counts, 0.5).tolist() == [1, 2, 0]
    assert popularity.tail_items(counts, 0.34).tolist() == [5, 4]
    assert popularity.head_items(counts, 0.01).tolist() == [1]  # at least one
    assert popularity.tail_items(counts).tolist() == [5]
    assert len(popularity.tail_items(range(300))) == 3  # one per cent


def test_shares_and_average_popularity_by_hand() -> None:
    counts = np.array([10, 1, 1, 1])
    ranked = np.array([[0, 1], [2, -1], [-1, -1]])
    assert popularity.top_share(ranked, counts, share=0.25) == pytest.approx(1 / 3)
    assert popularity.average_popularity(ranked, counts) == pytest.approx((5.5 + 1) / 2)
    assert popularity.top_share(torch.tensor(ranked), torch.tensor(counts), share=0.25) == pytest.approx(1 / 3)


def test_lists_without_known_items_hold_less_of_the_head_by_chance() -> None:
    """All lists of two that each user can be given, against the formula: 3 users, 5 items, the head is item 0."""
    known = Interactions(np.array([0, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 2, 3]), n_users=3, n_items=5)
    assert popularity.head_items(known.col_counts, 0.2).tolist() == [0]
    shares = []
    for user in range(3):
        free = [item for item in range(5) if item not in known.items[known.users == user]]
        shares.append(np.mean([0 in pair for pair in itertools.combinations(free, 2)]) / 2)
    assert shares == [0, 0, 0.5]
    assert popularity.chance_share(known, 0.2) == pytest.approx(np.mean(shares))
    stranger = Interactions(np.array([0]), np.array([0]), n_users=2, n_items=4)  # the last user knows nothing
    assert popularity.chance_share(stranger, 0.25) == pytest.approx((0 + 1 / 4) / 2)


# ---- direction


@given(seeds)
def test_direction_is_that_of_the_paper(seed: int) -> None:
    items, counts = sample(seed)
    order = sorted(range(40), key=lambda i: (-counts[i], i))
    difference = items[order[:2]].mean(0) - items[order[-2:]].mean(0)  # 5 % of 40 items
    expected = difference / np.linalg.norm(difference)
    np.testing.assert_allclose(popularity.popularity_direction(items, counts), expected, rtol=1e-12)
    tensor = popularity.popularity_direction(torch.tensor(items), torch.tensor(counts))
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-12)


def test_direction_and_correlation_have_their_gradients() -> None:
    items = torch.tensor(np.random.default_rng(0).normal(size=(8, 3)), requires_grad=True)
    counts = np.arange(8)
    assert torch.autograd.gradcheck(lambda x: popularity.popularity_direction(x, counts, 0.25), items)
    assert torch.autograd.gradcheck(lambda x: popularity.norm_correlation(x.norm(dim=1), counts), items)


def test_the_pull_of_labels_in_a_list_is_that_of_an_array() -> None:
    parts = [popularity.pull_parts(make([[1, 1, 0], [1, 0, 0]]), popularity.TripleLaw()) for make in (list, np.array)]
    assert all(np.array_equal(*both) for both in some(zip(*parts, strict=True)))


def test_the_cross_fitted_one_finds_a_direction_that_is_there() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 100, 400)
    items = rng.normal(size=(400, 8))
    items[:, 0] += counts / 10
    assert popularity.cross_fitted_correlation(items, counts, rng=rng, folds=4) > 0.9
    as_tensor = popularity.cross_fitted_correlation(torch.tensor(items), counts, rng=np.random.default_rng(3))
    assert as_tensor == pytest.approx(popularity.cross_fitted_correlation(items, counts, rng=np.random.default_rng(3)))


# ------------------------------------------------------------------------------------------------------------- chance


@pytest.mark.parametrize(("size", "width", "ratio"), [(300, 64, 0.05), (40, 3, 0.1), (12, 2, 0.25)])
def test_the_law_of_double_dipping_is_what_random_embeddings_do(size: int, width: int, ratio: float) -> None:
    """Mean, sd and tails, against tables that are drawn and measured, with any centre and scale."""
    rng = np.random.default_rng(0)
    counts = rng.pareto(1.0, size) + 1
    law = popularity.double_dipping_law(counts, width, ratio)
    tables = (5 + 0.3 * rng.normal(size=(size, width)) for _ in range(600))
    measured = np.array([popularity.projection_correlation(table, counts, ratio) for table in tables])
    drawn = popularity.double_dipping_draws(counts, width, ratio, size=30_000, rng=rng)
    assert law.mean > 0.05
    for found in (measured, drawn):
        assert found.mean() == pytest.approx(law.mean, abs=4 * law.sd / len(found) ** 0.5)
        assert found.std() == pytest.approx(law.sd, rel=0.08)
    quantiles = (np.quantile(found, [0.1, 0.5, 0.9]) for found in (measured, drawn))
    np.testing.assert_allclose(*quantiles, atol=0.25 * law.sd)


def test_the_law_of_the_draws_is_that_of_six_items() -> None:
    """Few items, where the last coordinate's own law shows: the squares of (r - k sqrt B) have a known mean.

    E (1 - B) = (n - 2) / (d + n - 2), and E Z^2 = 1 / (n - 2) in n - 2 dimensions.
    """
    counts, width, rng = np.array([50.0, 4, 3, 2, 2, 1]), 2, np.random.default_rng(1)
    k, n = popularity._chance_arguments(counts, width, 0.2)[:2]
    draws = popularity.double_dipping_draws(counts, width, 0.2, size=400_000, rng=rng)
    second = k**2 * width / (width + n - 2) + (1 - k**2) * (n - 2) / (width + n - 2) / (n - 2)
    assert (draws**2).mean() == pytest.approx(second, rel=0.01)
    law = popularity.double_dipping_law(counts, width, 0.2)
    assert law.sd**2 + law.mean**2 == pytest.approx(second) and draws.mean() == pytest.approx(law.mean, abs=0.005)


def test_shuffled_counts_know_nothing() -> None:
    rng = np.random.default_rng(0)
    counts = rng.pareto(1.0, 400) + 1
    items = rng.normal(size=(400, 16))
    items[:, 0] += 5 * np.log(counts)
    found = popularity.shuffled_correlations(items, counts, repeats=60, rng=rng)
    assert found.shape == (60,) and found.max() < popularity.projection_correlation(items, counts)
    kinds = (items, torch.tensor(items))
    both = [popularity.shuffled_correlations(kind, counts, repeats=3, rng=np.random.default_rng(5)) for kind in kinds]
    np.testing.assert_allclose(*both)
    [wide] = popularity.shuffled_correlations(items, counts, 0.4, repeats=1, rng=np.random.default_rng(5))
    dealt = np.random.default_rng(5).permutation(counts)
    assert wide == pytest.approx(float(popularity.projection_correlation(items, dealt, 0.4)))


def test_the_error_of_a_direction() -> None:
    """The estimate of E|v_hat - v|^2 is right on average, and the cosine tells a real axis from noise."""
    rng, counts = np.random.default_rng(0), np.arange(200.0)
    truth = np.zeros(32)
    truth[0] = 2.0
    squares, stated = [], []
    for _ in range(300):
        items = rng.normal(size=(200, 32))
        items[:, 0] += (counts > 150) * 2.0
        gap = items[-10:].mean(0) - items[:10].mean(0)
        squares.append(((gap - truth) ** 2).sum())
        stated.append(popularity.direction_error(items, counts).error ** 2)
    assert np.mean(stated) == pytest.approx(np.mean(squares), rel=0.05)
    assert np.mean(stated) == pytest.approx(2 * 32 / 10, rel=0.05)
    clear = rng.normal(size=(200, 32))
    clear[:, 0] += (counts > 150) * 20.0
    assert popularity.direction_error(clear, counts).cosine > 0.95
    assert popularity.direction_error(rng.normal(size=(200, 32)), counts).cosine < 0.6


# ------------------------------------------------------------------------------------------------------------- triples


def test_the_pull_matrix_by_simulation() -> None:
    """Pos - Neg counted in many passes of the sampler of the library, two laws that both rooms have."""
    labels = (np.random.default_rng(3).random((9, 7)) < 0.4).astype(float)
    labels[:, 0] = 1
    data = Interactions(*np.nonzero(labels), n_users=9, n_items=7)
    passes, rng = 4000, np.random.default_rng(0)
    size = passes * len(data)
    owner = rng.integers(0, 9, size)
    places = {
        "pairs": rng.integers(0, len(data), size),
        "users": data.row_starts[owner] + rng.integers(0, data.row_counts[owner]),
    }
    for negatives, positives in (("uniform", "pairs"), ("popularity", "users")):
        where = places[positives]
        users = data.users[where]
        net = np.zeros((9, 7))
        np.add.at(net, (users, data.items[where]), 1 / passes)
        np.subtract.at(net, (users, sample_negatives(data, users, rng, law=negatives)), 1 / passes)
        stated = popularity.pull_matrix(labels, popularity.TripleLaw(positives, negatives, "redraw"))
        assert abs(net - stated).max() < 0.08 < abs(stated).max()


def test_roles_of_every_library_balance() -> None:
    labels = (np.random.default_rng(3).random((30, 12)) < np.linspace(0.7, 0.1, 12)).astype(float)
    labels[np.arange(30), np.arange(30) % 12] = 1
    for name, law in some(popularity.LIBRARY_LAWS.items()):
        positives, negatives = popularity.expected_roles(labels, law)
        pull = popularity.pull_matrix(labels, law)
        np.testing.assert_allclose(pull.sum(0), positives - negatives, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(pull.sum(1), 0, atol=1e-9, err_msg=name)
    assert popularity.LIBRARY_LAWS["implicit"] != popularity.LIBRARY_LAWS["LightFM"]


# ------------------------------------------------------------------------------------------------------------- errors


def shuffled(repeats: float) -> object:
    table, rng = np.eye(6), np.random.default_rng(0)
    return popularity.shuffled_correlations(table, [6, 5, 4, 3, 2, 1], 0.2, repeats=repeats, rng=rng)


FOUR = np.eye(4), [1, 2, 3, 4]
NO_GENERATOR = "expected a numpy.random.Generator"
RNG = np.random.default_rng(0)


test_bad_arguments_are_named = refused(
    (lambda: popularity.popularity_direction(1e200 * np.eye(4), [4, 3, 2, 1], 0.25), "items are so large"),
    (lambda: popularity.norm_correlation([1.0, 2.0], [1, 2, 3]), r"norms has shape \(2,\) and counts \(3,\)"),
    (lambda: popularity.norm_correlation([1.0, 1.0], [1, 2]), "^norms is constant"),
    (lambda: popularity.norm_correlation([1.0, 2.0], [2, 2]), "^counts is constant"),
    (lambda: popularity.norm_correlation([1.0, -1.0], [1, 2]), r"norms\[1\] is -1.0"),
    (lambda: popularity.norm_correlation([1.0, 2.0], [1, -2]), r"counts\[1\] is -2.0"),
    (lambda: popularity.norm_correlation([1.0, np.nan], [1, 2]), "holds NaN or infinity"),
    (lambda: popularity.log_log_slope([1.0, 2.0], [0, 2]), r"counts\[0\] is 0.0; a logarithm needs positive"),
    (lambda: popularity.log_log_slope([1.0, 2.0], [2, 2]), "counts are all equal"),
    (lambda: popularity.log_log_slope([1, 2, 3], [6, 6, 6]), "counts are all equal"),  # their mean log is rounded
    (lambda: popularity.pearson([0.1] * 3, [1, 2, 3]), "x is constant"),
    (lambda: popularity.pearson([1, 2, 3], torch.tensor([0.1] * 3)), "y is a torch tensor"),
    (lambda: popularity.head_items([1, 2], 0.0), r"share is 0.0; expected a finite number in \(0, 1\]"),
    (lambda: popularity.top_share([[0, 2]], [1, 2]), "ranked_items holds ids 0 to 2; expected -1 to 1"),
    (lambda: popularity.chance_share(Interactions([0], [0], n_users=1, n_items=1)), "an item left to list"),
    (lambda: popularity.chance_share([[0, 1]]), "^known is .*; expected Interactions"),
    (lambda: popularity.pull_parts([[1.0, np.nan]], popularity.TripleLaw()), "labels must hold zeros and ones only"),
    (lambda: popularity.pull_matrix([[1, 0]], "redraw"), "^law is 'redraw'; expected TripleLaw"),
    (lambda: popularity.average_popularity([[0], [0, 1]], [1, 2]), "^ranked_items is .*whose rows are of one length"),
    (lambda: shuffled(0), "expected a whole number of at least 1"),
    (lambda: popularity.top_share([[-1]], [1, 2]), "nothing was recommended"),
    (lambda: popularity.top_share([0, 1], [1, 2]), r"ranked_items has shape \(2,\)"),
    (lambda: popularity.average_popularity([[0.5]], [1, 2]), "dtype float64; expected integers"),
    (lambda: popularity.popularity_direction(np.ones((3, 2)), [1, 2]), r"expected \(2, d\)"),
    (lambda: popularity.popularity_direction(np.ones((4, 2)), [1, 2, 3, 4]), "same mean embedding"),
    (lambda: popularity.popularity_direction(np.eye(4), [1, 2, 3, 4], 0.9), "overlap in 4"),
    (lambda: popularity.popularity_direction([[np.inf], [0.0]], [1, 2]), "items holds NaN or infinity"),
    (lambda: popularity.cross_fitted_correlation(*FOUR, rng=0), NO_GENERATOR),
    (lambda: popularity.cross_fitted_correlation(*FOUR, rng=RNG, folds=3), "folds is 3; .* number from 2 to 2"),
    (lambda: popularity.double_dipping_law([1, 2, 3], 4), "counts has 3 entries; expected at least 4"),
    (lambda: popularity.double_dipping_law([1, 2, 3, 4], 0), "width is 0; expected a whole number of at least 1"),
    (lambda: popularity.double_dipping_law([2, 2, 2, 2], 3), "^counts is constant"),
    (lambda: popularity.double_dipping_draws([1, 2, 3, 4], 2, size=1.5, rng=RNG), "^size is 1.5"),
    (lambda: popularity.double_dipping_draws([1, 2, 3, 4], 2, size=3, rng=None), NO_GENERATOR),
    (lambda: popularity.direction_error(*FOUR), "one item has no spread"),
    (lambda: popularity.correlation_across_parts(*FOUR, [0, 0, 0, 0]), "part holds one part only, 0"),
    (lambda: popularity.correlation_across_parts(*FOUR, [0, 1]), r"part has shape \(2,\)"),
    (lambda: popularity.TripleLaw("everybody"), "users is 'everybody'; expected one of pairs, users"),
    (lambda: popularity.pull_matrix([[1, 0], [0, 0]]), "user 1 has no positive"),
    (lambda: popularity.pull_matrix([[1, 1]]), "user 0 has no item left"),
    (lambda: popularity.pull_matrix([[0, 1, 0], [1, 1, 0]], BY_COUNT), "user 1 has no item left"),
    (lambda: popularity.expected_roles([1, 0]), r"labels has shape \(2,\)"),
)


@pytest.mark.parametrize("half", [lambda x: x.astype(np.float16), lambda x: torch.from_numpy(x).half()])
def test_counts_of_thousands_stand_beside_norms_of_16_bits(half) -> None:
    counts = np.arange(1, 2001)
    norms, items = np.sqrt(counts), np.random.default_rng(0).normal(size=(2000, 4))
    for measure, values in (
        (popularity.norm_correlation, norms),
        (popularity.log_log_slope, norms),
        (popularity.projection_correlation, items),
    ):
        assert float(measure(half(values), counts)) == pytest.approx(measure(values, counts), rel=5e-3)


@pytest.mark.parametrize("law", [BY_COUNT, popularity.TripleLaw()])
def test_a_user_with_every_item_is_found_whatever_rounding_says(law: popularity.TripleLaw) -> None:
    """In floats the chances of all items do not always add up to 1, so the items are counted."""
    for n in range(2, 60):
        labels = np.stack([np.ones(n), np.eye(n)[0]])
        for kind in (labels, torch.tensor(labels, dtype=torch.float32), csr_array(labels)):
            with pytest.raises(ValueError, match="user 0 has no item left"):
                popularity.pull_parts(kind, law)


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e20, 1e25, 1e37])
@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_a_correlation_knows_no_scale_though_squares_leave_the_range(make, scale: float) -> None:
    x = make((np.array([1.0, 2.0, 5.0]) * scale).astype(np.float32))
    found = float(popularity.pearson(x, [1, 2, 3])), float(popularity.norm_correlation(x, [1, 2, 3]))
    assert found == pytest.approx([popularity.pearson([1, 2, 5], [1, 2, 3])] * 2, rel=1e-5)


def test_counts_that_are_a_contrast_have_a_law_to_draw_from() -> None:
    counts, ratio = [4, 4, 4, 3, 3, 2, 2, 2], 0.375  # their correlation with the contrast is 1, and was rounded up
    assert popularity.chance_cosine(counts, ratio) == 1.0
    draws = popularity.double_dipping_draws(counts, 3, ratio, size=9, rng=np.random.default_rng(0))
    assert ((draws >= 0) & (draws <= 1)).all()
