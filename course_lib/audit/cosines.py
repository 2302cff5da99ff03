"""Do the cosines of an embedding table mean anything? What a table can say about itself, in numbers and sentences.

- Are the rows on a sphere, and do the gauges that keep them there reduce to rotations (`course_lib.gauge`)?
- How far do the top-k cosine neighbours move under random gauges, all of which keep every score?
- With the other table: are the two balanced, as weight decay makes them, whatever their scales, and do the cosines
  agree with the gauge-free ones?
- With counts: does length go with popularity, and is there a direction that does?

A table cannot show *how* it was trained. Rows that were normalised after training lie on the sphere as well, and their
cosines are those of whatever gauge the training ended in. The sentences say so where it matters.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from course_lib import gauge, geometry
from course_lib.audit.evidence import SPHERE_TOLERANCE, AnyArray, Axis, Evidence, Float, Ids, nearest, reduced, uneven
from course_lib.audit.verdicts import Number, Verdict, cannot_tell
from course_lib.gauge.algebra import rank
from course_lib.gauge.firmness import stretch_within
from course_lib.popularity import norm_correlation

BALANCE_TOLERANCE = 0.05  # of `imbalance`
KEPT = 0.7  # share of cosine neighbours that the balancing gauge must leave: below, noted
LINEAR_WIDTH = 64  # wider tables have more than 2,080 unknowns: counted only when asked for
MARGIN_WORK = 4 * 10**9  # about a second
LENGTHS_VARY = 0.01  # relative: how exactly lengths are held, where it is asked what that leaves of the neighbours
FIRM = 0.9  # the share of a list that must survive a gauge which lengths notice by LENGTHS_VARY
SPREADS = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class TableFacts:
    """One table: rows n, width k, rank.

    shortest, length, longest: least, median and greatest norm; unevenness: largest relative distance of a norm from the
    median; on_sphere: unevenness is below SPHERE_TOLERANCE. Off the sphere every gauge is free, and the rest is None:
    diagonal, linear: visible dimension of the gauges that keep all lengths (linear is None too where it was not
    counted); least: what linear is at least, r (r + 1) / 2 - n for the rank r, or 0; margin: of
    `gauge.weakest_direction`, by a sample of a long table; how far the lengths are from leaving a gauge (None unless no
    linear one is left and the rank is full).
    """

    rows: int
    width: int
    rank: int
    shortest: float
    length: float
    longest: float
    unevenness: float
    on_sphere: bool
    diagonal: int | None = None
    linear: int | None = None
    least: int = 0
    margin: float | None = None


@dataclass(frozen=True)
class Cosines:
    """What `look` found.

    overlap: {spread: share of the top-k neighbours that survive a random linear gauge of that spread}; chance: the
    share that two random lists have in common; firm_overlap: what survives the gauge that lengths notice least, if they
    may vary by 1 % (None unless there is a margin); allowed_overlap: what survives random gauges that keep all lengths,
    half way to the end of their range (None unless the rows are on a sphere and leave some freedom); imbalance:
    `imbalance` of the two tables; balanced_overlap: share of the top-k that survives the gauge that balances them (None
    where they are on a sphere or have not full rank); score_overlap: share of the top-k by cosine that are also nearest
    by the columns of scores; two_sided: infinitesimal linear gauges that keep both tables' lengths;
    norm_count_correlation: Pearson's; axis: how well a popularity direction that was found on other items predicts the
    count.
    """

    items: TableFacts
    users: TableFacts | None
    k: int
    candidates: int
    overlap: dict[float, float]
    chance: float
    allowed_overlap: float | None = None
    firm_overlap: float | None = None
    imbalance: float | None = None
    balanced_overlap: float | None = None
    score_overlap: float | None = None
    two_sided: int | None = None
    norm_count_correlation: float | None = None
    axis: Axis | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> str:
        """ "fixed", "partly free" or "free": what the lengths of the rows leave of the gauge.

        "barely fixed": no gauge keeps all lengths, and one that moves them by 1 % changes a list more than FIRM allows.
        "diagonally fixed": no diagonal gauge is left, linear ones were not counted, and the rows are enough for none.
        """
        if not self.items.on_sphere:
            return "free"
        if self.items.linear == 0:
            return "barely fixed" if self.firm_overlap is not None and self.firm_overlap < FIRM else "fixed"
        held = self.users.rows if self.users is not None and self.users.on_sphere else 0
        if self.items.linear is None and self.items.diagonal == 0 and self.items.least <= held:
            return "diagonally fixed"
        return "fixed" if self.users is not None and self.users.on_sphere and self.two_sided == 0 else "partly free"

    def sentences(self) -> list[str]:
        """What was found in plain language, one finding a sentence group."""
        parts = (_on_lengths, _on_freedom, _on_neighbours, _on_users, _on_counts)
        return [sentence for part in parts for sentence in part(self)] + [*self.notes]

    def text(self, width: int = 76) -> str:
        """The sentences, wrapped, with what the lengths leave of the gauge on top."""
        head = f"The lengths of the rows alone leave the gauge {self.verdict}."
        lines = [textwrap.fill(text, width, initial_indent="- ", subsequent_indent="  ") for text in self.sentences()]
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = asdict(self) | {"verdict": self.verdict}
        return found | {"overlap": {f"{spread:g}": share for spread, share in self.overlap.items()}}


def look(evidence: Evidence, *, draws: int = 3, wide: bool = False) -> Cosines:
    """What the cosines of the items mean. draws: random gauges for each spread; wide: count linear gauges for d > 64.

    Above 20,000 items a random part of them is searched, for 500 of them.
    """
    items, users, part = evidence.items, evidence.users, evidence.part
    rng, notes = evidence.rng("cosines"), []
    triangle, others = evidence.triangles
    facts = _freedom(items, _facts(items, triangle), wide, rng)
    other = None if users is None or others is None else _facts(users, others)
    if len(part) < len(items):
        notes.append(f"Neighbours were looked for among {len(part):,} items drawn at random out of {len(items):,}.")
    before, queries = evidence.neighbours, evidence.queries
    extra: dict[str, Any] = {}
    if facts.on_sphere and facts.linear:
        extra["allowed_overlap"] = _survivors_on_the_sphere(items, part, before, queries, draws, rng)
    elif facts.linear == 0 and facts.rank == facts.width:
        weakest = gauge.weakest_direction(_sample(items, evidence.rng("margin"), work=MARGIN_WORK))
        facts = replace(facts, margin=weakest[0])
        after = nearest(part @ stretch_within(weakest, LENGTHS_VARY), evidence.k, queries)
        extra["firm_overlap"] = float(gauge.neighbour_overlap(before, after).mean())
    if users is not None:
        extra |= _with_users(evidence, facts, notes)
        if facts.linear is not None and other is not None and other.on_sphere:
            more = facts.linear and gauge.two_sided_linear_dimension(_sample(users, rng), _sample(items, rng))
            extra["two_sided"] = more  # users can only take away from what the items leave
    if evidence.counts is not None:
        extra |= _with_counts(evidence, notes)
    overlap = {spread: _survivors(part, before, queries, spread, draws, rng) for spread in SPREADS}
    chance = evidence.k / (len(part) - 1)
    return Cosines(facts, other, evidence.k, len(part), overlap, chance, notes=tuple(notes), **extra)


# ---- measurements


def imbalance(users: AnyArray, items: AnyArray) -> float:
    """||A'^T A' - B'^T B'|| / (||A'^T A'|| + ||B'^T B'||) with A' = c A, B' = B / c, c such that the two norms agree.

    users A (m, k), items B (n, k). 0 for balanced tables, at most sqrt(1/2). A common scale c keeps every score and
    every cosine, so it may not count.
    """
    left, right = (gram / np.linalg.norm(gram) for gram in (table.T @ table for table in (users, items)))
    return float(np.linalg.norm(left - right) / 2)


def balancing_gauge(users: AnyArray, items: AnyArray) -> AnyArray | None:
    """R (k, k) with A R and B R^-T balanced (`gauge.balance_tables`); None where a table has not full rank."""
    small = reduced(users), reduced(items)
    if min(map(rank, small)) < users.shape[1]:
        return None
    R: AnyArray = gauge.find_gauge(small[0], gauge.balance_tables(*small)[0])[0]
    return R


def _facts(table: AnyArray, triangle: Float) -> TableFacts:
    """The facts on a table, which is also given `reduced`, without the gauges that its lengths leave."""
    n, width = table.shape
    norms = geometry.norm(table)
    unevenness = uneven(norms)
    whole_rank = int(rank(triangle.astype(table.dtype)))
    lengths = float(norms.min()), float(np.median(norms)), float(norms.max()), unevenness
    least = max(whole_rank * (whole_rank + 1) // 2 - n, 0)
    return TableFacts(n, width, whole_rank, *lengths, on_sphere=unevenness <= SPHERE_TOLERANCE, least=least)


def _freedom(table: AnyArray, facts: TableFacts, wide: bool, rng: Generator) -> TableFacts:
    """The facts with the gauges that the lengths leave: on a sphere only, as off it all are free."""
    if not facts.on_sphere:
        return facts
    linear = None
    if wide or table.shape[1] <= LINEAR_WIDTH:
        linear = _left(gauge.visible_linear_dimension, table, facts.rank, rng)
    diagonal = 0 if linear == 0 else _left(gauge.visible_diagonal_dimension, table, facts.rank, rng)
    return replace(facts, diagonal=diagonal, linear=linear)


def _left(dimension: Callable[[AnyArray], int], table: AnyArray, whole_rank: int, rng: Generator) -> int:
    """The dimension of the gauges that are left: by a sample where it leaves none (more rows cannot add any)."""
    sample = _sample(table, rng)
    if len(sample) < len(table) and rank(sample) == whole_rank and dimension(sample) == 0:
        return 0
    return int(dimension(table))


def _sample(table: AnyArray, rng: Generator, *, work: int = 0) -> AnyArray:
    """Rows at random, four times as many as gauges have dimensions p, or so many that rows times p^2 is `work`."""
    p = table.shape[1] * (table.shape[1] + 1) // 2
    size = max(4 * p, work // p**2)
    return table if len(table) <= size else table[rng.choice(len(table), size, replace=False)]


def _survivors(part: AnyArray, before: Ids, queries: Ids, spread: float, draws: int, rng: Generator) -> float:
    """Mean overlap of the neighbours before and after random linear gauges of this spread."""
    gauges = (gauge.random_linear_gauge(part.shape[1], spread=spread, rng=rng, rows=part) for _ in range(draws))
    return float(np.mean([_overlap_after(part, R, before, queries) for R in gauges]))


def _overlap_after(part: AnyArray, R: AnyArray, before: Ids, queries: Ids) -> float:
    """Mean overlap of the neighbours before and after the gauge that turns the items B into B R^-T."""
    after = nearest(np.linalg.solve(R, part.T).T, before.shape[1], queries)
    return float(gauge.neighbour_overlap(before, after).mean())


def _survivors_on_the_sphere(
    items: AnyArray, part: AnyArray, before: Ids, queries: Ids, draws: int, rng: Generator
) -> float:
    """Mean overlap under gauges I + t E that keep all lengths, E a random direction.

    t lies half way to where I + t E stops being positive.
    """
    shares = []
    for E in gauge.random_linear_directions(items.astype(np.float64), draws, rng=rng):
        values = np.linalg.eigvalsh(E)
        R = gauge.linear_stretch_along(E, 0.5 / max(-values[0], values[-1]))
        after = nearest(part @ R, before.shape[1], queries)
        shares.append(gauge.neighbour_overlap(before, after).mean())
    return float(np.mean(shares))


def _with_users(evidence: Evidence, facts: TableFacts, notes: list[str]) -> dict[str, float]:
    """What both tables together say."""
    users, part, before, queries = evidence.users, evidence.part, evidence.neighbours, evidence.queries
    right, left = evidence.triangles
    assert users is not None and left is not None
    found = {"imbalance": imbalance(users, evidence.items)}
    if not facts.on_sphere and (R := balancing_gauge(left, right)) is not None:
        found["balanced_overlap"] = _overlap_after(part, R, before, queries)
    rows = gauge.score_rows(users, part)
    if (geometry.norm(rows) > 0).all():
        by_score = nearest(rows, evidence.k, queries)
        found["score_overlap"] = float(gauge.neighbour_overlap(before, by_score).mean())
    else:
        notes.append("Some items have the score 0 with every user, so cosines of scores were not computed.")
    return found


def _with_counts(evidence: Evidence, notes: list[str]) -> dict[str, Any]:
    """What lengths and directions know about the counts."""
    if not evidence.counts_vary:
        notes.append("All items have the same count: there is no popularity to look for.")
        return {}
    found: dict[str, Any] = {"axis": evidence.unit_axis}
    if evidence.on_sphere:
        notes.append("All items have the same length, so lengths know nothing of popularity.")
        return found
    return found | {"norm_count_correlation": float(norm_correlation(evidence.norms, evidence.counts))}


# ---- the verdict


def free_gauge(found: Cosines) -> Verdict:
    """Noted where cosines depend on a gauge that nothing fixed: a description, as no gauge changes a score.

    On the sphere: where the lengths leave a gauge. Off it: where the tables are not balanced (as equal weight decay
    makes them in the end), and the gauge that balances them, which keeps every score, leaves less than KEPT of the
    cosine neighbours.
    """
    name = "free-gauge"
    figures: dict[str, Number] = {
        "on_sphere": int(found.items.on_sphere),
        "free_dimensions": found.items.least or None if found.items.linear is None else found.items.linear,
        "imbalance": found.imbalance,
        "balanced_overlap": found.balanced_overlap,
        "score_overlap": found.score_overlap,
    }
    if found.items.on_sphere:
        return Verdict(
            name,
            "noted" if found.verdict == "partly free" else "fine",
            f"All items have one length, which leaves the gauge {found.verdict}. A table that was normalised after "
            "training looks the same: check the training code.",
            figures,
            "Few or patterned rows leave gauges that no score notices. If you compare items with each other, compare "
            "their scores (gauge.score_rows)."
            if found.verdict == "partly free"
            else "",
        )
    if found.users is None or found.imbalance is None:
        why = "Lengths differ, so every invertible matrix is a gauge, unless the training fixed it."
        return cannot_tell(name, why, "Give the user table: balanced tables are in the gauge of weight decay.", figures)
    if found.imbalance <= BALANCE_TOLERANCE:
        support = (
            f"At the best common scale, A^T A and B^T B differ by {100 * found.imbalance:.1f} % of the sum of their "
            "norms: the cosines are those of the gauge that equal weight decay, or a small start, chooses. (The "
            f"lengths alone leave the gauge {found.verdict}.)"
        )
        return Verdict(name, "fine", support, figures)
    if found.balanced_overlap is None:
        why = f"The tables have the ranks {found.users.rank} and {found.items.rank} at width {found.items.width}."
        return cannot_tell(name, why, "A gauge that balances them is not unique.", figures)
    free = found.balanced_overlap < KEPT
    support = (
        "The tables are not balanced (at the best common scale, A^T A and B^T B differ by "
        f"{100 * found.imbalance:.0f} % of the sum of their norms). The gauge that balances them changes no score and "
        f"keeps {100 * found.balanced_overlap:.0f} % of the top {found.k} by cosine "
        f"(chance {100 * found.chance:.2g} %)."
    )
    advice = (
        "No list by dot product depends on it, and cosines between items are an accident of the training here. If you "
        "compare items with each other, compare their scores (gauge.score_rows), or balance the tables first "
        "(gauge.balance_tables), or train on the sphere. If the training compared cosines, these rows are not what it "
        "compared: audit them divided by their lengths."
        if free
        else ""
    )
    return Verdict(name, "noted" if free else "fine", support, figures, advice)


# ---- words


def _on_lengths(found: Cosines) -> list[str]:
    facts = found.items
    if facts.on_sphere:
        return [
            f"All {facts.rows:,} item rows have the length {facts.length:.4g}: "
            f"they lie on a sphere of dimension {facts.width - 1}."
        ]
    return [
        f"Item rows have lengths from {facts.shortest:.3g} to {facts.longest:.3g} (median {facts.length:.3g}): "
        "they are not on a sphere."
    ]


def _on_freedom(found: Cosines) -> list[str]:
    facts, k = found.items, found.items.rank
    if not facts.on_sphere:
        return [
            f"If the loss sees only the scores, every invertible {facts.width} x {facts.width} matrix is a gauge, and "
            f"the cosines have {k * (k + 1) // 2 - 1} free parameters. Normalising the rows now does not remove them: "
            "it keeps the gauge that training ended in."
        ]
    learned = "If the rows were on the sphere during training, cosine is a function of what was learned."
    caution = "A table normalised after training looks the same: check the training code."
    words = [f"{learned} {caution}" if found.verdict in ("fixed", "barely fixed") else caution]
    if facts.linear == 0:
        words.append(
            "Held on this sphere, the item rows leave no linear gauge except rotations and reflections, which change "
            "no cosine."
        )
        if facts.margin is not None and found.firm_overlap is not None:
            words.append(
                f"How firmly: if lengths may vary by {100 * LENGTHS_VARY:g} %, there is a gauge that leaves "
                f"{100 * found.firm_overlap:.0f} % of the top {found.k} by cosine (margin {facts.margin:.2g}; 0 would "
                "be free)."
            )
    elif facts.linear is None:
        words.append(
            f"Diagonal gauges that keep the lengths: {facts.diagonal} dimensions. Linear ones were not counted at "
            f"width {facts.width}; "
            + (
                f"{facts.rows:,} rows are too few for {facts.width} numbers each, and leave at least {facts.least:,}."
                if facts.least
                else "ask for it with --wide."
            )
        )
    else:
        words.append(
            f"The lengths of the item rows leave {facts.linear} free dimensions of gauges that move cosines, "
            f"{facts.diagonal} of them diagonal: there are too few different rows, or they have a pattern, such as "
            "signs."
        )
    if found.two_sided:
        words.append(f"Holding the user rows as well leaves {found.two_sided} first-order dimensions.")
    elif found.two_sided == 0 and facts.linear:
        words.append(
            "With the user rows held as well, no gauge is left near the present one. A separate gauge far away is "
            "possible for few rows, and unlikely for many."
        )
    return words


def _on_neighbours(found: Cosines) -> list[str]:
    shares = ", ".join(f"{100 * share:.0f} % at spread {spread:g}" for spread, share in found.overlap.items())
    words = []
    if found.allowed_overlap is not None:
        words.append(
            f"Random gauges that keep all lengths and all scores leave {100 * found.allowed_overlap:.0f} % of the "
            f"top {found.k} by cosine."
        )
    what = "which only free lengths allow" if found.items.on_sphere else "every one of which keeps all scores"
    return [
        *words,
        f"Under random linear gauges, {what}, the top {found.k} by cosine keep: {shares} "
        f"(chance {100 * found.chance:.2g} %).",
    ]


def _on_users(found: Cosines) -> list[str]:
    if found.users is None:
        return ["No user table was given, so nothing can be said about weight decay and about gauge-free similarity."]
    words = []
    if found.imbalance is not None and not found.items.on_sphere:
        state = (
            "balanced, as equal weight decay or a small start makes them: the cosines are those of that choice"
            if found.imbalance <= BALANCE_TOLERANCE
            else (
                "not balanced. Equal weight decay balances them in the end; unequal decay, decay that is weak or has "
                "had little time, and none all look like this"
            )
        )
        words.append(
            f"At the common scale that suits them best, A^T A and B^T B differ by {100 * found.imbalance:.1f} % of "
            f"the sum of their norms: the tables are {state}."
        )
    if found.balanced_overlap is not None:
        words.append(
            f"In the gauge that balances the tables, {100 * found.balanced_overlap:.0f} % of the top {found.k} by "
            "cosine are the same."
        )
    if found.score_overlap is not None:
        words.append(
            f"Of the top {found.k} by cosine, {100 * found.score_overlap:.0f} % are also nearest by the columns of "
            "scores (gauge.score_rows), a similarity that no gauge can change."
        )
    return words


def _on_counts(found: Cosines) -> list[str]:
    words = []
    if found.norm_count_correlation is not None:
        words.append(
            f"The correlation between length and count (not of logarithms) is {found.norm_count_correlation:.2f}. "
            "A dot product sees lengths, a cosine does not."
        )
    if found.axis is not None:
        words.append(
            "Along the popularity direction, found on other items, the correlation with the count is "
            f"{found.axis.correlation:.2f} (by chance 0, give or take {found.axis.chance:.2f}). Dot products and "
            "cosines see directions alike."
        )
    return words
