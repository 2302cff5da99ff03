"""Groups of rows that share a vector: the example of the further page, and the optima against an optimiser."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from course_lib import in_batch
from course_lib.lessons.in_batch_bias import enumeration, groups
from course_lib.lessons.in_batch_bias.groups import Groups, first_hits, kept_groups, own_score
from course_lib.losses import pair_losses

EVERY_LABEL = Groups((16, 12, 8), ((16, 16), (12, 12), (8, 8)))
ONE_LABEL = Groups((16, 12, 8), ((12, 4), (9, 3), (6, 2)))


def least(kind: str, given: Groups, width: int, batch_size: int) -> np.ndarray:
    """The scores of all rows with the least objective of some random starts, where a group shares a vector."""
    labels = torch.tensor(given.labels(), dtype=torch.float64)
    groups, repeats = len(given.rows), torch.tensor(given.rows)

    def scores(theta: np.ndarray | torch.Tensor) -> torch.Tensor:
        vectors = torch.as_tensor(theta).reshape(-1, width)
        return (vectors[:groups] @ vectors[groups:].T).repeat_interleave(repeats, dim=0)

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.tensor(theta, requires_grad=True)
        pos_loss, neg_loss = pair_losses("square", scores(point))
        arguments = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": labels}
        value = in_batch.expected_objective(kind, batch_size=batch_size, **arguments)
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
    scores = least("unbiased", given, 2, 2)
    share = np.concatenate([np.array(c) / size for c, size in zip(given.counts, given.rows, strict=True)])
    expected = np.where(np.repeat(np.arange(3), 2) == np.repeat(np.arange(3), given.rows)[:, None], share, 0.0)
    expected[np.repeat(np.arange(3), given.rows) == 2] = 0  # the smallest group is given up
    assert kept_groups(given, 2) == [0, 1]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@pytest.mark.parametrize("given", [EVERY_LABEL, ONE_LABEL])
def test_an_optimiser_finds_the_optimum_of_the_batch(given: Groups) -> None:
    """All labels of the own group alike, all others lower: the popular label of the group is forgotten."""
    scores, total, batch_size = least("in_batch", given, 2, 5), sum(given.positives), 5
    own = np.repeat(np.arange(3), 2) == np.repeat(np.arange(3), given.rows)[:, None]
    expected = own_score(given, 2, Fraction(batch_size - 1, total - 1))
    np.testing.assert_allclose(scores[own], float(expected), rtol=1e-4)
    assert scores[~own].max() < 0.9 * expected


def test_a_wrong_score_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert enumeration.enumerate_shared_groups() == 0
    right = own_score
    monkeypatch.setattr(enumeration, "own_score", lambda *given: right(*given) * Fraction(99, 100))
    assert enumeration.enumerate_shared_groups() > 0


def test_groups_outside_the_theorem_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 35/2 in each"):
        own_score(Groups((18, 9, 8), ((18,), (9,), (8,))), 2, Fraction(1, 2))
    with pytest.raises(ValueError, match="rho is 1; expected 0 < rho < 1"):
        own_score(EVERY_LABEL, 2, Fraction(1))
    with pytest.raises(ValueError, match="expected no tie"):
        kept_groups(Groups((3, 3), ((3,), (3,))), 1)
    with pytest.raises(ValueError, match="counts is for 1 groups; expected 2"):
        Groups((2, 2), ((2,),))
    for counts in ((3,), (0, 2), (1,), ()):
        with pytest.raises(ValueError, match="expected 1 <= count <= rows <= sum"):
            groups.Groups((2,), (counts,))
