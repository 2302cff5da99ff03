"""Groups of rows that share a vector: the example of the further page, and the optima against an optimiser."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from course_lib import in_batch
from course_lib.lessons.in_batch_bias.groups import Groups, first_hits, kept_groups, own_score
from course_lib.losses import pair_losses
from tests.refused import refused

EVERY_LABEL = Groups((16, 12, 8), ((16, 16), (12, 12), (8, 8)))
ONE_LABEL = Groups((16, 12, 8), ((12, 4), (9, 3), (6, 2)))


def least(given: Groups, width: int) -> np.ndarray:
    """The scores of all rows with the least unbiased objective of two random starts, where a group shares a vector."""
    labels = torch.tensor(given.labels(), dtype=torch.float64)
    groups, repeats = len(given.rows), torch.tensor(given.rows)

    def scores(theta: np.ndarray | torch.Tensor) -> torch.Tensor:
        vectors = torch.as_tensor(theta).reshape(-1, width)
        return (vectors[:groups] @ vectors[groups:].T).repeat_interleave(repeats, dim=0)

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.tensor(theta, requires_grad=True)
        pos_loss, neg_loss = pair_losses("square", scores(point))
        arguments = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": labels}
        value = in_batch.expected_objective("unbiased", batch_size=2, **arguments)
        return float(value.detach()), torch.autograd.grad(value, point)[0].numpy()

    starts = np.random.default_rng(0).standard_normal((2, (groups + labels.shape[1]) * width))
    options = {"ftol": 0.0, "gtol": 1e-8}
    found = (minimize(value_and_gradient, one, jac=True, method="L-BFGS-B", options=options) for one in starts)
    return scores(min(found, key=lambda one: one.fun).x).numpy()


def test_a_label_matrix_has_the_counts_that_were_asked_for() -> None:
    labels = Groups((4, 3), ((3, 2), (3,))).labels()
    assert labels.shape == (7, 3) and labels.sum(axis=0).tolist() == [3, 2, 3]
    assert labels.sum(axis=1).min() == 1 and not labels[:4, 2].any() and not labels[4:, :2].any()


def test_the_order_of_the_two_losses_turns_round() -> None:
    """The fractions of the page: with every label in-batch finds more, with one label less."""
    assert first_hits(EVERY_LABEL, 2) == {"all pairs": Fraction(23, 27), "in-batch": Fraction(1)}
    assert first_hits(ONE_LABEL, 2) == {"all pairs": Fraction(67, 108), "in-batch": Fraction(1, 2)}


@pytest.mark.parametrize("given", [EVERY_LABEL, ONE_LABEL])
def test_an_optimiser_finds_the_optimum_over_all_pairs(given: Groups) -> None:
    scores = least(given, 2)
    share = np.concatenate([np.array(c) / size for c, size in zip(given.counts, given.rows, strict=True)])
    expected = np.where(np.repeat(np.arange(3), 2) == np.repeat(np.arange(3), given.rows)[:, None], share, 0.0)
    expected[np.repeat(np.arange(3), given.rows) == 2] = 0  # the smallest group is given up
    assert kept_groups(given, 2) == [0, 1]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def drawn(rng: np.random.Generator, count: int) -> Groups:
    """Groups of two to six rows, each with up to three labels that cover its rows."""
    rows = tuple(int(size) for size in rng.integers(2, 7, count))
    counts = []
    for size in rows:
        own = [int(number) for number in rng.integers(1, size + 1, int(rng.integers(1, 4)))]
        counts.append(tuple(own) if sum(own) >= size else (size, *own[1:]))
    return Groups(rows, tuple(counts))


def descended(given: Groups, width: int, rho: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Where the lesser of two descents of 2 mn (13) ends: scores of all rows, and the value that the library gives."""
    of_label = np.repeat(np.arange(len(given.rows)), [len(counts) for counts in given.counts])
    held, counts = np.array(given.positives, dtype=float), np.concatenate([np.array(own) for own in given.counts])
    own = (of_label == np.arange(len(given.rows))[:, None]) * counts  # c_j in the label's own group, (groups, n)
    push = rho * held[:, None] * counts + (1 - rho) * own

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        users, items = np.split(theta.reshape(-1, width), [len(held)])
        scores = users @ items.T
        slope = 2 * (push * scores - own)
        gradient = np.concatenate([slope @ items, slope.T @ users])
        return float((push * scores**2 - 2 * own * scores).sum() + own.sum()), gradient.ravel()

    starts = rng.standard_normal((2, (len(held) + len(of_label)) * width))
    how = {"jac": True, "method": "L-BFGS-B", "options": {"ftol": 0.0, "gtol": 1e-10, "maxiter": 20_000}}
    best = min((minimize(value_and_gradient, start, **how) for start in starts), key=lambda found: found.fun)
    users, items = np.split(best.x.reshape(-1, width), [len(held)])
    scores = (users @ items.T).repeat(given.rows, axis=0)
    pos_loss, neg_loss = pair_losses("square", scores)
    batch_size = round(rho * (held.sum() - 1)) + 1
    arguments = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": given.labels(), "batch_size": batch_size}
    value = 2 * scores.size * in_batch.expected_objective("in_batch", **arguments)
    assert value == pytest.approx(best.fun, abs=1e-9)
    return scores, value


@pytest.mark.seconds
def test_the_least_value_and_where_it_is_taken_on_groups_that_nobody_chose() -> None:
    """Part 2 of the theorem: 2 mn (13) is M - d M/(rho M + (1 - rho) d) at least, at one score of the own labels.

    Where a group holds more than M/d positives, the bound is not reached and the own labels' scores differ.
    """
    rng, seen = np.random.default_rng(0), {"within": 0, "beyond": 0}
    while min(seen.values()) < 1:
        given = drawn(rng, int(rng.integers(3, 6)))
        width, total = int(rng.integers(1, len(given.rows))), sum(given.positives)
        batch_size = int(rng.integers(2, total))
        rho = (batch_size - 1) / (total - 1)
        score = width / (rho * total + (1 - rho) * width)
        scores, value = descended(given, width, rho, rng)
        inside = np.repeat(np.arange(len(given.rows)), [len(own) for own in given.counts])
        mine = inside == np.repeat(np.arange(len(given.rows)), given.rows)[:, None]
        if width * max(given.positives) <= total:
            seen["within"] += 1
            assert score == pytest.approx(float(own_score(given, width, Fraction(batch_size - 1, total - 1))))
            assert value == pytest.approx(total - total * score, abs=1e-7)
            np.testing.assert_allclose(scores[mine], score, rtol=2e-3)
            assert scores[~mine].max() <= score * (1 + 2e-3)
        else:
            seen["beyond"] += 1
            assert value > total - total * score + 1e-6
            assert np.ptp(scores[mine]) > 1e-3 * score


test_nonsense_is_named = refused(  # groups outside the theorem
    (lambda: own_score(Groups((18, 9, 8), ((18,), (9,), (8,))), 2, Fraction(1, 2)), "at most 35/2 in each"),
    (lambda: own_score(EVERY_LABEL, 2, Fraction(1)), "rho is 1; expected 0 < rho < 1"),
    (lambda: kept_groups(Groups((3, 3), ((3,), (3,))), 1), "expected no tie"),
    (lambda: Groups((2, 2), ((2,),)), "counts is for 1 groups; expected 2"),
    *((lambda own=own: Groups((2,), (own,)), "expected 1 <= count <= rows <= sum") for own in ((3,), (0, 2), (1,), ())),
)
