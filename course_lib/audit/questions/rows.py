"""collapsed-rank, duplicated-rows, dead-rows and hubs: what the rows of the item table look like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from course_lib import gramians
from course_lib.audit.evidence import FEWEST_ITEMS, AnyArray, Evidence, Float, Ids, nearest
from course_lib.audit.smaller import PARTS, Smaller
from course_lib.audit.verdicts import Answer, Number, Picture, Verdict, cannot_tell, decided
from course_lib.popularity import top_share

RANK = 0.15  # effective rank, as a share of the greatest possible: below, a fault
LOST = 0.05  # of NDCG, that a narrower table may lose
EQUAL, COPIES = 1e-6, 0.02  # rows this near (relative) are equal; share of rows with an equal: from here on a fault
DEAD, SHORT = 0.005, 1e-3  # share of rows that are dead: from here on a fault; short: against the median length
COLD = 0.05  # share of the items without a training pair: from here on noted
HEAD, TIMES, BEYOND = 0.01, 2.5, 0.1  # hubs: the most listed 1 % hold so many times the null's share, and so much more


def collapsed_rank(evidence: Evidence, fewer: Sequence[Smaller] = ()) -> Verdict:
    """A fault where the effective rank of the centred directions is below RANK of what n and d allow.

    exp(entropy of the eigenvalues of their Gramian, as shares): d for a round cloud, 1 for a line. fewer: what narrower
    tables were measured to do; one is advised only where it surely loses less than LOST of NDCG.
    """
    name = "collapsed-rank"
    n, width = evidence.items.shape
    most = min(n - 1, width)
    shares = _spectrum(evidence.unit)
    if shares is None:
        return Verdict(
            name,
            "fault",
            "All items have the same direction.",
            {"effective_rank": 0, "possible": most},
            "No ranking and no neighbour can be read off this table: look for a collapse in training.",
            (_spectrum_drawn(np.zeros(width)),),
        )
    positive = shares[shares > 0]
    effective = float(np.exp(-(positive * np.log(positive)).sum()))
    figures: dict[str, Number] = {
        "effective_rank": effective,
        "possible": most,
        "largest_share": float(shares[0]),
        "width": width,
    }
    support = (
        f"The directions of the items fill {effective:.1f} of {most} dimensions (exp of the entropy of their Gramian's "
        f"eigenvalues, after centring); the largest holds {100 * shares[0]:.0f} % of the spread."
    )
    advice = f"Most of the width is idle. {_narrower(fewer)}"
    return decided(name, effective < RANK * most, support, figures, advice, _spectrum_drawn(shares))


def _narrower(fewer: Sequence[Smaller]) -> str:
    """What a narrower table does where it was measured, and what makes a table collapse."""
    collapse = (
        "look for collapse: too strong a decay, too few negatives, a temperature that is too high, a learning rate "
        "that is too large."
    )
    narrow = [each for each in fewer if each.kind in PARTS]
    enough = [each for each in narrow if each.change.low > -LOST * each.before]
    if enough:
        least, change = enough[-1], enough[-1].change
        return (
            f"On held-out pairs {least.kind} is enough (NDCG {change.difference:+.4f}, 95 % interval {change.low:+.4f} "
            f"to {change.high:+.4f}); or {collapse}"
        )
    if narrow:
        return f"Yet no narrower table surely ranks as well on held-out pairs here: {collapse}"
    return f"Measure on held-out pairs whether a narrower table does, or {collapse}"


def _spectrum_drawn(shares: Float) -> Picture:
    columns = {"rank": [*range(1, len(shares) + 1)], "share of spread": [float(share) for share in shares]}
    return Picture("Spectrum of the items' Gramian", "line", "eigenvalue, by size", "share of spread", columns)


def _spectrum(rows: AnyArray) -> Float | None:
    """Eigenvalues of the Gramian of the centred rows, falling, as shares of their sum; None where all rows agree."""
    mean = rows.mean(axis=0, dtype=np.float64)
    gram = np.asarray(gramians.gramian(rows), dtype=np.float64) - np.outer(mean, mean)
    values = np.clip(np.linalg.eigvalsh(gram)[::-1], 0, None)
    if values.sum() <= EQUAL:
        return None
    shares: Float = values / values.sum()
    return shares


def duplicated_rows(evidence: Evidence) -> Verdict:
    """A fault where COPIES of the rows, or more, have an equal among the others."""
    name = "duplicated-rows"
    groups = _equal_groups(evidence)
    sizes = np.bincount(groups)
    copies = int(sizes[sizes > 1].sum())
    share = copies / len(evidence.items)
    figures: dict[str, Number] = {"rows": copies, "share": share, "largest_group": int(sizes.max())}
    support = f"{copies:,} of {len(evidence.items):,} item rows ({100 * share:.2f} %) have an equal"
    if copies:
        some = [evidence.named(int(item)) for item in np.flatnonzero(groups == sizes.argmax())[:2]]
        support += f"; the largest group has {sizes.max():,}, {' and '.join(some)} among them"
    support += "."
    advice = (
        "Rows that are equal were never told apart: items without a training pair that share a start, items of the "
        "same users (ALS gives them one row), a feature tower that sees the same features, or one item under several "
        "ids. They fill each other's lists."
    )
    return decided(name, share >= COPIES, support, figures, advice)


def _equal_groups(evidence: Evidence) -> Ids:
    """(n,) the same number for rows that are equal up to EQUAL of their length.

    Equal rows stand side by side when rows are sorted by a random projection.
    """
    items = evidence.items
    line = np.asarray(evidence.rng("projection").standard_normal(items.shape[1]), dtype=items.dtype)
    order = np.argsort(items @ line)
    groups, new = np.zeros(len(items), dtype=np.int64), np.ones(len(items), dtype=np.int64)
    for start in range(1, len(items), 100_000):
        here, before = order[start : start + 100_000], order[start - 1 : start - 1 + 100_000][: len(items) - start]
        far = np.linalg.norm(items[here] - items[before], axis=1) > EQUAL * evidence.norms[here]
        new[start : start + len(here)] = far
    groups[order] = np.cumsum(new) - 1
    return groups


def dead_rows(evidence: Evidence) -> Verdict:
    """A fault where DEAD of the rows of a table, or more, are zero or shorter than SHORT of the median length.

    Noted where COLD of the items, or more, have no training pair: a row that training never drew is that of the start.
    """
    name = "dead-rows"
    short = int((evidence.norms < SHORT * np.median(evidence.norms)).sum())
    total = len(evidence.items) + evidence.zero_items
    figures: dict[str, Number] = {
        "zero_items": evidence.zero_items,
        "short_items": short,
        "share": (evidence.zero_items + short) / total,
        "zero_users": evidence.zero_users,
    }
    user_share = 0.0
    if evidence.users is not None:
        user_share = evidence.zero_users / (len(evidence.users) + evidence.zero_users)
        figures["user_share"] = user_share
    untrained = None if evidence.counts is None else int((evidence.counts == 0).sum())
    figures["items_without_a_pair"] = untrained
    fault = (evidence.zero_items + short) / total >= DEAD or user_share >= DEAD
    support = (
        f"{evidence.zero_items:,} of {total:,} item rows are zero and {short:,} almost zero; "
        f"{evidence.zero_users:,} user rows are zero."
    )
    if untrained:
        support += (
            f" {untrained:,} of the items that are left ({100 * untrained / len(evidence.items):.1f} %) have no "
            "training pair: their places in a list are chance, unless the rows come from features."
        )
    advice = (
        "A zero row has no cosine and scores 0 with everybody: above every item with a negative score. Keep such rows "
        "out of the index and give their items another way in (features, popularity)."
        if fault
        else ""
    )
    cold = not fault and (untrained or 0) >= COLD * len(evidence.items)
    if cold:
        advice = "Keep items without a pair out of the index until a tower that reads their features places them."
    answer: Answer = "fault" if fault else "noted" if cold else "fine"
    return Verdict(name, answer, support, figures, advice)


def hubs(evidence: Evidence) -> Verdict:
    """A fault where the HEAD of the items that are most listed hold far more of the neighbour lists than in a null.

    The null: normal rows with the mean and the covariance of the items' directions, so that a shifted centre or a low
    rank alone is no fault here. TIMES the null's share, and BEYOND more than it.
    """
    name = "hubs"
    size = len(evidence.part)
    if size < FEWEST_ITEMS:
        return cannot_tell(name, f"{size} items are few: every one is near many.", f"{FEWEST_ITEMS} items.")
    listed = evidence.neighbours, nearest(_null_table(evidence), evidence.k, evidence.queries)
    times, of_null = (np.bincount(lists.ravel(), minlength=size) for lists in listed)
    share, expected = (top_share(*each, HEAD) for each in zip(listed, (times, of_null), strict=True))
    fault = share >= TIMES * expected and share >= expected + BEYOND
    most = int(evidence.chosen[int(times.argmax())])
    figures: dict[str, Number] = {
        "share": share,
        "null_share": expected,
        "lists": len(evidence.queries),
        "most_listed": int(times.max()),
        "most_listed_item": evidence.id_of(most),
    }
    support = (
        f"In {len(evidence.queries):,} lists of {evidence.k} cosine neighbours, the 1 % of the items that are listed "
        f"most hold {100 * share:.0f} % of the places; for a normal cloud of the same mean and covariance "
        f"{100 * expected:.0f} %. One item, {evidence.named(most)}, is in {times.max():,} of the lists."
    )
    advice = (
        "Some items are everybody's neighbour. Look at the most listed ones (the drawing's numbers name them); "
        "centring often takes hubs away, and so does a list by mutual neighbours."
    )
    order, null_order = np.argsort(-times, kind="stable")[:50], np.sort(of_null)[::-1][:50]
    columns = {
        "place": [*range(1, len(order) + 1)],
        "these items": [int(times[item]) for item in order],
        "normal cloud": [int(value) for value in null_order],
        "item": [evidence.named(int(evidence.chosen[item])) for item in order],
    }
    picture = Picture("In how many lists the most listed items are", "line", "items, by that number", "lists", columns)
    return decided(name, fault, support, figures, advice, picture)


def _null_table(evidence: Evidence) -> AnyArray:
    """Normal rows with the mean and covariance of the items' directions, as many as were searched."""
    unit = evidence.unit[evidence.chosen]
    mean = unit.mean(axis=0, dtype=np.float64)
    values, vectors = np.linalg.eigh(np.asarray(gramians.gramian(unit), dtype=np.float64) - np.outer(mean, mean))
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T  # symmetric: the same for every sign of a vector
    normal = evidence.rng("null of hubs").standard_normal(unit.shape)
    table: AnyArray = (normal @ root + mean).astype(unit.dtype)
    return table
