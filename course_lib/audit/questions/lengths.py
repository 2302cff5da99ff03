"""popularity-lengths: do the lengths of the items follow popularity?"""

from __future__ import annotations

import numpy as np

from course_lib.audit.evidence import CANDIDATES, FEWEST_ITEMS, Evidence, Float
from course_lib.audit.verdicts import Number, Picture, Verdict, cannot_tell, judged
from course_lib.maths import popularity

CORRELATION, SLOPE = 0.25, 0.02  # of log length and log count: from here on a fault, if the slope's interval is off 0
RESAMPLES, BINS = 200, 10


def popularity_lengths(evidence: Evidence) -> Verdict:
    """A fault where log length and log count correlate by CORRELATION and the interval of the slope leaves out 0.

    The slope is that of `popularity.log_log_slope`, over the items with a training pair; its 95 % interval is that of
    the bootstrap over items. 1/4 is the slope of the quartic law far beyond the crossover.
    """
    name = "popularity-lengths"
    if evidence.on_sphere:
        figures: dict[str, Number] = {"unevenness": evidence.unevenness}
        return Verdict(name, "fine", "All items have one length, so lengths know nothing of popularity.", figures)
    if evidence.counts is None:
        return cannot_tell(name, "The items have different lengths, and no counts were given.", "Give counts or pairs.")
    trained = np.flatnonzero(evidence.counts > 0)
    if len(trained) < FEWEST_ITEMS or np.ptp(evidence.counts[trained]) == 0:
        why = f"{len(trained)} items have a training pair, or all have the same count."
        return cannot_tell(name, why, f"A slope needs {FEWEST_ITEMS} items with different counts.")
    rng = evidence.rng(name)
    some = trained if len(trained) <= CANDIDATES else rng.choice(trained, CANDIDATES, replace=False)
    norms, counts = evidence.norms[some], evidence.counts[some]
    slope = float(popularity.log_log_slope(norms, counts))
    low, high = slope_interval(norms, counts, rng)
    correlation = float(popularity.pearson(np.log(norms), np.log(counts)))
    fault = abs(correlation) >= CORRELATION and abs(slope) >= SLOPE and not low <= 0 <= high
    figures = {"slope": slope, "slope_low": low, "slope_high": high, "correlation": correlation, "items": len(some)}
    support = (
        f"Over {len(some):,} items, log length goes with log count with a slope of {slope:.3f} "
        f"(95 % interval {low:.3f} to {high:.3f}) and a correlation of {correlation:.2f}. "
        "The quartic law gives 0 before its crossover and 0.25 far beyond it."
    )
    advice = (
        "A dot product ranks long items higher, whoever asks. Decide whether you want that: normalise the items, "
        "divide them by a power of their counts, or rank by cosine; compare the lists on held-out pairs."
        if fault
        else ""
    )
    return Verdict(name, judged(fault), support, figures, advice, (_picture(norms, counts),))


def slope_interval(norms: Float, counts: Float, rng: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of `popularity.log_log_slope`, by the bootstrap over items."""
    slopes = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(norms), len(norms))
        if np.ptp(counts[drawn]):
            slopes.append(float(popularity.log_log_slope(norms[drawn], counts[drawn])))
    low, high = np.quantile(slopes, [0.025, 0.975])
    return float(low), float(high)


def _picture(norms: Float, counts: Float) -> Picture:
    """The median length of the items, in groups of like popularity."""
    groups = [ids for ids in np.array_split(np.argsort(counts, kind="stable"), BINS) if len(ids)]
    columns = {
        "count": [float(np.median(counts[ids])) for ids in groups],
        "median length": [float(np.median(norms[ids])) for ids in groups],
    }
    return Picture(
        "Length and popularity, in ten groups of items", "line", "median count", "length", columns, log_x=True
    )
