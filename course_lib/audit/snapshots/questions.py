"""The verdicts on two snapshots. The null is training again: the same data, another seed.

Thresholds were settled on six kinds of model on MovieTweetings (cosine softmax, with and without logQ, longer, BPR,
ALS, tables that were not normalised; two pairs of seeds each): two seeds of one model kept 28 to 42 % of the neighbours
and 20 to 50 % of the lists, moved the centre by at most .02, the lengths by a slope of at most .006 and a spread of at
most .09, and NDCG by up to 17 % (its standard deviation over seeds is 3 to 10 % of it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from course_lib.audit import remedies
from course_lib.audit.evidence import SPHERE_TOLERANCE, Evidence, Float
from course_lib.audit.questions.belonging import NAME as ROWS
from course_lib.audit.remedies import Bench
from course_lib.audit.smaller import GROUPS
from course_lib.audit.snapshots.change import Change, Lengths
from course_lib.audit.verdicts import Answer, Number, Verdict, cannot_tell, decided, judged

LOST, KEPT = 0.10, 0.80  # shares without a second training: below LOST no two seeds of ours were, above KEPT none
AGAIN = 0.85  # of what a second training keeps: significantly less is a fault
FEWEST_LISTS = 20  # lists of a band, below which nothing is said about it
SLOPE, SPREAD, CENTRE = 0.05, 0.30, 0.10  # of log ratio on log count; of log ratio; distance of the mean directions
NOISE = 2.0  # times what a second training moves, where that is more
DROP, UNSURE = 0.20, 0.10  # of NDCG on held-out pairs, with an interval off 0: a fault; too near to seeds to tell
NEAR = 0.25  # of the number that decides a fault: from here on it has moved
GAIN = "gain"  # from "before" to "after", with its interval "low" to "high"
DECIDES = {  # the figure of a verdict on one model that its threshold asks, or the larger of two
    ROWS: ("won",),
    "popularity-lengths": (GAIN,),
    "in-batch-bias": (GAIN,),
    "collapsed-rank": ("effective_rank",),
    "duplicated-rows": ("share",),
    "dead-rows": ("share", "user_share"),
    "hubs": ("share",),
    "ddc-gain": (GAIN,),
}
RULES = {  # for each entry of CHANGES: a fault where ...
    "neighbours-changed": (
        f"fewer neighbours are kept than {100 * AGAIN:.0f} % of what a second training keeps, overall or in a band of "
        "popularity (95 % interval)"
    ),
    "lists-changed": f"fewer places of the lists are kept than {100 * AGAIN:.0f} % of what a second training keeps",
    "lengths-drifted": (
        f"the log ratio of lengths has a spread of {SPREAD:g}, or a slope of {SLOPE:g} against log count, or one table "
        "alone is on a sphere; with users only where the scores show it too"
    ),
    "centre-moved": f"the mean direction, rotated, moved by {CENTRE:g}",
    "quality-dropped": (
        f"NDCG on held-out pairs fell by {100 * DROP:.0f} %, and by twice what a second training moves it, with an "
        f"interval below 0; from {100 * UNSURE:.0f} % on, cannot tell"
    ),
    "new-faults": (
        "the audit names a fault in the new model and in no old training, and more than chance moved its number"
    ),
}
NEEDED = (
    "Give a second training of the old model, on the same data with another seed (--again): it says what chance moves."
)


def neighbours_changed(change: Change, again: Change | None, k: int) -> Verdict:
    """By `_kept` over all items and over each band of popularity."""
    name = "neighbours-changed"
    groups = {"all": np.arange(len(change.neighbours))}
    if change.band is not None:
        groups |= {band: np.flatnonzero(change.band == at) for at, band in enumerate(GROUPS)}
        groups = {band: ids for band, ids in groups.items() if len(ids) >= FEWEST_LISTS or band == "all"}
    answers = {
        band: _kept(change.neighbours[ids], None if again is None else again.neighbours[ids])
        for band, ids in groups.items()
    }
    shares = {band: float(change.neighbours[ids].mean()) for band, ids in groups.items()}
    figures: dict[str, Number] = {f"kept_{band}": share for band, share in shares.items()}
    if again is not None:
        figures |= {f"kept_again_{band}": float(again.neighbours[ids].mean()) for band, ids in groups.items()}
    figures |= {
        "moved_by_rotation": change.residual,
        "moved_by_matrix": change.linear,
        "queries": len(change.neighbours),
    }
    support = (
        f"Of the {k} nearest items by cosine the new model keeps {100 * shares['all']:.0f} %"
        + "".join(f", {100 * share:.0f} % for the {band}" for band, share in shares.items() if band != "all")
        + ("" if again is None else f"; a second training of the old one keeps {100 * again.neighbours.mean():.0f} %")
        + f". The best rotation and scale leave {100 * change.residual:.0f} % of the new table's length, "
        f"the best matrix {100 * change.linear:.0f} %."
    )
    return _verdict(name, list(answers.values()), support, figures, _lost_neighbours(change, again))


def lists_changed(change: Change, again: Change | None, k: int) -> Verdict:
    """By `_kept` over users; how much the old users' lists change when the new items are served to them."""
    name = "lists-changed"
    if change.lists is None or change.crossed is None or change.rotated is None:
        return cannot_tell(name, "The user tables were not both given.", "Give users in both snapshots.")
    figures: dict[str, Number] = {
        "kept": float(change.lists.mean()),
        "old_users_with_new_items": float(change.crossed.mean()),
        "after_rotating": float(change.rotated.mean()),
        "users": len(change.lists),
    }
    kept_again = None if again is None else again.lists
    for suffix, each in (("", change), ("_again", again)):
        figures |= {} if each is None else {f"kept{suffix}_{name}": share for name, share in each.by_group.items()}
    if kept_again is not None:
        figures["kept_again"] = float(kept_again.mean())
    groups = ", ".join(f"{name} {100 * share:.0f} %" for name, share in change.by_group.items() if share is not None)
    support = (
        f"Of the top {k} by dot product, {len(change.lists):,} users keep {100 * change.lists.mean():.0f} %"
        + (f" (of places with items by popularity and age: {groups})" if groups else "")
        + ("" if kept_again is None else f" (a second training of the old model: {100 * kept_again.mean():.0f} %)")
        + f". Old users with the new items keep {100 * change.crossed.mean():.0f} %, and "
        f"{100 * change.rotated.mean():.0f} % after the rotation that fits the items best"
    )
    together = figures["old_users_with_new_items"] or 0.0
    if together < AGAIN * max(figures["kept"] or 0.0, figures["after_rotating"] or 0.0):
        support += ": do not mix the towers of two snapshots in serving."
    else:
        support += "."
    advice = "Compare the two lists of some users by eye, and the held-out pairs, before the new model is served."
    if together >= KEPT:
        advice = f"The old users still get their lists from the new items: look at the new user table first. {advice}"
    return _verdict(name, [_kept(change.lists, kept_again)], support, figures, advice)


def lengths_drifted(change: Change, again: Change | None, old: Evidence, new: Evidence) -> Verdict:
    """A fault by `_drifted`, or where one table alone is on a sphere.

    With users it must show in the scores, as a gauge changes lengths alone: by `_drifted` of their columns, or where
    one table is on a sphere, by any spread that is more than rounding.
    """
    name = "lengths-drifted"
    lengths, weights = change.lengths, change.weights
    figures: dict[str, Number] = {"scale": lengths.scale, "spread": lengths.spread}
    if lengths.slope is not None:
        figures |= dict(zip(("slope", "slope_low", "slope_high"), lengths.slope, strict=True))
    if again is not None:
        figures |= {"spread_again": again.lengths.spread, "slope_again": _steepness(again.lengths)}
    apart = old.on_sphere != new.on_sphere
    fault = apart or _drifted(lengths, None if again is None else again.lengths)
    support = f"The ratio of new to old length has the median {lengths.scale:.3g} and {_said(lengths)}"
    if apart:
        support += f". The old table is {'on' if old.on_sphere else 'off'} the sphere, the new one is not so"
    if weights is not None:
        figures |= {"spread_of_scores": weights.spread}
        figures |= {} if weights.slope is None else {"slope_of_scores": weights.slope[0]}
    if fault and weights is not None:
        drifted = _drifted(weights, None if again is None else again.weights)
        fault = drifted or (apart and weights.spread > SPHERE_TOLERANCE)
        support += f". For the items' columns of scores, which no gauge changes, this ratio has {_said(weights)}"
        support += "" if fault else ": the gauge changed, and dot products weigh the items as before, or nearly so"
    advice = (
        "Dot products now weigh items differently: look at the schedule, the decay and the normalising of the training."
    )
    return decided(name, fault, f"{support}.", figures, advice)


def centre_moved(change: Change, again: Change | None) -> Verdict:
    """A fault where the mean direction, rotated, moved by CENTRE, and by more than NOISE times a second training."""
    name = "centre-moved"
    noise = 0.0 if again is None else again.centre
    fault = change.centre >= max(CENTRE, NOISE * noise)
    figures: dict[str, Number] = {"moved": change.centre, "old": change.centres[0], "new": change.centres[1]}
    figures |= {} if again is None else {"moved_again": noise}
    support = (
        f"The mean of the items' directions had the length {change.centres[0]:.2f} and has "
        f"{change.centres[1]:.2f}; after the best rotation it moved by {change.centre:.3f}"
        + (f" (a second training: {noise:.3f})." if again is not None else ".")
    )
    longer = change.centres[1] - change.centres[0]
    shared = "has turned" if abs(longer) < CENTRE / 2 else "has grown" if longer > 0 else "has shrunk"
    advice = (
        f"The part that all cosines share {shared}. Lists by dot product do not see it; thresholds on cosines and "
        "approximate indices do: compare the start, the decay and the centring of the two trainings."
    )
    return decided(name, fault, support, figures, advice)


def quality_dropped(benches: Sequence[Bench], k: int, mismatched: Sequence[str] = ()) -> Verdict:
    """A fault where NDCG on held-out pairs fell by DROP, user by user, with an interval below 0; UNSURE: "cannot tell".

    Where there is a second training, against the mean of both, and by NOISE times what it moves NDCG. benches: old, new
    and, where there is one, again; empty where it could not be measured. mismatched: the snapshots whose rows do not
    belong to the pairs: of these no more can be said than that the lists got worse.
    """
    name = "quality-dropped"
    if not benches:
        return cannot_tell(
            name,
            "Users, training and held-out pairs were not all given, or few users have both.",
            "Put pairs and held_out into the new folder, or give --pairs and --held-out.",
        )
    before, after, *others = (bench.start[0] for bench in benches)
    noise = abs(float((others[0] - before).mean())) if others else 0.0
    before = np.mean([before, *others], axis=0)
    change = remedies.Change.of(after - before)
    difference, low, high = change.difference, change.low, change.high
    start = float(before.mean())
    fell = -difference if high < 0 else 0.0
    figures: dict[str, Number] = {
        "before": start,
        "after": float(after.mean()),
        "difference": difference,
    }
    figures |= {"low": low, "high": high, "users": len(before)} | ({"moved_again": noise} if others else {})
    support = (
        f"NDCG@{k} on held-out pairs: {start:.4f} before, {after.mean():.4f} after (difference "
        f"{difference:+.4f}, 95 % interval {low:+.4f} to {high:+.4f}, {len(before):,} users)."
        + (f" Before: the mean of the two old trainings, which differ by {noise:.4f}." if others else "")
    )
    baselines = remedies.baselines(benches[1])
    support += f" {remedies.beside(baselines)}"
    figures |= {"most_popular": baselines[0].after, "random": baselines[-1].after}
    whose = " and the ".join(mismatched)
    why = f"The rows of the {whose} model do not belong to the pairs ({ROWS})." if mismatched else ""
    if fell and fell >= max(DROP * start, NOISE * noise):
        support = f"{support} {why}".strip()
        advice = (
            "Do not serve the new model before you know why: the reports on the two models are where to look first."
        )
        return Verdict(name, "fault", support, figures, advice)
    if mismatched:
        return cannot_tell(name, why, "Audit each model alone: the report says in which order its rows are.")
    if fell and fell >= UNSURE * start:
        needed = "Seeds alone can do as much: train both models again with further seeds before you blame the change."
        return cannot_tell(name, support, needed, figures)
    return Verdict(name, "fine", support, figures)


def new_faults(old: Sequence[Verdict], new: Sequence[Verdict], again: Sequence[Verdict] | None) -> Verdict:
    """A fault where the new model has one that no old training has, and what decides it moved more than chance does.

    Rows of the new model that do not belong to the pairs are a fault, whatever the old ones were: nothing is judged.
    "cannot tell" where no more than chance (`_moved`) brought all such faults over their thresholds.
    old, new, again: the verdicts on each.
    """
    name = "new-faults"
    reports = [{verdict.id: verdict for verdict in verdicts} for verdicts in (old, new, again or ())]
    faults = [[name for name, verdict in report.items() if verdict.verdict == "fault"] for report in reports]
    named = [fault for fault in faults[1] if fault == ROWS or fault not in (*faults[0], *faults[2])]
    added = [fault for fault in named if fault == ROWS or _moved(*(report.get(fault) for report in reports))]
    near, gone = ([each for each in ids if each not in rest] for ids, rest in ((named, added), (faults[0], faults[1])))
    counted = (len(faults[0]), len(faults[1]), len(added), len(near), len(gone))
    figures: dict[str, Number] = dict(zip(("old_faults", "new_faults", "added", "near", "gone"), counted, strict=True))
    old_ones, new_ones = (f" ({', '.join(ids)})" if ids else "" for ids in faults[:2])
    found = f"{counted[0]} fault{'s' * (counted[0] != 1)}"
    support = f"The audit finds {found} in the old model{old_ones} and {counted[1]} in the new one{new_ones}"
    support += f"; new: {', '.join(added)}" if added else "" if near else "; none that no old training has"
    support += f"; new, by no more than chance moves: {', '.join(near)}" if near else ""
    support += f"; gone: {', '.join(gone)}." if gone else "."
    advice = "The report on the new model says for each of them what was measured and what to do."
    if near and not added:
        needed = (
            "Seeds alone can do as much: look at these numbers in both reports, and train again with further seeds."
        )
        return cannot_tell(name, support, needed, figures)
    return decided(name, bool(added), support, figures, advice)


def _moved(old: Verdict | None, new: Verdict | None, again: Verdict | None) -> bool:
    """Whether the number that decides the verdict moved by NEAR of it, half its interval, and NOISE times `again`.

    A number that one of the two lacks has moved.
    """
    before, after, chance = (None if each is None else _decisive(each) for each in (old, new, again))
    if before is None or after is None:
        return True
    noise = 0.0 if chance is None else NOISE * abs(chance[0] - before[0])
    return abs(after[0] - before[0]) > max(NEAR * abs(before[0]), after[1], noise)


def _decisive(verdict: Verdict) -> tuple[float, float] | None:
    """The number that decides a verdict, and half its 95 % interval, 0 where it has none."""
    found = [_figure(verdict.figures, name) for name in DECIDES.get(verdict.id, ())]
    return max((each for each in found if each is not None), default=None)


def _figure(figures: Mapping[str, Number], name: str) -> tuple[float, float] | None:
    """A figure and half its interval. GAIN is a difference."""
    ends = [figures.get(f"{name}_{end}" if name != GAIN else end) for end in ("low", "high")]
    start, value = (figures.get("before"), figures.get("after")) if name == GAIN else (0.0, figures.get(name))
    if start is None or value is None:
        return None
    low, high = (0.0 if end is None else end for end in ends)
    return value - start, (high - low) / 2


# ---- parts


def _drifted(lengths: Lengths, again: Lengths | None) -> bool:
    """Whether the log ratio has a spread of SPREAD, or goes with log count by SLOPE (its interval leaves out 0).

    More than NOISE times a second training, where that is more.
    """
    _, low, high = lengths.slope or (0.0, 0.0, 0.0)
    noise_spread, noise_slope = (0.0, 0.0) if again is None else (again.spread, _steepness(again))
    steeper = _steepness(lengths) >= max(SLOPE, NOISE * noise_slope) and not low <= 0 <= high
    return steeper or lengths.spread >= max(SPREAD, NOISE * noise_spread)


def _steepness(lengths: Lengths) -> float:
    return abs((lengths.slope or (0.0,))[0])


def _said(lengths: Lengths) -> str:
    said = f"a spread of {100 * lengths.spread:.1f} %"
    if lengths.slope is not None:
        slope, low, high = lengths.slope
        said += f"; it goes with the count by a slope of {slope:+.3f} (95 % interval {low:+.3f} to {high:+.3f})"
    return said


def _kept(shares: Float, again: Float | None) -> Answer:
    """Against a second training: a fault where the 95 % interval of share - AGAIN times its share lies below 0.

    Without one: a fault below LOST, fine from KEPT on, "cannot tell" between: two seeds of one model lie there.
    """
    if again is not None:
        return judged(remedies.Change.of(shares - AGAIN * again).high < 0)
    share = float(shares.mean())
    return "fault" if share < LOST else "fine" if share >= KEPT else "cannot tell"


def _verdict(name: str, answers: list[Answer], support: str, figures: dict[str, Number], advice: str) -> Verdict:
    """A fault where one answer is; "cannot tell" where the first, which is over everything, is."""
    verdict: Answer = "fault" if "fault" in answers else answers[0]
    said = {"fault": advice, "fine": "", "cannot tell": NEEDED}[verdict]
    return Verdict(name, verdict, support, figures, said)


def _lost_neighbours(change: Change, again: Change | None) -> str:
    by_matrix = 0.5 if again is None else max(0.5, again.linear)  # of the table: what a gauge does, a matrix undoes
    if change.linear <= by_matrix and change.lists is not None and change.lists.mean() > 2 * change.neighbours.mean():
        return (
            "Lists changed far less than neighbours did: the gauge moved, not the model. Compare items by scores "
            "(gauge.score_rows), or train on the sphere."
        )
    return "Look for items whose ids moved (a new order of rows, another vocabulary), and at the band that lost most."
