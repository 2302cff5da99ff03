"""popularity-lengths: do the lengths of the items follow popularity?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from course_lib import gauge, popularity
from course_lib.audit.evidence import (
    CANDIDATES,
    FEWEST_ITEMS,
    SPHERE_TOLERANCE,
    AnyArray,
    Evidence,
    Float,
    part_of,
    uneven,
)
from course_lib.audit.remedies import DIVIDE, NORMALISE, WORDS, Effect, by_popularity, weighed
from course_lib.audit.verdicts import Number, Verdict, cannot_tell

CORRELATION, SLOPE = 0.25, 0.02  # of log length and log count: from here on found, if the slope's interval is off 0
FAR = 0.25  # the slope of the quartic law far beyond its crossover; 0 before it
RESAMPLES = 200
HEAD, LISTS = 0.01, 500  # the most popular items, and the users for whom lists are made
LONGER = "A dot product ranks long items higher, whoever asks."
SHORTER = "Popular items are shorter, and a dot product ranks short items lower, whoever asks."


def popularity_lengths(evidence: Evidence, measured: Sequence[Effect] = ()) -> Verdict:
    """Found where log length and log count correlate by CORRELATION and the interval of the slope leaves out 0.

    Dot products that learn from pairs ask for it, so it is a fault only where to even the lengths out is advised, and
    repairs the lists; else it is noted (`remedies.weighed`).
    The slope is that of `popularity.log_log_slope`, over the items with a training pair; its 95 % interval is that of
    the bootstrap over items. Where there are users and pairs: what the lists are made of (`list_shares`), too.
    measured: what each remedy changes on held-out pairs; only what helps there and stays personal is advised.
    """
    name = "popularity-lengths"
    shares, lists = list_shares(evidence), ""
    if shares:
        lists = (
            f" In lists of {evidence.k}, the 1 % most popular items hold {100 * shares['head_by_dot']:.1f} % of the "
            f"places by dot product, {100 * shares['head_by_cosine']:.1f} % by cosine, and by chance "
            f"{100 * shares['head_by_chance']:.1f} %; without the items' part along the popularity direction, "
            f"{100 * shares['kept_without_direction']:.0f} % of a list stays."
        )
    if evidence.on_sphere:
        figures: dict[str, Number] = {"unevenness": evidence.unevenness, **shares}
        support = f"All items have one length, so lengths know nothing of popularity.{lists}"
        return Verdict(name, "fine", support, figures)
    if evidence.counts is None:
        return cannot_tell(name, "The items have different lengths, and no counts were given.", "Give counts or pairs.")
    trained = np.flatnonzero(evidence.counts > 0)
    if len(trained) < FEWEST_ITEMS or np.ptp(evidence.counts[trained]) == 0:
        why = f"{len(trained)} items have a training pair, or all have the same count."
        return cannot_tell(name, why, f"A slope needs {FEWEST_ITEMS} items with different counts.")
    lengths = evidence.norms[trained]
    if uneven(lengths) <= SPHERE_TOLERANCE:
        support = (
            f"The {len(trained):,} items with a training pair have one length, so lengths know nothing of how popular "
            f"these are; not all of the {len(evidence.items) - len(trained):,} others have that length.{lists}"
        )
        return Verdict(name, "fine", support, {"items": len(trained), **shares})
    rng = evidence.rng(name)
    some = trained if len(trained) <= CANDIDATES else rng.choice(trained, CANDIDATES, replace=False)
    norms, counts = evidence.norms[some], evidence.counts[some]
    slope = float(popularity.log_log_slope(norms, counts))
    low, high = slope_interval(norms, counts, rng)
    correlation = float(popularity.pearson(np.log(norms), np.log(counts)))
    found = abs(correlation) >= CORRELATION and abs(slope) >= SLOPE and not low <= 0 <= high
    evened = _evened(slope, measured)
    figures = {"slope": slope, "slope_low": low, "slope_high": high, "correlation": correlation, "items": len(some)}
    figures |= shares
    if evened:
        best = max(evened, key=lambda effect: effect.difference)
        figures |= {name: getattr(best, name) for name in ("before", "after", "low", "high")}
    support = (
        f"Over {len(some):,} items, log length goes with log count with a slope of {slope:.3f} "
        f"(95 % interval {low:.3f} to {high:.3f}) and a correlation of the logarithms of {correlation:.2f}. "
        f"A training by cosines, whose lengths no loss asks for, gives 0 before the crossover of the quartic law and "
        f"{FAR} far beyond it: that alone {'cannot' if low > FAR or high < 0 else 'can'} explain this slope.{lists}"
    )
    answer = weighed(found, [effect for effect in evened if effect.advisable])
    advice = _advice(slope, evened) if found else ""
    title = "Length and popularity, in ten groups of items"
    picture = by_popularity(title, "median count", "length", counts, {"median length": norms})
    return Verdict(name, answer, support, figures, advice, (picture,))


def _evened(slope: float, measured: Sequence[Effect]) -> list[Effect]:
    """Of the remedies those that even the lengths out: to divide widens a negative slope."""
    return [effect for effect in measured if effect.remedy == NORMALISE or (effect.remedy == DIVIDE and slope > 0)]


def _advice(slope: float, evened: Sequence[Effect]) -> str:
    """Only what helps on held-out pairs and stays personal is advised."""
    start = f"{LONGER if slope > 0 else SHORTER} Decide whether you want that"
    warning = "" if slope > 0 else " Do not divide by a power of the counts: that widens the difference."
    if not evened:
        return f"{start}, and measure on held-out pairs what even lengths change before you serve them.{warning}"
    if advised := [WORDS[effect.remedy] for effect in evened if effect.advisable]:
        return f"{start}: {'; or '.join(advised)}, which helps on held-out pairs here.{warning}"
    if any(effect.helps for effect in evened):
        return f"{start}: even lengths help on held-out pairs here, but the lists do not stay personal.{warning}"
    return f"{start}; to even the lengths out does not surely help on held-out pairs here.{warning}"


def slope_interval(norms: Float, counts: Float, rng: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of `popularity.log_log_slope`, by the bootstrap over items."""
    slopes = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(norms), len(norms))
        if np.ptp(counts[drawn]):
            slopes.append(float(popularity.log_log_slope(norms[drawn], counts[drawn])))
    low, high = np.quantile(slopes, [0.025, 0.975])
    return float(low), float(high)


def list_shares(evidence: Evidence) -> dict[str, float]:
    """What the first k places are made of, over LISTS users with a training pair; {} without users and pairs.

    head_by_dot, head_by_cosine, head_by_chance: share of the HEAD most popular items in the lists by dot product, by
    cosine, and in lists drawn at random from what a user does not know. kept_without_direction: share of the list by
    dot product that stays when the items lose their component along the popularity direction.
    """
    if evidence.users is None or evidence.pairs is None or evidence.row_axis is None:
        return {}
    able = np.flatnonzero(evidence.pairs.row_counts)
    chosen = evidence.rng("lists").choice(able, min(LISTS, len(able)), replace=False)
    known, users, counts = part_of(evidence.pairs, chosen), evidence.users[chosen], evidence.pairs.col_counts
    items = evidence.items.astype(users.dtype, copy=False)
    along = np.asarray(popularity.popularity_direction(items, counts), users.dtype)
    tables: dict[str, Callable[[], AnyArray]] = {  # one at a time
        "dot": lambda: items,
        "cosine": lambda: evidence.unit.astype(users.dtype, copy=False),
        "rest": lambda: items - np.outer(items @ along, along),
    }
    tops = {name: evidence.lists(users, table(), known) for name, table in tables.items()}
    return {
        **{f"head_by_{name}": popularity.top_share(tops[name], counts, HEAD) for name in ("dot", "cosine")},
        "head_by_chance": popularity.chance_share(evidence.pairs, HEAD),
        "kept_without_direction": float(gauge.neighbour_overlap(tops["dot"], tops["rest"]).mean()),
    }
