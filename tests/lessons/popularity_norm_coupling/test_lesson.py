"""The chapter on norms: wrong laws are found out, its trainings, findings, figures and quiz."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from course_lib import geometry, norms
from course_lib import norms as laws
from course_lib.interactions import Interactions
from course_lib.lessons.popularity_norm_coupling import films, norm_growth, plots, proofs
from course_lib.lessons.popularity_norm_coupling import findings as about
from course_lib.lessons.popularity_norm_coupling import quiz as popularity_norm_coupling
from course_lib.lessons.popularity_norm_coupling.films import FilmRun
from course_lib.lessons.shared.findings import Finding
from tests.lessons.every import explanation
from tests.refused import refused


def forgets_repeats(p: Fraction, B: int, **_: Any) -> Fraction | int:
    return B * p if B * p < 1 else 1


def turned_round(chance: Any, u: Any) -> np.ndarray:
    return np.array([[(1 - x if k else x) < q for x in u] for k, q in enumerate(chance)])


def in_one_step(s: Any, *, lr: Any, squared_gradients: Any) -> np.ndarray:
    return np.array([s, s + lr**2 * squared_gradients.sum() / s])


def without_decay(s: Any, *, squared_gradients: Any, **_: Any) -> np.ndarray:
    return np.array([s + sum(squared_gradients)])


def all_pairs(p: Any, *, batch_size: int, coherence: Any) -> Any:
    return batch_size * p + coherence * (batch_size * p) ** 2


P = proofs
WRONG = [
    (laws, "update_probability", lambda f: forgets_repeats, [P.enumerate_update_count]),
    (laws, "update_probability", lambda f: lambda p, B, **_: 1 - (1 - p) ** B, [P.enumerate_update_count]),
    (laws, "expected_updates", lambda f: lambda p, **k: k["steps"] * k["batch_size"] * p, [P.enumerate_update_count]),
    (laws, "coupled_updates", lambda f: turned_round, [P.enumerate_monotone_coupling]),
    (laws, "squared_norm_path", lambda f: in_one_step, [P.enumerate_quartic_law]),
    (laws, "expected_squared_gradient", lambda f: all_pairs, [P.enumerate_saturation]),
    (laws, "expected_squared_gradient_slope", lambda f: lambda p, **_: 1, [P.enumerate_saturation]),
    (laws, "decayed_path", lambda f: without_decay, [P.enumerate_lazy_decay]),
]


def test_a_rare_item_outgrows_a_popular_one_exactly() -> None:
    broken = proofs.growth_without_popularity((6, 3))
    assert broken.claimed == 0 and broken.actual < 0
    assert float(broken.gap) == pytest.approx(-0.045070, abs=1e-6)
    assert proofs.growth_without_popularity((3, 3)).actual < 0  # as often, and shorter
    with_more = proofs.growth_without_popularity((9, 3))  # more updates do not help the popular one
    assert with_more.actual < 0


def test_the_audits_two_items() -> None:
    consistent, conflicting = proofs.conflicting_items((1000, 100))
    assert consistent == pytest.approx(1.0895, abs=5e-5)
    assert conflicting == pytest.approx(2.3227, abs=5e-5)


# ==== the trainings of the chapter on a small world: the law holds, and its summaries agree with counting

COUNTS = np.array([1, 2, 4, 8, 16, 32])


@pytest.fixture(scope="module")
def pairs() -> Interactions:
    """Film i has COUNTS[i] people, the first ones."""
    items = np.repeat(np.arange(len(COUNTS)), COUNTS)
    users = np.concatenate([np.arange(count) for count in COUNTS])
    return Interactions(users, items, n_users=COUNTS.max(), n_items=len(COUNTS))


@pytest.fixture(scope="module")
def run(pairs: Interactions) -> films.FilmRun:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(films, "BATCH", 8)
        return films.train(pairs, seed=0, steps=40)


def test_the_law_gives_every_length_and_no_vector_shrinks(run: films.FilmRun) -> None:
    np.testing.assert_allclose(run.law, run.after, rtol=1e-5)
    assert (run.after >= run.before * (1 - 1e-6)).all() and run.after.max() > 1.5
    assert run.counts.tolist() == COUNTS.tolist()


def test_the_law_follows_from_the_recorded_pulls(run: films.FilmRun) -> None:
    """Without the fourth powers of the steps the law is a lower bound."""
    bound = (run.before**4 + 2 * films.RATE**2 * run.squared) ** 0.25
    assert (bound <= run.law * (1 + 1e-9)).all()
    np.testing.assert_allclose(run.mean_squared * run.updates, run.squared)
    assert run.h**2 * run.updates.sum() == pytest.approx(run.squared.sum())


def test_updates_are_batches_and_even_sampling_forgets_the_counts(pairs: Interactions, run: films.FilmRun) -> None:
    assert run.updates.max() <= 40 and run.updates[-1] > run.updates[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(films, "BATCH", 8)
        even = films.train(pairs, seed=0, steps=40, evenly=True)
    expected = 40 * norms.update_probability(1 / len(COUNTS), 8)
    assert abs(even.updates - expected).max() < 12 < expected - run.updates[0]


def world(squared: np.ndarray, updates: np.ndarray) -> films.FilmRun:
    """A run of which only counts, updates and pulls matter."""
    ones = np.ones(len(COUNTS))
    return films.FilmRun(COUNTS, ones, ones, updates, squared, ones)


def test_slopes_are_read_among_the_chosen_films() -> None:
    run = world(COUNTS.astype(float), np.ones(len(COUNTS)))
    bent = np.where(COUNTS < 8, COUNTS**0.25, 8**-0.25 * COUNTS**0.5)  # a quarter below 8, a half from 8
    assert run.slope(bent, below=8) == pytest.approx(0.25)
    assert run.slope(bent, least=8) == pytest.approx(0.5)
    assert 0.25 < run.slope(bent) < 0.5


def test_one_number_knows_the_count_alone() -> None:
    """All pulls of size 1/100: the law at T pi(p) updates."""
    updates = np.full(len(COUNTS), 7.0)
    expected = films.STEPS * (1 - (1 - COUNTS / COUNTS.sum()) ** films.BATCH)
    lengths = world(updates / 10_000, updates).by_one_number()
    np.testing.assert_allclose(lengths, (1 + 2 * films.RATE**2 / 10_000 * expected) ** 0.25)


@pytest.mark.parametrize("coherence", [0.0, 0.4])
def test_the_law_with_copies_finds_the_coherence_that_it_was_made_with(coherence: float) -> None:
    p, size = COUNTS / COUNTS.sum(), films.BATCH
    squared = films.STEPS * 0.003 * (size * p + coherence * size * (size - 1) * p**2)
    found, lengths = world(squared, np.ones(len(COUNTS))).by_copies()
    assert found == pytest.approx(coherence, abs=1e-12)
    np.testing.assert_allclose(lengths, (1 + 2 * films.RATE**2 * squared) ** 0.25)


# ==== the chapter's findings on made-up runs whose answer is known: one that obeys, one that does not

MANY = np.geomspace(3, 3000, 40).astype(int)
CENTRED = MANY - MANY.mean()
NOISE = np.cos(np.arange(40)) - np.cos(np.arange(40)).mean()
FLAT = 1 + 0.01 * (NOISE - NOISE @ CENTRED / (CENTRED @ CENTRED) * CENTRED)  # not correlated with the counts


def fourth_root() -> FilmRun:
    """Lengths like the fourth root of the count, by equal shares of updates and of pulls."""
    root, half = MANY**0.25, MANY**0.5
    return FilmRun(MANY, before=FLAT, after=root, updates=half, squared=half * half, law=root)


GOOD = fourth_root()
WRONG_RUNS: list[tuple[Finding, dict[str, Any]]] = [
    (about.the_longest_are_the_most_popular, {"after": MANY**-0.25}),
    (about.training_makes_the_correlation, {"after": FLAT}),
    (about.training_makes_the_correlation, {"before": MANY**0.25}),
    (about.the_slope_is_near_a_quarter, {"after": MANY**0.5}),
    (about.the_slope_is_near_a_quarter, {"after": FLAT}),
    (about.the_slope_is_near_a_quarter, {"after": MANY ** (1 / 3)}),
    (about.the_slope_is_near_a_quarter, {"after": MANY ** (1 / 6)}),
    (about.the_law_gives_every_length, {"law": MANY**0.25 * 1.001}),
    (about.popular_films_are_hit_harder, {"squared": MANY**0.5}),
    (about.evenly_updated_films_are_hit_harder, {"squared": MANY**0.5}),
    (about.evenly_updated_films_differ, {"after": np.ones(40)}),
    (about.one_number_is_too_flat, {"after": FLAT}),
]
FINDINGS = [(found, ([GOOD, GOOD],), ([GOOD, replace(GOOD, **wrong)],)) for found, wrong in WRONG_RUNS]


def test_slopes_are_those_of_the_root_of_the_count() -> None:
    for found, slope in ((about.popular_films_are_hit_harder, 0.5), (about.evenly_updated_films_differ, 0.25)):
        assert found.evidence([GOOD, GOOD]).cases["MovieTweetings"].value == pytest.approx(slope)


def test_the_law_with_copies_is_compared_in_the_head_alone() -> None:
    """Pulls like the square of the count bend the fitted line upwards; lengths like a fourth root stay below it."""
    steep = replace(fourth_root(), squared=1e-4 * (MANY + 0.01 * MANY.astype(float) ** 2))
    head = MANY >= about.HEAD
    fitted = steep.slope(steep.by_copies()[1], least=about.HEAD)
    case = about.copies_are_too_steep_in_the_head.evidence([steep]).cases["MovieTweetings"]
    assert head.any() and case.value == pytest.approx(fitted - 0.25) and case.value > 0


def test_the_overlap_counts_the_longest_among_the_most_popular() -> None:
    run = replace(fourth_root(), after=np.where(np.arange(40) >= 36, 3.0, 1.0))  # the most popular tenth
    assert about.longest_and_most_popular(run, few=4) == 4
    assert about.longest_and_most_popular(replace(run, after=run.after[::-1]), few=4) == 0


# ==== the figures of norms and popularity show what they are given

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "coupled_runs": lambda: plots.coupled_runs(0.2, 0.6, [0.1, 0.5, 0.9, 0.3]),
    "decay_balance": lambda: plots.decay_balance([0.1, 1.0], {"decay": [1.0, 1.8]}, {"decay": [1.0, 1.78]}),
    "growth_law": lambda: plots.growth_law([1.0, 10.0], start_norm=1.0, h=0.02),
    "norms_against_counts": lambda: plots.norms_against_counts(
        [1, 3, 9, 80], {"after": [1.0, 1.2, 1.5, 3.0]}, lines={"after": [1.1, 1.2, 1.6, 2.9]}, start_norm=1.0
    ),
    "lengths_and_shares": lambda: plots.lengths_and_shares(([0, 10], [1.0, 1.3]), {"dot": ([0, 10], [0.01, 0.3])}),
    "remedy_rows": lambda: plots.remedy_rows(
        {"nothing": {"cosine": (0.01, 0.04), "dot product": (0.3, 0.1)}}, chance=0.007, most_popular=0.1
    ),
    "saturation_slope": lambda: plots.saturation_slope(512, [0.0, 0.1, 1.0]),
    "two_items": lambda: plots.two_items({"a": [[1.0, 1.0], [1.2, 0.9]], "b": [[1.0, 1.0], [0.8, 1.4], [1.4, 1.5]]}),
}


test_nonsense_is_named = refused(
    (lambda: plots.coupled_runs(0.7, 0.2, [0.5]), "expected 0 <= rare <= popular <= 1"),
    (
        lambda: plots.norms_against_counts([1, 1, 9], {"a": [1.0, 2.0]}),
        r"lengths\['a'\] has shape \(2,\) and counts \(3,\)",
    ),
    (lambda: plots.two_items({"a": [1.0, 2.0, 3.0]}), r"paths\['a'\] has shape \(3,\)"),
)


def test_coupled_runs_mark_each_batch_once_and_count_both_items() -> None:
    uniforms = [0.05, 0.3, 0.9, 0.6, 0.1]
    _, (top, bottom) = plots.coupled_runs(0.2, 0.7, uniforms)
    marks = {line.get_label(): np.asarray(line.get_xdata()).tolist() for line in top.lines if line.get_marker() == "o"}
    assert marks == {"both are updated": [1, 5], "only the popular item": [2, 4], "neither": [3]}
    ends = sorted(int(line.get_ydata()[-1]) for line in bottom.lines)
    assert ends == [2, 4]
    for line in top.lines:
        if line.get_marker() == "o":
            assert line.get_fillstyle() in ("full", "bottom", "none")  # no colour needed


def test_growth_law_marks_the_crossover_on_its_curve() -> None:
    _, ax = plots.growth_law([1.0, 10.0], start_norm=1.0, h=0.02)
    marks = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [mark.get_xdata()[0] for mark in marks] == [1250.0, 12.5]
    assert all(mark.get_ydata()[0] == pytest.approx(2**0.25) for mark in marks)


def test_norms_against_counts_draws_medians_and_lines() -> None:
    counts, lengths = np.array([1, 1, 1, 100]), np.array([1.0, 2.0, 9.0, 5.0])
    _, axes = plots.norms_against_counts(counts, {"a": lengths, "b": lengths}, lines={"b": lengths})
    (squares,) = [line for line in axes[0].lines if line.get_marker() == "s"]
    assert np.column_stack(squares.get_data()).tolist() == [[1, 2], [100, 5]]
    assert [len(ax.lines) for ax in axes] == [2, 3]


def test_saturation_lies_between_a_quarter_and_a_half() -> None:
    _, ax = plots.saturation_slope(512, [0.0, 1.0])
    flat, steep = (np.asarray(line.get_ydata()) for line in ax.lines[:2])
    assert np.allclose(flat, 0.25) and steep[0] < 0.26 and 0.49 < steep[-1] < 0.5


def test_two_items_end_where_they_end() -> None:
    _, (plane, lengths) = plots.two_items({"a": [[1.0, 0.0], [1.0, 1.0]], "b": [[1.0, 0.0], [3.0, 4.0]]})
    for circle, length in zip(plane.get_lines()[2:6:3], (2**0.5, 5.0), strict=True):
        assert np.hypot(*circle.get_data()) == pytest.approx(length)
    assert [text.get_text() for text in lengths.texts] == ["a:\n1.41", "b:\n5.00"]


def test_lengths_and_shares_stand_in_two_panels_with_bands_and_the_chance_line() -> None:
    bands = {"length": [0.0, 0.1], "dot": [0.0, 0.05]}
    shares = {"dot": ([0, 5], [0.01, 0.4]), "cosine": ([0, 5], [0.01, 0.02])}
    _, (left, right) = plots.lengths_and_shares(([0, 5], [1.0, 1.5]), shares, bands=bands, chance=0.02)
    assert list(left.lines[0].get_ydata()) == [1.0, 1.5] and len(left.collections) == 1
    assert [list(line.get_ydata()) for line in right.lines[:2]] == [[0.01, 0.4], [0.01, 0.02]]
    assert len(right.collections) == 1 and left.get_ylim()[0] == right.get_ylim()[0] == 0
    assert right.lines[-1].get_ydata()[0] == 0.02 and right.texts[0].get_text() == "chance"


def test_named_films_stand_in_the_last_panel() -> None:
    lengths = np.array([1.0, 3.0])
    _, (first, last) = plots.norms_against_counts(
        [1, 80], {"before": lengths, "after": 2 * lengths}, named={"Iron Man 3": 1}
    )
    assert not first.texts and [text.get_text() for text in last.texts] == ["Iron Man 3"]
    assert last.texts[0].xy == (80, 6)


# ==== the quiz of the chapter: course_lib decides its answers, and its numbers are right

NAME = "popularity-norm-coupling"


WRONG_FORMULAS = [
    (norms, "predicted_norm", lambda f: lambda *a, **k: f(*a, **k) ** 2, "sixteen-times", ""),
    (norms, "crossover_count", lambda f: lambda norm, **k: f(norm, **k) * norm, "same-picture", ""),
    (geometry, "cosine_gradient", lambda f: lambda q, k: f(q, k) - 0.5 * q, "who-grows", ""),
    (
        norms,
        "expected_squared_gradient",
        lambda f: lambda p, **k: f(p, **{**k, "coherence": 1.0}),
        "head-of-the-catalogue",
        "",
    ),
    (norms, "decay_equilibrium", lambda f: lambda p, **k: f(1.0, **k), "weight-decay", ""),
    (geometry, "normalise", lambda f: lambda x: x / geometry.norm(x).mean(), "serving", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    consistent, conflicting = popularity_norm_coupling.conflicting_items((1000, 100))
    assert f"from 1 to {consistent:.2f}" in explanation(NAME, "who-grows", "more-is-longer").replace("\n", " ")
    assert f"reaches {conflicting:.2f} in 100" in explanation(NAME, "who-grows", "more-is-longer")
    assert pytest.approx(1.19, abs=0.005) == 2**0.25
    assert norms.update_probability(0.01, 1024) > 0.9999  # "in practically every step"
    coherent = norms.expected_squared_gradient(np.array([0.01, 0.02]), batch_size=1024, coherence=1.0)
    assert (coherent[1] / coherent[0]) ** 0.25 == pytest.approx(1.40, abs=0.005)  # the answer for copies that agree


def test_the_statistical_claims_of_the_norm_quiz_show_in_the_interactive() -> None:
    """'A law that holds on average': in the interactive single items differ from the predicted line, the mean
    hardly.
    """
    run = norm_growth.NormGrowth(lr=1.0).run()
    ratio = run.norms / norms.predicted_norm(1.0, lr=1.0, h=run.h, updates=run.counts)
    assert ratio.std() > 0.02 and abs(ratio.mean() - 1) < 0.1
