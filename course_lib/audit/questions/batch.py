"""in-batch-bias: what did the batches, or the sampled negatives, optimise?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from course_lib import in_batch
from course_lib.audit.evidence import Evidence, Float
from course_lib.audit.remedies import BACK, LOGQ, POPULAR, WORDS, Effect, by_popularity, weighed
from course_lib.audit.training import BPR, NEGATIVES, SOFTMAX
from course_lib.audit.verdicts import OF_TRIPLES, Answer, Number, Verdict, cannot_tell, judged
from course_lib.interactions import Interactions, TripleLaw
from course_lib.popularity import pull_parts

MISLED = 0.05  # share of the positives whose negative weight is above their positive one: from here on found
CELLS = 20_000
NAME = "in-batch-bias"


@dataclass(frozen=True)
class Served:
    """What `multiply back` and `logQ at serving` change on held-out pairs; empty where it could not be measured.

    effects: logQ at serving, and multiply back. Neither must stay personal to show what the training left out, as the
    repair is another training; they are advised only where they do.
    """

    effects: tuple[Effect, ...] = ()
    sentence: str = ""
    figures: Mapping[str, Number] = field(default_factory=dict)

    @property
    def gains(self) -> bool | None:
        """Whether logQ at serving repairs the lists; None where it was not measured."""
        return self.effects[0].repairs if self.effects else None

    def advised(self, remedy: str) -> bool:
        """Whether it helps and stays personal."""
        return any(effect.remedy == remedy and effect.advisable for effect in self.effects)


def in_batch_bias(evidence: Evidence, repairs: Mapping[str, Effect]) -> Verdict:
    """Found by the expectation of the batch loss (losses of single pairs), or by held-out pairs (softmax, BPR).

    Losses of single pairs: by `in_batch.expected_coefficients`, where MISLED of the positive pairs weigh more as
    negatives than as positives; a fault where popularity given back when serving repairs the lists, else noted. Softmax
    without logQ, and BPR whose negatives are drawn by popularity: where adding temperature log(popularity) to the
    scores repairs the lists. repairs: {BACK: its effect, LOGQ: its effect} and {POPULAR: its effect}, or empty where
    they could not be measured.
    """
    training, pairs, served = evidence.training, evidence.pairs, _served(repairs, evidence)
    if training.loss == SOFTMAX:
        return _of_softmax(evidence, served)
    if training.loss == BPR:
        return _of_triples(evidence, served)
    if training.loss == "als":
        support = f"ALS weighs every pair itself and samples no negatives. {served.sentence}".strip()
        return Verdict(NAME, "fine", support, dict(served.figures))
    if training.loss is None:
        return cannot_tell(NAME, "A table does not show its loss.", "Give --loss and --batch-size (or --training).")
    if training.loss not in in_batch.KINDS:
        why = f"No theorem of the course says what batches do under a loss {training.loss!r}. {served.sentence}".strip()
        needed = "Judge by held-out pairs what popularity given back when serving changes."
        return cannot_tell(NAME, why, needed, dict(served.figures))
    if pairs is None or training.batch_size is None:
        return cannot_tell(NAME, "The weights follow from the batch size and the pairs.", "Give --batch-size, --pairs.")
    if training.batch_size > len(pairs):
        why = f"A batch of {training.batch_size:,} does not fit into {len(pairs):,} pairs."
        return cannot_tell(NAME, why, "Check --batch-size: it counts pairs.")
    return _of_pairs(evidence, training.loss, training.batch_size, pairs, served)


def _served(repairs: Mapping[str, Effect], evidence: Evidence) -> Served:
    if not repairs:
        return Served()
    back, logq, tau = repairs[BACK], repairs[LOGQ], evidence.training.temperature or 1.0
    figures: dict[str, Number] = {name: getattr(logq, name) for name in ("before", "after", "low", "high", "users")}
    figures |= {"multiplied": back.after, "multiplied_low": back.low, "multiplied_high": back.high}
    added, multiplied = (
        f"by {effect.difference:+.4f} (95 % interval {effect.low:+.4f} to {effect.high:+.4f})"
        for effect in (logq, back)
    )
    sentence = (
        f"For {logq.users:,} users, NDCG@{evidence.k} on held-out pairs moves from {logq.before:.4f} {added} where "
        f"{'' if tau == 1 else f'{tau:g} x '}log(popularity) is added to the scores and {multiplied} where popularity "
        "multiplies them."
    )
    if POPULAR in repairs:
        sentence += f" The most popular items have {repairs[POPULAR].after:.4f}."
        figures |= {"most_popular": repairs[POPULAR].after}
    return Served((logq, back), sentence, figures)


def _of_pairs(evidence: Evidence, kind: str, batch_size: int, pairs: Interactions, served: Served) -> Verdict:
    """Weights as multiples of those of the loss over all cells, 1/(mn) each."""
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
    found = misled >= MISLED
    support = (
        f"In expectation, a batch of {batch_size:,} under {kind!r} weighs a negative pair {rare:.3g} times (rare, "
        f"5 % quantile) to {common:.3g} times (common, 95 %) what the loss over all pairs gives it, and "
        f"{100 * misled:.1f} % of the positive pairs weigh more as negatives than as positives."
    )
    if kind == "in_batch":
        threshold = float(in_batch.misclassification_threshold(batch_size, len(pairs)))
        figures["threshold"] = threshold
        support += f" That is so from a pair popularity of {threshold:,.0f} on."
    answer = weighed(found, served.effects)
    advice, support = _advice(answer, served) if found else "", f"{support} {served.sentence}".strip()
    title = "Weight of a pair as a negative, against the loss over all pairs"
    series = {"weight as a negative": weights}
    picture = by_popularity(title, "popularity of the pair", "multiple of 1/(mn)", popularity, series)
    return Verdict(NAME, answer, support, {**figures, **served.figures}, advice, (picture,))


def _advice(answer: Answer, served: Served) -> str:
    """Another training where held-out pairs show the bias; when serving, only what helps and stays personal."""
    serving = ", or ".join(WORDS[remedy] for remedy in (BACK, LOGQ) if served.advised(remedy))
    if answer == "fault":
        advice = "Divide each negative by the popularity of its pair (in_batch.batch_loss, kind 'unbiased')."
        return f"{advice} Or {serving}." if serving else advice
    if not served.effects:
        return "Give users and held-out pairs: they show whether popularity is missing from the scores."
    little = f", though it helps to {serving}" if serving else ""
    return f"Held-out pairs show little of it: popularity given back when serving does not repair the lists{little}."


def _of_softmax(evidence: Evidence, served: Served) -> Verdict:
    figures: dict[str, Number] = {"batch_size": evidence.training.batch_size, **served.figures}
    if evidence.training.logq:
        support = (
            "logQ takes the sampling probability of the items out of the softmax. It is no unbiased loss: the positive "
            "is always in the denominator."
        )
        return Verdict(NAME, "fine", f"{support} {served.sentence}".strip(), figures)
    why = "Without logQ, the best score is log(chance of the pair) less log(popularity of the item)."
    if evidence.counts is not None:
        figures["spread_of_log_popularity"] = float(np.log(np.maximum(evidence.counts, 1)).std())
        why += f" Here log(popularity) has a standard deviation of {figures['spread_of_log_popularity']:.2f}."
    if not evidence.on_sphere:
        why += (
            " The scores here are dot products: if the training compared cosines, audit rows divided by their lengths."
        )
    if served.gains is None or evidence.training.temperature is None:
        return cannot_tell(NAME, why, "Give users, pairs, held-out pairs and the temperature to measure it.", figures)
    advice = _instead("Train with logQ", served) if served.gains else ""
    return Verdict(NAME, judged(served.gains), f"{served.sentence} {why}", figures, advice)


def _of_triples(evidence: Evidence, served: Served) -> Verdict:
    """By `popularity.pull_parts`, and where negatives are drawn by popularity, by held-out pairs."""
    pairs, negatives = evidence.pairs, evidence.training.negatives
    if pairs is None or negatives is None:
        needed = f"Give --pairs, and --negatives: {', '.join(NEGATIVES)}."
        why = "What BPR's negatives did follows from their law and the pairs."
        return cannot_tell(NAME, why, needed, asked=OF_TRIPLES)
    law = NEGATIVES[negatives]
    try:
        as_positive, as_negative = expected_roles(pairs, law)
    except ValueError as problem:
        why = f"Under this law a pass cannot be drawn: {problem}."
        return cannot_tell(NAME, why, "Check --negatives and --pairs.", asked=OF_TRIPLES)
    popularity = pairs.col_counts.astype(np.float64)
    spread = float(np.std(as_positive - as_negative) / np.std(popularity)) if np.ptp(popularity) else None
    pushed = float((as_negative > as_positive * (1 + 1e-9)).mean())
    figures: dict[str, Number] = {
        "pushed": pushed,
        "spread_of_net_pull": spread,
        "by_popularity": int(law.negatives == "popularity"),
        **served.figures,
    }
    support = (
        f"In an expected pass of BPR with negatives {negatives!r}, {100 * pushed:.0f} % of the items are "
        "more often a negative than a positive"
    )
    if spread is not None:
        support += f", and positives less negatives vary {spread:.2f} times as much as popularity"
    support += (
        ". Negatives drawn by popularity leave in the scores how much more an item is liked than its popularity says."
        if law.negatives == "popularity"
        else ". Uniform negatives take no popularity out of the scores."
    )
    series = {"as positive": as_positive, "as negative": as_negative}
    title = "How often an item is a positive, and a negative, in an expected pass"
    picture = by_popularity(title, "popularity of the item", "times", popularity, series)
    if law.negatives == "popularity" and served.gains is None:
        needed = "Give held-out pairs: they show whether log(popularity) is missing from the scores."
        return cannot_tell(NAME, support, needed, figures, (picture,), OF_TRIPLES)
    fault = law.negatives == "popularity" and bool(served.gains)
    advice = _instead("Draw negatives uniformly", served) if fault else ""
    said = (served.sentence, support) if fault else (support, served.sentence)  # what decides comes first
    support = " ".join(said).strip()
    return Verdict(NAME, judged(fault), support, figures, advice, (picture,), OF_TRIPLES)


def _instead(training: str, served: Served) -> str:
    """What to train, or to serve where that was measured to help and stays personal."""
    if served.advised(LOGQ):
        return f"{training}, or {WORDS[LOGQ]}."
    return (
        f"{training}, and compare the new lists with the most popular items: lists to which popularity is given back "
        "when serving do not stay personal here, or do not gain enough."
    )


def expected_roles(pairs: Interactions, law: TripleLaw) -> tuple[Float, Float]:
    """`popularity.expected_roles` of a large data set: each (n,), from the sparse labels of the users with a pair."""
    labels = pairs.matrix[np.flatnonzero(pairs.row_counts)].astype(np.float64)
    parts = pull_parts(labels, law)
    return labels.T @ parts.plain, parts.chance * (parts.pushed.sum() - labels.T @ parts.owned)
