"""exposure, time and leaked-test-pairs: what the lists show, and how the held-out pairs lie to the training."""

from __future__ import annotations

import numpy as np

from course_lib import metrics
from course_lib.audit.evidence import LEAK, Evidence, Float
from course_lib.audit.remedies import LATELY, POPULAR, Bench, Change
from course_lib.audit.smaller import GROUPS, groups_of
from course_lib.audit.verdicts import Answer, Number, Verdict, cannot_tell, decided, percent

TILT = 0.10  # share of the places, more or less than of the held-out pairs, that head items have: from here on noted
QUARTERS = 4  # of the held-out pairs, by time
NEEDED = "Give --users, --pairs and --held-out."


def exposure(bench: Bench | None) -> Verdict:
    """Places of the lists against held-out pairs, by popularity; noted where head items have TILT more, or less."""
    name = "exposure"
    if bench is None:
        return cannot_tell(name, "No lists were made, without users, training pairs and held-out pairs.", NEEDED)
    group, lists, n = groups_of(bench.counts), bench.start.lists, len(bench.counts)
    listed = lists[lists >= 0]
    sizes = np.bincount(group, minlength=len(GROUPS))
    shown = np.bincount(group[np.unique(listed)], minlength=len(GROUPS)) / np.maximum(sizes, 1)
    places, wanted = (
        np.bincount(group[ids], minlength=len(GROUPS)) / max(len(ids), 1) for ids in (listed, bench.held_out.items)
    )
    trained = np.array([bench.counts[group == at].sum() for at in range(len(GROUPS))]) / bench.counts.sum()
    head, full = group == 0, lists >= 0
    own = np.asarray(bench.held_out.matrix @ head) / bench.held_out.row_counts
    change = Change.of((head[lists] & full).sum(axis=1) / np.maximum(full.sum(axis=1), 1) - own)
    figures: dict[str, Number] = {}
    for at, each in enumerate(GROUPS):
        figures |= {f"places_{each}": float(places[at]), f"held_out_{each}": float(wanted[at])}
        figures |= {f"training_{each}": float(trained[at]), f"coverage_{each}": float(shown[at])}
    figures |= {"head_less_held_out": change.difference, "low": change.low, "high": change.high}
    figures |= {"never_shown": n - len(np.unique(listed)), "gini": metrics.gini(lists, n)}
    support = (
        f"The most popular tenth of the items fills {percent(places[0])} of the places, and {percent(own.mean())} of "
        f"a user's held-out pairs, on average (difference {100 * change.difference:+.1f} points, 95 % interval "
        f"{100 * change.low:+.1f} to {100 * change.high:+.1f}); it has {percent(wanted[0])} of all these pairs. The "
        f"less popular half fills {percent(places[-1])}, with {percent(wanted[-1])} of all pairs. The lists of "
        f"{len(lists):,} users show {percent(shown[0])} of the head, {percent(shown[1])} of the middle and "
        f"{percent(shown[2])} of the tail."
    )
    tilted = abs(change.difference) >= TILT and not change.low <= 0 <= change.high
    return Verdict(name, "noted" if tilted else "fine", support, figures)


def in_time(evidence: Evidence, bench: Bench | None) -> Verdict:
    """How much of the training is later than a held-out pair, and NDCG by quarter of the held-out period.

    Noted from LEAK on: a leak across time is a matter of how one wants to judge, and no fault of the tables.
    """
    name = "time"
    train, test, leak = evidence.pairs, evidence.held_out, evidence.leak
    if leak is None:
        needed = "Give training and held-out pairs with a column of times."
        timed = all(each is not None and each.times is not None for each in (train, test))
        why = (
            "All pairs have the same time." if timed else "The training and the held-out pairs do not both have times."
        )
        return cannot_tell(name, why, needed)
    assert train is not None and test is not None and train.times is not None and test.times is not None
    last = np.full(train.n_users, -np.inf)
    np.maximum.at(last, train.users, train.times)
    own = float((last[test.users] > test.times).mean())
    figures: dict[str, Number] = {"later": leak, "later_of_own_user": own, "held_out": len(test)}
    kind = (
        "by time" if evidence.by_time else "by each user's last pairs" if own < LEAK else "in another way than by time"
    )
    support = f"The pairs are split {kind}: {percent(leak)} of the training pairs are later than a held-out one"
    support += f", and {percent(own)} of the held-out pairs have a later training pair of their own user."
    if bench is not None:
        said, more = _by_quarter(bench, test.times)
        support, figures = support + said, figures | more
    answer: Answer = "fine" if evidence.by_time else "noted"
    advice = (
        "So no number here is one of tomorrow: for that, train on pairs.split_by_time(0.9)[0], and hold out the rest."
    )
    return Verdict(name, answer, support, figures, advice if answer == "noted" else "")


def _by_quarter(bench: Bench, times: Float) -> tuple[str, dict[str, Number]]:
    """NDCG of the tables, and of the lists of hits, on each quarter of the held-out pairs, by time."""
    test = bench.held_out
    assert test.times is not None
    ends = np.quantile(times, np.arange(1, QUARTERS) / QUARTERS)
    of, key = np.searchsorted(ends, test.times, side="left"), f"ndcg@{bench.evidence.k}"
    lists = {"tables": bench.start.lists} | {name: found.lists for name, found in bench.hits.items()}
    found: dict[str, list[float]] = {name: [] for name in lists}
    for at in range(QUARTERS):
        part = test.select(of == at)
        if not len(part):
            return "", {}  # few times
        for name, ranked in lists.items():
            some = metrics.metrics_from_ranking(ranked, part, (bench.evidence.k,))
            found[name].append(float(some[key]))
    first, final = found["tables"][0], found["tables"][-1]
    said = f" NDCG on the earliest quarter of the held-out pairs is {first:.4f}, on the latest {final:.4f}"
    rest = {name: found[name] for name in (POPULAR, LATELY) if name in found}
    said += "".join(f"; {name}: {values[0]:.4f} and {values[-1]:.4f}" for name, values in rest.items()) + "."
    names: dict[str, Number] = {
        f"{name.replace(' ', '_')}_quarter_{at + 1}": value for name in found for at, value in enumerate(found[name])
    }
    return said, names


def leaked_test_pairs(evidence: Evidence) -> Verdict:
    """A fault where a held-out pair is a training pair. Exact: every pair is looked up."""
    name = "leaked-test-pairs"
    if evidence.pairs is None or not evidence.offered:
        return cannot_tell(
            name, "Training pairs and held-out pairs were not both given.", "Give --pairs and --held-out."
        )
    share = evidence.shared / evidence.offered
    support = (
        f"{evidence.shared:,} of {evidence.offered:,} held-out pairs ({100 * share:.2f} %) are training pairs"
        f"{', and are left out of every measurement here' if evidence.shared else ''}."
    )
    advice = (
        "A model can be right about a pair that it was trained on without knowing anything, and a list that leaves out "
        "known items can never be. Make the split again, after merging repeated pairs."
    )
    figures: dict[str, Number] = {"shared": evidence.shared, "held_out": evidence.offered, "share": share}
    return decided(name, evidence.shared > 0, support, figures, advice)
