"""in-batch-bias: what did the batches optimise?"""

from __future__ import annotations

import numpy as np

from course_lib.audit.evidence import Evidence, Float
from course_lib.audit.remedies import Effect
from course_lib.audit.training import SOFTMAX
from course_lib.audit.verdicts import Number, Picture, Verdict, cannot_tell, judged
from course_lib.data.interactions import Interactions
from course_lib.maths import in_batch

MISLED = 0.05  # share of the positives whose negative weight is above their positive one: from here on a fault
GAIN = 0.05  # of multiplying back, on held-out pairs, with an interval off 0: from here on a fault
CELLS, BINS = 20_000, 10


def in_batch_bias(evidence: Evidence, back: Effect | None) -> Verdict:
    """A fault by the expectation of the batch loss (losses of single pairs), or by held-out pairs (softmax).

    Losses of single pairs: by `in_batch.expected_coefficients`, where MISLED of the positive pairs weigh more as
    negatives than as positives. Softmax without logQ: where adding temperature log(popularity) to the scores lifts
    NDCG by GAIN. back: that effect, where it could be measured.
    """
    name = "in-batch-bias"
    training, pairs = evidence.training, evidence.pairs
    if training.loss is None:
        return cannot_tell(name, "A table does not show its loss.", "Give --loss and --batch-size (or --training).")
    if training.loss == SOFTMAX:
        return _of_softmax(evidence, back)
    if training.loss not in in_batch.KINDS:
        return Verdict(name, "fine", f"{training.loss} takes no negatives from the batch.", {})
    if pairs is None or training.batch_size is None:
        return cannot_tell(name, "The weights follow from the batch size and the pairs.", "Give --batch-size, --pairs.")
    if training.batch_size > len(pairs):
        why = f"A batch of {training.batch_size:,} does not fit into {len(pairs):,} pairs."
        return cannot_tell(name, why, "Check --batch-size: it counts pairs.")
    return _of_pairs(evidence, training.loss, training.batch_size, pairs)


def _of_pairs(evidence: Evidence, kind: str, batch_size: int, pairs: Interactions) -> Verdict:
    """Weights as multiples of those of the loss over all cells, 1/(mn) each."""
    name = "in-batch-bias"
    m, n = pairs.shape
    expected = in_batch.expected_coefficients(kind, batch_size=batch_size, n_positives=len(pairs), shape=(m, n))
    rows, columns = pairs.row_counts.astype(np.float64), pairs.col_counts.astype(np.float64)
    own_popularity = rows[pairs.users] * columns[pairs.items]
    grid = float(expected.grid) * m * n
    own = grid * own_popularity**expected.power
    further = expected.own_weights(own_popularity)
    own = own if further is None else own + np.asarray(further, np.float64) * m * n
    misled = float((own > float(expected.positive) * m * n).mean())
    rng = evidence.rng("cells")
    used = np.flatnonzero(rows), np.flatnonzero(columns)
    popularity = np.sort(rows[rng.choice(used[0], CELLS)] * columns[rng.choice(used[1], CELLS)])
    weights = grid * popularity**expected.power
    rare, common = (float(np.quantile(weights, share)) for share in (0.05, 0.95))
    figures: dict[str, Number] = {
        "misled": misled,
        "weight_of_rare_pairs": rare,
        "weight_of_common_pairs": common,
        "batch_size": batch_size,
        "positives": len(pairs),
    }
    fault = misled >= MISLED
    support = (
        f"In expectation, a batch of {batch_size:,} under {kind!r} weighs a negative pair {_times(rare)} (rare, 5 % "
        f"quantile) to {_times(common)} (common, 95 %) what the loss over all pairs gives it, and {100 * misled:.1f} % "
        "of the positive pairs weigh more as negatives than as positives."
    )
    if kind == "in_batch":
        threshold = float(in_batch.misclassification_threshold(batch_size, len(pairs)))
        figures["threshold"] = threshold
        support += f" That is so from a pair popularity of {threshold:,.0f} on."
    advice = (
        "Divide each negative by the popularity of its pair (in_batch.batch_loss, kind 'unbiased'), or multiply the "
        "scores by the item's popularity when serving (square loss)."
        if fault
        else ""
    )
    return Verdict(name, judged(fault), support, figures, advice, (_picture(popularity, weights),))


def _picture(popularity: Float, weights: Float) -> Picture:
    groups = np.array_split(np.arange(len(popularity)), BINS)
    columns = {
        "pair popularity": [float(np.median(popularity[ids])) for ids in groups],
        "weight as a negative": [float(np.median(weights[ids])) for ids in groups],
    }
    title = "Weight of a pair as a negative, against the loss over all pairs"
    return Picture(title, "line", "popularity of the pair", "multiple of 1/(mn)", columns, log_x=True)


def _of_softmax(evidence: Evidence, back: Effect | None) -> Verdict:
    name = "in-batch-bias"
    if evidence.training.logq:
        support = (
            "logQ takes the sampling probability of the items out of the softmax. It is no unbiased loss: the positive "
            "is always in the denominator."
        )
        return Verdict(name, "fine", support, {})
    figures: dict[str, Number] = {"batch_size": evidence.training.batch_size}
    why = "Without logQ, the best score is log(chance of the pair) less log(popularity of the item)."
    if evidence.counts is not None:
        figures["spread_of_log_popularity"] = float(np.log(np.maximum(evidence.counts, 1)).std())
        why += f" Here log(popularity) has a standard deviation of {figures['spread_of_log_popularity']:.2f}."
    if back is None or evidence.training.temperature is None:
        return cannot_tell(name, why, "Give users, pairs, held-out pairs and the temperature to measure it.", figures)
    figures |= {"before": back.before, "after": back.after, "low": back.low, "high": back.high, "users": back.users}
    fault = back.low > 0 and back.gain >= GAIN
    support = (
        f"{why} Adding it back moves NDCG@{evidence.k} on held-out pairs from {back.before:.4f} to {back.after:.4f} "
        f"(difference {back.difference:+.4f}, 95 % interval {back.low:+.4f} to {back.high:+.4f}, {back.users:,} users)."
    )
    advice = "Train with logQ, or add temperature x log(popularity) to the scores when serving." if fault else ""
    return Verdict(name, judged(fault), support, figures, advice)


def _times(weight: float) -> str:
    return f"{weight:.3g} times"
