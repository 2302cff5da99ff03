"""The checks of the assignment on cosines: messages that fit, and the numbers that its solutions quote."""

import numpy as np
import pytest
import torch
from in_process import functions
from sample_essays import printed, unaccounted

from course_lib import losses
from course_lib.lessons.cosine_orthogonality import checks
from course_lib.lessons.shared.forms import NotYet, plainly
from exercises.cosine_orthogonality import hidden
from exercises.engine import simulate

# One wrong cell for each check that no typical wrong submission loses.
SPOILT = {"test_gradient_unit": "def cosine_gradient(q, k):\n    return np.array(k) / np.linalg.norm(k)"}


MESSAGES = [
    ("gradient_at_any_length", lambda q, k: (np.array(k) / 2 - 0.8 * np.array(q) / 5) / 5, "is not right"),
    ("gradient_at_unit_length", lambda q, k: np.array(k) / np.linalg.norm(k), "moving outward does not change"),
    ("gradient_at_unit_length", lambda q, k: q[:1], "a list of numbers"),
    ("gradient_at_unit_length", lambda q, k: [float("nan")] * len(q), "finite"),
    ("norm_after", lambda n, c, s, lr: n, "to second order the length does"),
    ("norm_after", lambda n, c, s, lr: float(n), "no floats"),
    ("shrinking", lambda: ([0, 0], [1, 0], 1), "not zero"),
    ("shrinking", lambda: ([1, 0], [1, 0, 0], 1), "of the dimension of q"),
    ("shrinking", lambda: 7, "three things"),
    ("longer_than_one", lambda q, keys: [1.0] * len(keys), "must sum to 1"),
]


def test_the_essay_on_cosines_quotes_the_share_of_radial_gradients() -> None:
    users, items = checks.films()
    share = functions(simulate.reference("cosine-orthogonality"))["share_radial"]
    assert share(users, items, 1.0, 0.1, "dot") == pytest.approx(0.9, abs=0.05)  # "nine users in ten"
    assert share(users, items, 1.0, 0.1, "cos") == 0


def test_the_sample_essays_on_cosines_quote_only_numbers_of_the_task_and_the_pages() -> None:
    users, items = checks.films()
    share = functions(simulate.reference("cosine-orthogonality"))["share_radial"]
    radial = [round(100 * share(users, items, tau, 0.1, "dot")) for tau in (0.1, 1, 10)]
    assert share(users, items, 1, 0.1, "cos") == 0
    before = torch.tensor(users).requires_grad_()
    loss = losses.infonce(losses.dot_scores(before, torch.tensor(items)), tau=1.0)
    (slope,) = torch.autograd.grad(loss, before)
    shorter = int(((before - 1e-3 * slope).norm(dim=1) < before.norm(dim=1)).sum())
    page = printed("cosine-orthogonality")
    assert not unaccounted(
        "cosine-orthogonality",
        f"0 for the cosine and {radial[1] / 100} for the dot product (temperature 1, tolerance 0.1)",
        f"Your {radial[1] / 100} counts",
        f"With the cosine not one of the 100 users had a radial part, with the dot product it was {radial[1]} of them"
        " at temperature 1",
        "{}, {} and {} of 100 users at temperatures 0.1, 1 and 10".format(*radial),
        f"at temperature 1 a small step shortens {shorter} users and lengthens {100 - shorter}",
        f"At temperature 1 a small step shortens {shorter} of the 100 users",
        "{:,} of {:,} moves".format(*(int(page[f"biased-{name}"]) for name in ("shorter", "moves"))),
        f"decay ({page['break-decay']} % of the steps in the chapter's table) and Adam ({page['break-adam']} %)",
    )


def test_a_step_that_leaves_exactly_half_counts_however_it_is_rounded() -> None:
    """The task says "at most half". 7 of these 156 steps end a few units of the last place above it."""
    for q in ((3, 4, 5), (5, 12, 13), (8, 15, 17), (1, 0, 1)):
        for n in range(1, 40):
            length = n / 5000
            vector = [-q[0] * length / q[2], q[1] * length / q[2]]
            answer = vector, [q[0], -q[1]], 0.01 * length / 2
            hidden.shrinking(plainly(lambda answer=answer: answer))
    with pytest.raises(NotYet, match="at most half"):
        hidden.shrinking(plainly(lambda: ([-0.002, 0.0], [1.0, 0.0], 0.99e-5)))


def test_an_eigenvector_counts_also_where_numpy_writes_it_with_complex_numbers() -> None:
    """Task 4 by `eig` in place of `svd`: where two eigenvalues near 0 come as a pair, all vectors are complex."""
    gradient = functions(simulate.reference("cosine-orthogonality"))["cosine_gradient"]

    def by_eigenvectors(q: list[float], keys: list[list[float]]) -> np.ndarray:
        gradients = np.array([gradient(q, key) for key in keys])
        values, vectors = np.linalg.eig(gradients @ gradients.T)
        return np.asarray(vectors[:, np.argmax(values.real)].astype(complex))

    hidden.longest(plainly(by_eigenvectors))
