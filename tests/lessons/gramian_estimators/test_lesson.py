"""The chapter on Gramians: its proofs, the training that its pages share, its findings, figures and quiz."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course_lib import gramians
from course_lib.interactions import Interactions
from course_lib.lessons.gramian_estimators import broken as broken_gramians
from course_lib.lessons.gramian_estimators import findings as about
from course_lib.lessons.gramian_estimators import free_tables, plots, proofs
from course_lib.lessons.gramian_estimators import quiz as gramian_estimators
from course_lib.lessons.gramian_estimators.free_tables import Race
from course_lib.lessons.shared.findings import Finding
from tests.lessons.every import explanation


class ASum(gramians.SOGram):
    """P4's Section 4.1: a sum over the batch where a mean belongs."""

    def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
        estimate = super().update(indices, embeddings, partners)
        self._estimate = estimate * 2
        return self._estimate


class Reused(gramians.SAGram):
    """The cache is renewed before the estimate is taken from it: nothing is corrected."""

    def look(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
        super().look(indices, embeddings, partners)
        self.renew(indices, embeddings, partners)
        return super().look(indices, embeddings, partners)


class Frozen(gramians.SAGram):
    """The cache is never renewed."""

    def renew(self, indices: Any, embeddings: Any, partners: Any = None) -> None:
        return


def sum_for_a_difference(u: Any, v: Any, q: Any, r: Any) -> Any:
    return gramians.gravity(u, v) + gramians.gravity(q, r)


def other_variance(a: Any, delta: Any, sigma: Any) -> Any:
    return sigma**2 * a + delta**2 * (1 / a - 1) ** 2


def other_bias(b: Any, mean_square: Any, variance: Any) -> Any:
    return (1 - b) * mean_square + b**2 * variance


def other_memory(a: Any, sigma: Any = 1, steps: Any = None, corrected: bool = False) -> Any:
    return sigma**2 * a / (1 - a)


G, P = gramians, proofs
WRONG = [
    (G, "SOGram", lambda f: ASum, [P.enumerate_sogram_average, P.enumerate_fold_afterwards]),
    (G, "SAGram", lambda f: Reused, [P.enumerate_sagram, P.enumerate_unbiased_gravity]),
    (G, "SAGram", lambda f: Frozen, [P.enumerate_sagram_memory]),
    (G, "same_batch_share", lambda f: lambda b, n=None: 1 / b, [P.enumerate_same_batch]),
    (G, "gravity_with_prior", lambda f: sum_for_a_difference, [P.enumerate_prior_gravity]),
    (G, "coherent_error", lambda f: other_variance, [P.thm_optimal_alpha]),
    (G, "sagram_error", lambda f: other_bias, [P.thm_optimal_beta]),
    (G, "sogram_variance", lambda f: other_memory, [P.prop_sampling_by_memory]),
]


def test_one_batch_without_replacement() -> None:
    found = broken_gramians.one_batch_for_both(replace=False)
    assert np.any(found.gap != 0) and np.all(found.unexplained == 0)


def test_folding_the_batch_in_afterwards_repairs_it() -> None:
    assert np.all(broken_gramians.batch_folded_in_afterwards().gap == 0)
    assert np.any(broken_gramians.batch_folded_in_first().gap != 0)


def test_the_numbers_that_the_chapter_quotes() -> None:
    assert broken_gramians.leaving_the_cone().actual.tolist() == [-2, 2]
    assert broken_gramians.projecting().actual == 1
    reused = broken_gramians.index_reused()
    assert reused.claimed == Fraction(1, 19) and reused.actual > Fraction(99, 100)
    pair = broken_gramians.overshooting_pair()
    assert pair.claimed > 0 > pair.actual


# ==== the training that the chapter's pages share, against loops written out, on a list of a few pairs


@pytest.fixture(scope="module")
def train() -> Interactions:
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((12, 9)) < 0.6)
    return Interactions(users, items, n_users=12, n_items=9)


def by_hand(train: Interactions, lam: float, alpha: float, steps: int, batch: int) -> torch.Tensor:
    """The people's table, by the chapter's loop."""
    u, v = free_tables.start(train, 0)
    rng, optimiser = np.random.default_rng(0), torch.optim.Adagrad([u, v], lr=0.3)
    people, films = torch.tensor(train.users), torch.tensor(train.items)
    gram_u = gram_v = torch.zeros(16, 16)
    for _ in range(steps):
        seen, used = torch.from_numpy(rng.integers(len(train), size=(2, batch)))
        fresh_u, fresh_v = u[people[seen]].detach(), v[films[seen]].detach()
        gram_u = (1 - alpha) * gram_u + alpha * fresh_u.T @ fresh_u / batch
        gram_v = (1 - alpha) * gram_v + alpha * fresh_v.T @ fresh_v / batch
        left, right = u[people[used]], v[films[used]]
        gravity = (left @ gram_v * left).sum(1) + (right @ gram_u * right).sum(1)
        loss: Any = ((1 - (left * right).sum(1)).square() + lam * gravity).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return u.detach()


@pytest.mark.parametrize(("lam", "alpha"), [(1.0, 0.1), (3.0, 1.0)])
def test_the_fit_is_the_loop_of_the_page(train: Interactions, lam: float, alpha: float) -> None:
    found = free_tables.fit(train, lam, make=lambda: gramians.SOGram(16, alpha), batch=8, steps=20)
    assert np.allclose(found[0], by_hand(train, lam, alpha, 20, 8), atol=1e-5)


def test_with_one_batch_the_gramians_of_a_step_are_those_of_the_batch_before(train: Interactions) -> None:
    seen: list[list[int]] = []

    class Watched(gramians.BatchGramian):
        def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
            seen.append(indices.tolist())
            return super().update(indices, embeddings, partners)

    free_tables.fit(train, 1.0, make=Watched, batch=4, steps=3, two_batches=False)
    draws = np.random.default_rng(0).integers(len(train), size=(3, 2, 4))
    expected = draws[0, 0], draws[0, 1], draws[1, 1], draws[2, 1]  # the first step has nothing before it
    assert seen[::2] == [batch.tolist() for batch in expected]


def test_even_weights_make_the_gravity_uniform_over_pairs_of_entities(train: Interactions) -> None:
    rng = np.random.default_rng(1)
    u, v = rng.normal(size=(12, 16)), rng.normal(size=(9, 16))
    heavy_u, heavy_v = (
        weight.numpy() * table for weight, table in zip(free_tables.even_weights(train), (u, v), strict=True)
    )
    found = gramians.gravity(heavy_u[train.users], heavy_v[train.items])
    assert (train.row_counts > 0).all() and (train.col_counts > 0).all()
    assert found == pytest.approx(((u @ v.T) ** 2).mean(), rel=1e-5)


def test_the_objective_is_the_double_sum(train: Interactions) -> None:
    rng = np.random.default_rng(2)
    u, v = rng.normal(size=(12, 16)), rng.normal(size=(9, 16))
    left, right = u[train.users], v[train.items]
    expected = ((1 - (left * right).sum(1)) ** 2).mean() + 2 * ((left @ right.T) ** 2).mean()
    assert free_tables.objective(train, 2.0, (u, v)) == pytest.approx(expected)


def test_a_race_measures_how_far_an_estimate_is_off(train: Interactions) -> None:
    class TooLong(gramians.BatchGramian):
        """Sampling, times one and a half."""

        def update(self, indices: Any, embeddings: Any, partners: Any = None) -> Any:
            self._estimate = 1.5 * super().update(indices, embeddings, partners)
            return self._estimate

    def make(name: str, _: int) -> gramians.BatchGramian:
        return TooLong() if name == "too long" else gramians.BatchGramian()

    watched = {"sampling": (8, 256), "too long": (256,)}
    found = free_tables.race(train, watched, make, steps=40, every=10)
    assert list(found.steps) == [10, 20, 30, 40] and len(found.moved) == 3
    assert found.late("sampling", 256) < found.late("sampling", 8)
    assert found.late("too long", 256) > 0.3 and (found.moved > 0).all() and found.sigma > 0


# ==== the chapter's findings on its own runs: each holds on numbers that say so, and stops the page on the opposite


def race(**late: float) -> Race:
    """A race of four looks; a name such as sogram_128 gives that error at the late looks and twice it before."""
    names = {
        "sampling_128": ("sampling", 128),
        "sampling_1024": ("sampling", 1024),
        "sogram_128": ("sogram 0.1", 128),
        "sogram_1024": ("sogram 0.1", 1024),
        "sagram_128": ("sagram 1", 128),
        "sagram_1024": ("sagram 1", 1024),
    }
    errors = {names[name]: np.array([2 * value, 2 * value, value, value]) for name, value in late.items()}
    return Race(np.arange(1, 5), errors, np.ones(3), 1.0)


def start(first: float, corrected: float) -> Race:
    kinds = {("sogram 0.01", 128): first, ("sogram 0.01 corrected", 128): corrected}
    return Race(np.ones(1), {key: np.array([value]) for key, value in kinds.items()}, np.ones(1), 1.0)


def cache(first: float, last: float) -> Race:
    errors = {("sagram 1/n", 128): np.array([first, last]), ("sampling", 128): np.array([0.3, 0.3])}
    return Race(np.ones(2), errors, np.ones(1), 1.0)


FINDINGS: list[tuple[Finding, tuple[Any, ...], tuple[Any, ...]]] = [
    (about.folded_says_yes, ([0.9],), ([0.7],)),
    (about.penalty_finds_more, ([0.002], [0.011]), ([0.002], [0.009])),
    (about.popularity_wins, ([0.04], 0.1), ([0.06], 0.1)),
    (about.even_gravity_wins, ([0.2], 0.1), ([0.09], 0.1)),
    (about.times_popularity_wins, ([0.2], 0.1), ([0.09], 0.1)),
    (
        about.sogram_beats_larger_batches,
        ([race(sampling_1024=0.2, sogram_128=0.1)],),
        ([race(sampling_1024=0.1, sogram_128=0.2)],),
    ),
    (
        about.beta_one_errs_with_small_batches,
        ([race(sagram_128=0.3, sogram_128=0.1)],),
        ([race(sagram_128=0.19, sogram_128=0.1)],),
    ),
    (
        about.beta_one_is_level_with_large_batches,
        ([race(sagram_1024=0.11, sogram_1024=0.1)],),
        ([race(sagram_1024=0.08, sogram_1024=0.1)],),
    ),
    (about.cache_starts_badly, ([cache(0.5, 0.2)],), ([cache(0.5, 0.4)],)),
    (about.cache_starts_badly, ([cache(0.4, 0.1)],), ([cache(0.2, 0.1)],)),
    (about.corrected_start_helps, ([start(0.8, 0.3)],), ([start(0.8, 0.5)],)),
    (about.walk_predicts_better, ([0.5], [0.2], [0.1]), ([0.5], [0.2], [0.4])),
    (about.examples_make_the_noise, ([30],), ([10],)),
    (about.slow_sogram_minimises_less, ([1.2], [1.0]), ([1.05], [1.0])),
    (about.one_batch_is_enough, ([1.005], [1.0]), ([1.02], [1.0])),
]


def test_every_finding_of_the_pages_own_runs_is_tried() -> None:
    own = {found.name for found in vars(about).values() if isinstance(found, Finding) and not found.rests_on}
    assert own == {found.name for found, _, _ in FINDINGS}


# ==== the figures of the chapter on Gramian estimators

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "cost_of_forms": lambda: plots.cost_of_forms(
        [16, 256], {"pairs": [1e-4, 1e-2], "Gramians": [1e-4, 1e-3]}, width=64
    ),
    "double_sum": lambda: plots.double_sum(np.arange(24.0).reshape(8, 3) % 5, np.arange(24.0).reshape(8, 3) % 7),
    "estimation_errors": lambda: plots.estimation_errors(
        {"SOGram, 128": ([1, 2], [1.0, 0.5]), "SOGram, 1024": ([1, 2], [1.0, 0.3])}
    ),
    "folding": lambda: plots.folding({"none": {"observed": [0.1, 0.9], "random": [0.5, 0.5]}}, [-1, 0, 2]),
    "gravity_flow": lambda: plots.gravity_flow([[2.0, 0.1], [-1.5, 0.4], [0.3, 0.6]], [[1.0, 1.0], [-1.0, 0.5]]),
    "memories": lambda: plots.memories(5, {"batch": [1, 0, 0, 0, 0], "SOGram": [0.5, 0.25, 0.125, 0.06, 0.03]}),
    "one_person": lambda: plots.one_person(["Up"], ["Heat", "Big"], {"λ = 0": ([1.0], [0.9, 1.1])}),
    "rate_tradeoff": lambda: plots.rate_tradeoff(delta=0.01, sigma=1.0, drift="random_walk"),
}


# ==== the quiz on Gramian estimators: verdicts come from course_lib, and so do the numbers in the explanations

WRONG_FORMULAS = [
    (gramians, "gramian", lambda f: lambda x: f(x) * len(x), "all-pairs", "frobenius"),
    (
        gramians,
        "gravity_loss",
        lambda f: lambda u, v, g, h: ((u @ h) * u).sum(1).mean() + ((v @ g) * v).sum(1).mean(),
        "stop-gradient",
        "twice-both",
    ),
    (gramians, "same_batch_share", lambda f: lambda b, n=None: f(b, n) / 2, "one-batch", "mixture"),
    (gramians, "nearest_psd", lambda f: lambda matrix: matrix, "sagram", "projected"),
    (gramians, "sogram_variance", lambda f: lambda alpha, **k: f(alpha, **k) * (2 - alpha), "memory", "window"),
    (gramians, "optimal_alpha", lambda f: lambda delta, sigma, kind="coherent": delta / sigma, "drift", "quarter"),
]


def test_the_numbers_in_the_explanations() -> None:
    level = gramians.sogram_variance(gramian_estimators.ALPHA)
    assert (
        round(1 / level) == 199
        and "1/199" in explanation("gramian-estimators", "memory", "like-batch")
        and 128 * 199 == 25472
    )
    assert gramians.alpha_like_batch(128, 25472) == pytest.approx(0.01)
    assert gramians.sogram_variance(0.01, steps=1, corrected=True) == pytest.approx(
        1
    )  # "the whole variance of a batch"
    assert gramians.sogram_variance(0.01, steps=1) == pytest.approx(0.01**2)  # "one hundredth of that batch"
    assert pytest.approx(0.63, abs=0.005) == 1 - 0.99**100
    assert gramians.optimal_alpha(1e-4, 1.0) == pytest.approx((2e-4) ** (2 / 3), rel=0.02) and pytest.approx(
        4
    ) == 8 ** (2 / 3)
    assert gramians.optimal_alpha(1e-4, 1.0, "random_walk") == pytest.approx(1e-4, rel=0.02)
    assert gramians.same_batch_share(10, 10) == 0 and "is 0" in explanation("gramian-estimators", "one-batch", "full")


def test_projecting_ends_too_large() -> None:
    """'Their mean ends too large', in every world of the question: the trace only grows."""
    for seed in range(20):
        cached, now = gramian_estimators._tables(4, 3, seed)
        estimates = gramian_estimators._estimates(cached, now, 1.0)
        assert np.trace(gramians.nearest_psd(estimates).mean(0)) >= np.trace(gramians.gramian(now)) - 1e-12
