"""popularity-direction, shifted-centre, ddc-gain: what the items' directions share, and to correct users along it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from course_lib import popularity
from course_lib.audit.evidence import FEWEST_ITEMS, Axis, Evidence
from course_lib.audit.remedies import CORRECTION, RIDGE, WORDS, Correction, Effect, beside, drawn, weighed
from course_lib.audit.training import BPR
from course_lib.audit.verdicts import Answer, Number, Picture, Verdict, cannot_tell

CORRELATION, CHANCES = 0.3, 4.0  # cross-fitted, and in units of what chance gives: from here on noted
CENTRE = 0.25  # length of the mean direction: from here on noted
BINS = 10


def popularity_direction(evidence: Evidence, shifts: Sequence[Effect] = ()) -> Verdict:
    """Noted where a direction found on other items predicts the count by CORRELATION, and CHANCES times chance.

    A description, never a fault: losses that learn from pairs ask for it (thm-bpr-linearised). Of the rows (what a dot
    product sees) or of their directions (what a cosine sees), by `popularity.cross_fitted_correlation`. shifts: what
    moving users along it changes on held-out pairs, where measured.
    """
    name = "popularity-direction"
    if not evidence.counts_vary or len(evidence.items) < FEWEST_ITEMS:
        why = (
            "There are no counts that differ." if not evidence.counts_vary else f"{len(evidence.items)} items are few."
        )
        return cannot_tell(name, why, f"Give counts or pairs, for at least {FEWEST_ITEMS} items.")
    rows, unit = evidence.row_axis, evidence.unit_axis
    if rows is None or unit is None:
        return cannot_tell(
            name, "The most and the least popular items have one mean.", "There is no direction to test."
        )
    there = _found(rows) or _found(unit)
    figures: dict[str, Number] = {
        "correlation": rows.correlation,
        "correlation_of_directions": unit.correlation,
        "chance": max(rows.chance, unit.chance),
        "items": rows.items,
    }
    support = (
        f"A direction found on other items predicts the count with a correlation of {rows.correlation:.2f}, for the "
        f"items' directions alone {unit.correlation:.2f} (by chance 0, give or take {figures['chance']:.2f}). "
        "Cosines see it as well as dot products do."
    )
    support += " Most models that are trained on pairs have such a direction." if there else ""
    advice = _advice(evidence.k, shifts) if there else ""
    answer: Answer = "noted" if there else "fine"
    return Verdict(name, answer, support, figures, advice, (_along_the_direction(evidence),))


def _advice(k: int, shifts: Sequence[Effect]) -> str:
    """Users are to be moved along the direction only where that was measured to help."""
    known = "Items that lie near each other have similar counts; no cosine and no normalising takes that out."
    if not shifts:
        return f"{known} Before you shift users along this direction, measure on held-out pairs what that changes."
    best = max(shifts, key=lambda effect: effect.difference)
    if best.advisable:
        return f"{known} On held-out pairs here, {best.remedy} moves NDCG@{k} by {best.difference:+.4f}."
    if best.helps:
        return (
            f"{known} To move users along this direction helps on held-out pairs, but the lists do not stay personal."
        )
    return f"{known} To move users along this direction does not help on held-out pairs here."


def _found(axis: Axis) -> bool:
    return axis.correlation >= CORRELATION and axis.correlation >= CHANCES * axis.chance


def _along_the_direction(evidence: Evidence) -> Picture:
    """Mean count of the items in groups by their place along a direction that the other half of the items gave."""
    assert evidence.counts is not None
    items, counts = evidence.unit, evidence.counts
    if len(items) > 100_000:
        some = evidence.rng("drawn").choice(len(items), 100_000, replace=False)
        items, counts = items[some], counts[some]
    half = evidence.rng("halves").permutation(len(items)) % 2 == 0
    place = items[half] @ popularity.popularity_direction(items[~half], counts[~half])
    groups = np.array_split(np.argsort(place, kind="stable"), BINS)
    columns = {
        "place": [float(np.mean(place[ids])) for ids in groups],
        "mean count": [float(np.mean(counts[half][ids])) for ids in groups],
    }
    title = "Popularity along the direction that the other half of the items gave"
    return Picture(title, "line", "place along the direction", "mean count", columns)


def shifted_centre(evidence: Evidence) -> Verdict:
    """Noted where the mean of the items' directions is longer than CENTRE (0: no common part, 1: all the same).

    A description, never a fault: no list by dot product depends on it, and many healthy models have it (`rates.real`).
    """
    name = "shifted-centre"
    n = len(evidence.items)
    if n < FEWEST_ITEMS:
        return cannot_tell(name, f"{n} items are few: their mean is far from 0 by chance.", f"{FEWEST_ITEMS} items.")
    length = float(np.linalg.norm(evidence.unit.mean(axis=0, dtype=np.float64)))
    raw = float(np.linalg.norm(evidence.items.mean(axis=0, dtype=np.float64)) / np.sqrt((evidence.norms**2).mean()))
    cosine = (n * length**2 - 1) / (n - 1)
    chance = 1 / np.sqrt(n)
    figures: dict[str, Number] = {
        "length_of_mean_direction": length,
        "chance": float(chance),
        "mean_cosine": cosine,
        "mean_row_over_rms": raw,
    }
    support = (
        f"The mean of the items' directions has the length {length:.2f} (unrelated directions: {chance:.2f}), so two "
        f"random items have a cosine of {cosine:.2f} on average."
    )
    advice = (
        "If you compare items with each other, subtract the mean item from every item: each user's dot products all "
        "change by the same number, so no list by dot product changes, and cosines lose the part that all items share."
    )
    if evidence.training.loss in (None, BPR):
        advice += " BPR with uniform negatives never moves this mean: it is that of the start."
    far = length >= CENTRE
    return Verdict(name, "noted" if far else "fine", support, figures, advice if far else "", (_cosines(evidence),))


def _cosines(evidence: Evidence) -> Picture:
    """How often two random items have which cosine."""
    rng, n = evidence.rng("pairs of items"), len(evidence.items)
    left, right = rng.integers(0, n, (2, 20_000))
    values = (evidence.unit[left[left != right]] * evidence.unit[right[left != right]]).sum(axis=1)
    shares, edges = np.histogram(values, bins=20, range=(-1, 1))
    columns = {
        "cosine": [float(middle) for middle in (edges[:-1] + edges[1:]) / 2],
        "share of pairs": [float(share) for share in shares / len(values)],
    }
    return Picture("Cosines of random pairs of items", "line", "cosine", "share of pairs", columns)


def ddc_gain(
    evidence: Evidence, found: Correction | None, controls: Sequence[Effect], baselines: Sequence[Effect]
) -> Verdict:
    """A fault where DDC, two numbers for each user, repairs the lists (`remedies.weighed`), and they stay personal.

    Noted where they do not. controls: the other remedies; found: None where it could not be measured; baselines: lists
    that need no tables.
    """
    name = "ddc-gain"
    if found is None:
        why = "Users, training and held-out pairs were not all given, or few users have both, or no correction exists."
        return cannot_tell(name, why, "Give --users, --pairs and --held-out.")
    effect = found.effect
    best = max(controls, key=lambda control: control.difference)
    answer = weighed(effect.repairs, [effect] if effect.personal else [])
    figures: dict[str, Number] = {name: getattr(effect, name) for name in ("before", "after", "low", "high", "users")}
    figures |= {name: getattr(found, name) for name in ("with_minimiser", "pushed_up", "alpha", "beta")}
    figures["best_control"] = best.difference
    support = (
        f"DDC moves NDCG@{evidence.k} on held-out pairs from {effect.before:.4f} to {effect.after:.4f} (difference "
        f"{effect.difference:+.4f}, 95 % interval {effect.low:+.4f} to {effect.high:+.4f}, {effect.users:,} users). "
        f"Its loss has a minimiser for {100 * found.with_minimiser:.0f} % of them (with a ridge of {RIDGE:g}, as here, "
        f"for all); it pushes popular items up for {100 * found.pushed_up:.0f} %. The best simple control "
        f"({best.remedy}): {best.difference:+.4f}. {beside(baselines)}"
    )
    title = "What each remedy changes on held-out pairs, with 95 % intervals"
    picture = drawn(title, evidence.k, [effect, *controls, *baselines])
    advice = _instead(effect, controls) if effect.repairs else ""
    return Verdict(name, answer, support, figures, advice, (picture,))


def _instead(effect: Effect, controls: Sequence[Effect]) -> str:
    """DDC is advised only where it stays personal, and no simpler remedy that does gains as much."""
    reason = "Look for the reason in the training."
    best = max((each for each in controls if each.advisable), key=lambda each: each.difference, default=None)
    if best is not None and best.difference >= effect.difference:
        return f"A simpler remedy gains as much: {WORDS.get(best.remedy, best.remedy)}. {reason}"
    if effect.advisable:
        return f"Two numbers for each user make the tables rank better: {WORDS[CORRECTION]}. {reason}"
    return f"The lists of DDC do not stay personal, or do not gain enough. {reason}"
