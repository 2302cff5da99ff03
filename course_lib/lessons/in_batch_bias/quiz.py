"""What is right in the quiz "in-batch-bias": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from course_lib import in_batch, losses
from course_lib.arrays import exact
from course_lib.lessons.in_batch_bias import broken
from course_lib.lessons.in_batch_bias.enumeration import SMALL_LABELS, batches, scattered_weights


def coefficient() -> dict[str, bool]:
    """A user with 4 films, a film with 6 fans, 101 positives in all, batches of 11: the weight of l- on their pair."""
    labels = _labels_around_one_pair(films=4, fans=6, n_positives=101)
    _, push = in_batch.expected_weights("in_batch", labels=exact(labels), batch_size=11)
    weight = push[0, 0] * labels.size
    answers = {"zero": 0, "without-own": Fraction(23, 10), "with-own": Fraction(24, 10), "no-balance": 23}
    return {name: weight == value for name, value in answers.items()}


def bigger_batch() -> dict[str, bool]:
    """Batches of 32 and of 1024 out of 10001 positives."""
    n_positives, small, large = 10001, 32, 1024
    pulls = [_weights_of_a_positive("in_batch", 500, s, n_positives) for s in (small, large)]
    relative = [push / pull for pull, push in pulls]
    ratios = [
        _weight_of_a_negative(1000, s, n_positives) / _weight_of_a_negative(10, s, n_positives) for s in (small, large)
    ]
    thresholds = [in_batch.misclassification_threshold(s, Fraction(n_positives)) for s in (small, large)]
    at_most = [_weight_of_a_negative(pop, n_positives, n_positives) for pop in (1, 10, 1000)]
    return {
        "harder": relative[1] > relative[0],
        "bias-fades": len(set(at_most)) == 1,
        "same-ratio": ratios[0] == ratios[1],
        "threshold-up": thresholds[1] > thresholds[0],
    }


def repair_one_pair() -> dict[str, bool]:
    """A positive of popularity 20 * 6 under the logistic loss, batches of 101 out of 10001: what lifts its score."""
    n_positives, pop = 10001, 120
    assert _best_score("in_batch", pop, 101, n_positives) < 0
    return {
        "smaller": _best_score("in_batch", pop, 51, n_positives) > 0,
        "larger": _best_score("in_batch", pop, 1001, n_positives) > 0,
        "louder": _best_score("in_batch", pop, 101, n_positives, factor=10) > 0,
        "more-fans": _best_score("in_batch", 20 * 12, 101, n_positives) > 0,
        "unbiased": _best_score("unbiased", pop, 101, n_positives) > 0,
    }


def two_unbiased_losses() -> dict[str, bool]:
    """The loss (17) and the masked loss on the small label matrices of the proofs."""
    moments = [_moments(labels, scores) for labels in SMALL_LABELS for scores in _some_scores(labels)]
    assert all(masked[0] == unbiased[0] for masked, unbiased in moments)
    return {
        "variances-differ": any(masked[1] != unbiased[1] for masked, unbiased in moments),
        "comes-to-rest": not _moves_at_a_fit("masked") and _moves_at_a_fit("unbiased"),
        "always-quieter": all(masked[1] <= unbiased[1] for masked, unbiased in moments),
        "bounded": broken.unbounded_below(1000.0).actual >= 0,
    }


def cold_film() -> dict[str, bool]:
    """An empty column beside a label matrix: which law of negatives ever weighs its l-."""
    labels = np.pad(SMALL_LABELS[4], ((0, 0), (0, 1)))
    n_positives = int(labels.sum())
    sizes = range(2, n_positives + 1)

    def shown(kind: str) -> bool:
        return any(
            (scattered_weights(kind, labels, batch)[1][:, -1] != 0).any() for s in sizes for batch in batches(labels, s)
        )

    seen = [in_batch.observation_probability(2, 0, batch_size=s, n_positives=n_positives) for s in sizes]
    uniform = Fraction(1, labels.size)  # the chance of each pair in one uniform draw
    return {
        "larger": shown("in_batch"),
        "inverse": any(probability > 0 for probability in seen),
        "masked": shown("masked"),
        "uniform": uniform > 0,
    }


def serving() -> dict[str, bool]:
    """Ranking by a changed score, against ranking by Z = R S C, for the optimum S of rank 2 on random labels."""
    rng = np.random.default_rng(0)
    labels = np.eye(9, 7) + (rng.random((9, 7)) < 0.4) > 0.5
    labels[:, 0] = labels[7:, :2] = True  # one hit; and no row stays empty
    r, c = labels.sum(1, keepdims=True), labels.sum(0)
    left, middle, right = np.linalg.svd(labels / np.sqrt(r * c), full_matrices=False)
    scores = (left[:, :2] * middle[:2]) @ right[:2] / np.sqrt(r * c)
    wanted = np.argsort(-scores * in_batch.pair_popularity(r[:, 0], c), axis=1)

    def same(changed: np.ndarray) -> bool:
        return bool((np.argsort(-changed, axis=1) == wanted).all())

    return {
        "times-c": same(scores * c),
        "times-both": same(scores * (r * c)),
        "divide": same(scores / c),
        "log": same(scores - np.log(c)),
    }


# ---- helpers


def _labels_around_one_pair(*, films: int, fans: int, n_positives: int) -> np.ndarray:
    """The pair (0, 0) with `films` positives in its row and `fans` in its column; every other positive stands alone."""
    alone = n_positives - films - fans + 1
    labels = np.zeros((fans + alone, films + alone), dtype=int)
    labels[0, :films] = labels[:fans, 0] = 1
    labels[np.arange(fans, fans + alone), np.arange(films, films + alone)] = 1
    return labels


def _expected(kind: str, batch_size: int, n_positives: int) -> in_batch.Coefficients:
    """The coefficients of the expected objective, in units of 1/(mn)."""
    side = n_positives  # any frame that holds them; the unit cancels it
    found = in_batch.expected_coefficients(kind, batch_size=batch_size, n_positives=n_positives, shape=(side, side))
    unit = Fraction(side * side)
    return in_batch.Coefficients(
        found.positive * unit, found.grid * unit, found.power, found.constant * unit, found.inverse * unit
    )


def _weights_of_a_positive(kind: str, pop: int, batch_size: int, n_positives: int) -> tuple[Fraction, Fraction]:
    """The expected weights of l+ and of l- on a positive pair of popularity `pop`."""
    found = _expected(kind, batch_size, n_positives)
    return found.positive, found.grid * Fraction(pop) ** found.power + found.constant + found.inverse / pop


def _weight_of_a_negative(pop: int, batch_size: int, n_positives: int) -> Fraction:
    """The expected weight that in-batch sampling gives l- on a negative pair of popularity `pop`."""
    found = _expected("in_batch", batch_size, n_positives)
    return Fraction(found.grid * Fraction(pop) ** found.power)


def _best_score(kind: str, pop: int, batch_size: int, n_positives: int, factor: int = 1) -> float:
    """The minimiser of factor * (w+ l+ + w- l-) over the score, logistic loss: log(w+ / w-)."""
    pull, push = (factor * weight for weight in _weights_of_a_positive(kind, pop, batch_size, n_positives))
    return math.inf if push == 0 else math.log(pull / push)


def _some_scores(labels: np.ndarray) -> list[np.ndarray]:
    """Score matrices of fractions: equal scores, a fit, and a mixture."""
    equal = exact(np.ones(labels.shape, dtype=int)) * Fraction(1, 2)
    slanted = exact(np.arange(labels.size).reshape(labels.shape)) * Fraction(1, 7)
    return [equal, exact(labels), slanted]


def _moments(labels: np.ndarray, scores: np.ndarray) -> list[tuple[Fraction, Fraction]]:
    """Exact mean and variance of the masked loss and of (17), batches of two, square loss."""
    pos_loss, neg_loss = losses.pair_losses("square", scores)
    case = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": exact(labels), "batch_size": 2}
    return [in_batch.exact_moments(kind, **case) for kind in ("masked", "unbiased")]


def _moves_at_a_fit(kind: str) -> bool:
    """Whether some batch has a gradient at scores = labels, square loss: there l- alone has one, on positives."""
    return any(
        (scattered_weights(kind, labels, batch)[1] * labels != 0).any()
        for labels in SMALL_LABELS
        for batch in batches(labels, 2)
    )
