"""Do the cosines of an embedding table mean anything? A report on the reader's own tables.

`audit(items, users, counts)` measures what a table can say about itself, and `Report` puts it into words:

- are the rows on a sphere, and do the gauges that keep them there reduce to rotations (`course_lib.maths.gauge`);
- how far do the top-k cosine neighbours move under random gauges, all of which keep every score;
- with the other table: are the two balanced, as weight decay makes them, and do the cosines agree with the gauge-free
  ones;
- with counts: does length go with popularity.

A table cannot show *how* it was trained. Rows that were normalised after training lie on the sphere as well, and their
cosines are those of whatever gauge the training ended in. The report says so where it matters.

Command line: ``python -m course_lib audit ITEMS.npy [--users USERS.npy] [--counts COUNTS.npy]``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from course_lib import checking
from course_lib.maths import gauge, geometry
from course_lib.maths.popularity import norm_correlation

SPHERE_TOLERANCE = 1e-3  # relative: half-precision tables have rows within 0.1 % of their sphere
BALANCE_TOLERANCE = 0.05
LINEAR_WIDTH = 64  # wider tables have more than 2,080 unknowns: counted only when asked for
CANDIDATES, QUERIES = 20_000, 500
SPREADS = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class TableFacts:
    """One table: rows n, width k, rank.

    shortest, length, longest: least, median and greatest norm; unevenness: largest relative distance of a norm from the
    median; on_sphere: unevenness is below SPHERE_TOLERANCE; diagonal, linear: visible dimension of the gauges that keep
    all lengths (None where it was not computed); stiffness: least growth of the squared lengths (root mean square,
    relative) per unit of a diagonal gauge direction, 0 where one is free.
    """

    rows: int
    width: int
    rank: int
    shortest: float
    length: float
    longest: float
    unevenness: float
    on_sphere: bool
    diagonal: int
    linear: int | None
    stiffness: float


@dataclass(frozen=True)
class Report:
    """What `audit` found.

    overlap: {spread: share of the top-k neighbours that survive a random linear gauge of that spread}; chance: the
    share that two random lists have in common; allowed_overlap: what survives random gauges that keep all lengths, half
    way to the end of their range (None unless the rows are on a sphere and leave some freedom); imbalance: ||A^T A -
    B^T B|| / (||A^T A|| + ||B^T B||), 0 for balanced tables; score_overlap: share of the top-k by cosine that are also
    nearest by the columns of scores; two_sided: infinitesimal linear gauges that keep both tables' lengths;
    norm_count_correlation: Pearson's.
    """

    items: TableFacts
    users: TableFacts | None
    k: int
    candidates: int
    overlap: dict[float, float]
    chance: float
    allowed_overlap: float | None = None
    imbalance: float | None = None
    score_overlap: float | None = None
    two_sided: int | None = None
    norm_count_correlation: float | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> str:
        """ "fixed", "partly free" or "free": what the lengths of the rows leave of the gauge.

        "diagonally fixed": no diagonal gauge is left, and linear ones were not counted.
        """
        if not self.items.on_sphere:
            return "free"
        if self.items.linear == 0:
            return "fixed"
        if self.items.linear is None and self.items.diagonal == 0:
            return "diagonally fixed"
        return "fixed" if self.users is not None and self.users.on_sphere and self.two_sided == 0 else "partly free"

    def sentences(self) -> list[str]:
        """The report in plain language, one finding a sentence group."""
        parts = (_on_lengths, _on_freedom, _on_neighbours, _on_users, _on_counts)
        return [sentence for part in parts for sentence in part(self)] + [*self.notes]

    def text(self, width: int = 76) -> str:
        """The sentences, wrapped, with the verdict on top."""
        head = f"Verdict: the lengths of the rows leave the gauge {self.verdict.upper()}."
        lines = [textwrap.fill(text, width, initial_indent="- ", subsequent_indent="  ") for text in self.sentences()]
        return "\n".join([head, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = asdict(self) | {"verdict": self.verdict}
        return found | {"overlap": {f"{spread:g}": share for spread, share in self.overlap.items()}}


def audit(
    items: Any,
    users: Any = None,
    counts: Any = None,
    *,
    k: int = 10,
    draws: int = 3,
    rng: Generator,
    wide: bool = False,
) -> Report:
    """The report on an item table (n, d), optionally with the user table (m, d) and the items' counts (n,).

    k: neighbours looked at; draws: random gauges for each spread; wide: count linear gauges also for d > 64 (slow).
    Above 20,000 items a random part of them is searched, for 500 of them. Raises ValueError for tables that are no
    numeric matrices, hold NaN or zero rows, do not fit each other, or have fewer than k + 2 items.
    """
    items = _matrix(items, "items")
    users = None if users is None else _matrix(users, "users")
    if users is not None:
        checking.same_width(users, items, "users", "items")
    if len(items) < k + 2:
        raise ValueError(f"items has {len(items)} rows; {k} neighbours need at least {k + 2}")
    notes = []
    facts = _facts(items, wide, rng)
    other = None if users is None else _facts(users, wide, rng)
    part = items if len(items) <= CANDIDATES else items[rng.choice(len(items), CANDIDATES, replace=False)]
    if len(part) < len(items):
        notes.append(f"Neighbours were looked for among {len(part):,} items drawn at random out of {len(items):,}.")
    queries = rng.choice(len(part), min(QUERIES, len(part)), replace=False)
    before = gauge.neighbours(part, k, queries=queries)
    overlap = {spread: _survivors(part, before, queries, spread, draws, rng) for spread in SPREADS}
    extra: dict[str, Any] = {}
    if facts.on_sphere and facts.linear:
        extra["allowed_overlap"] = _survivors_on_the_sphere(items, part, before, queries, draws, rng)
    if users is not None:
        extra["imbalance"] = _imbalance(users, items)
        rows = gauge.score_rows(users, part)
        if (geometry.norm(rows) > 0).all():
            by_score = gauge.neighbours(rows, k, queries=queries)
            extra["score_overlap"] = float(gauge.neighbour_overlap(before, by_score).mean())
        else:
            notes.append("Some items have the score 0 with every user, so cosines of scores were not computed.")
        if facts.on_sphere and other is not None and other.on_sphere and (wide or items.shape[1] <= LINEAR_WIDTH):
            extra["two_sided"] = gauge.two_sided_linear_dimension(_sample(users, rng), _sample(items, rng))
    if counts is not None:
        extra["norm_count_correlation"] = _count_correlation(items, counts, notes)
    return Report(facts, other, k, len(part), overlap, k / (len(part) - 1), notes=tuple(notes), **extra)


# ---- measurements


def _facts(table: np.ndarray, wide: bool, rng: Generator) -> TableFacts:
    n, width = table.shape
    norms = geometry.norm(table)
    length = float(np.median(norms))
    squares = gauge.squares(table / norms[:, None])
    sigma = np.linalg.svd(squares, compute_uv=False)
    stiffness = float(sigma[width - 1] / math.sqrt(n)) if n >= width else 0.0
    diagonal = gauge.visible_diagonal_dimension(table)
    linear = gauge.visible_linear_dimension(_enough_rows(table, rng)) if wide or width <= LINEAR_WIDTH else None
    unevenness = float(np.abs(norms / length - 1).max())
    rank = int(np.linalg.matrix_rank(table))
    lengths = float(norms.min()), length, float(norms.max()), unevenness, unevenness <= SPHERE_TOLERANCE
    return TableFacts(n, width, rank, *lengths, diagonal, linear, 0.0 if diagonal else stiffness)


def _enough_rows(table: np.ndarray, rng: Generator) -> np.ndarray:
    """A sample of rows that alone leaves no linear freedom (more rows cannot add any), else the whole table."""
    sample = _sample(table, rng)
    small = len(sample) < len(table)
    return sample if small and gauge.visible_linear_dimension(sample) == 0 and _spans(sample, table) else table


def _sample(table: np.ndarray, rng: Generator) -> np.ndarray:
    size = 2 * table.shape[1] * (table.shape[1] + 1)
    return table if len(table) <= size else table[rng.choice(len(table), size, replace=False)]


def _spans(sample: np.ndarray, table: np.ndarray) -> bool:
    return int(np.linalg.matrix_rank(sample)) == int(np.linalg.matrix_rank(table))


def _survivors(
    part: np.ndarray, before: np.ndarray, queries: np.ndarray, spread: float, draws: int, rng: Generator
) -> float:
    """Mean overlap of the neighbours before and after random linear gauges of this spread."""
    k, shares = before.shape[1], []
    for _ in range(draws):
        R = gauge.random_linear_gauge(part.shape[1], spread=spread, rng=rng, rows=part)
        after = gauge.neighbours(np.linalg.solve(R, part.T).T, k, queries=queries)
        shares.append(gauge.neighbour_overlap(before, after).mean())
    return float(np.mean(shares))


def _survivors_on_the_sphere(
    items: np.ndarray, part: np.ndarray, before: np.ndarray, queries: np.ndarray, draws: int, rng: Generator
) -> float:
    """Mean overlap under gauges I + t E that keep all lengths, E a random direction.

    t lies half way to where I + t E stops being positive.
    """
    shares = []
    for E in gauge.random_linear_directions(items.astype(np.float64), draws, rng=rng):
        values = np.linalg.eigvalsh(E)
        R = gauge.linear_stretch_along(E, 0.5 / max(-values[0], values[-1]))
        after = gauge.neighbours(part @ R, before.shape[1], queries=queries)
        shares.append(gauge.neighbour_overlap(before, after).mean())
    return float(np.mean(shares))


def _imbalance(users: np.ndarray, items: np.ndarray) -> float:
    left, right = users.T @ users, items.T @ items
    return float(np.linalg.norm(left - right) / (np.linalg.norm(left) + np.linalg.norm(right)))


def _count_correlation(items: np.ndarray, counts: Any, notes: list[str]) -> float | None:
    counts = np.asarray(counts)
    if counts.shape != (len(items),):
        raise ValueError(f"counts has shape {counts.shape}; expected one number for each of the {len(items)} items")
    norms = geometry.norm(items)
    if np.ptp(norms) <= SPHERE_TOLERANCE * norms.mean() or np.ptp(counts) == 0:
        notes.append("All items have the same length, or the same count: there is no correlation to compute.")
        return None
    return float(norm_correlation(norms, counts))


def _matrix(table: Any, name: str) -> np.ndarray:
    """float64, or float32 for what is no longer than that."""
    array = checking.nonzero_rows(checking.table(table, name), name)
    return array.astype(np.float32 if array.dtype.itemsize <= 4 else np.float64)


# ---- words


def _on_lengths(report: Report) -> list[str]:
    facts = report.items
    if facts.on_sphere:
        return [
            f"All {facts.rows:,} item rows have the length {facts.length:.4g}: "
            f"they lie on a sphere of dimension {facts.width - 1}."
        ]
    return [
        f"Item rows have lengths from {facts.shortest:.3g} to {facts.longest:.3g} (median {facts.length:.3g}): "
        "they are not on a sphere."
    ]


def _on_freedom(report: Report) -> list[str]:
    facts, k = report.items, report.items.rank
    if not facts.on_sphere:
        return [
            f"If the loss sees only the scores, every invertible {facts.width} x {facts.width} matrix is a gauge, and "
            f"the cosines have {k * (k + 1) // 2 - 1} free parameters. Normalising the rows now does not remove them: "
            "it keeps the gauge that training ended in."
        ]
    learned = "If the rows were on the sphere during training, cosine is a function of what was learned."
    caution = "A table normalised after training looks the same: check the training code."
    words = [f"{learned} {caution}" if report.verdict == "fixed" else caution]
    if facts.linear == 0:
        words.append(
            "Held on this sphere, the item rows leave no linear gauge except rotations and reflections, which change "
            "no cosine."
        )
    elif facts.linear is None:
        words.append(
            f"Diagonal gauges that keep the lengths: {facts.diagonal} dimensions. Linear ones were not counted at "
            f"width {facts.width}; ask for it with --wide."
        )
    else:
        words.append(
            f"The lengths of the item rows leave {facts.linear} free dimensions of gauges that move cosines, "
            f"{facts.diagonal} of them diagonal: there are too few different rows, or they have a pattern, such as "
            "signs."
        )
    if report.two_sided:
        words.append(f"Holding the user rows as well leaves {report.two_sided} first-order dimensions.")
    elif report.two_sided == 0 and facts.linear:
        words.append(
            "With the user rows held as well, no gauge is left near the present one. A separate gauge far away is "
            "possible for few rows, and unlikely for many."
        )
    return words


def _on_neighbours(report: Report) -> list[str]:
    shares = ", ".join(f"{100 * share:.0f} % at spread {spread:g}" for spread, share in report.overlap.items())
    words = []
    if report.allowed_overlap is not None:
        words.append(
            f"Random gauges that keep all lengths and all scores leave {100 * report.allowed_overlap:.0f} % of the "
            f"top {report.k} by cosine."
        )
    what = "which only free lengths allow" if report.items.on_sphere else "every one of which keeps all scores"
    return [
        *words,
        f"Under random linear gauges, {what}, the top {report.k} by cosine keep: {shares} "
        f"(chance {100 * report.chance:.2g} %).",
    ]


def _on_users(report: Report) -> list[str]:
    if report.users is None:
        return ["No user table was given, so nothing can be said about weight decay and about gauge-free similarity."]
    words = []
    if report.imbalance is not None and not report.items.on_sphere:
        state = (
            "balanced, as weight decay or a small start makes them: the cosines are those of that choice"
            if report.imbalance <= BALANCE_TOLERANCE
            else ("not balanced: nothing in them looks like equal weight decay on both tables")
        )
        words.append(f"A^T A and B^T B differ by {100 * report.imbalance:.1f} % of their size: the tables are {state}.")
    if report.score_overlap is not None:
        words.append(
            f"Of the top {report.k} by cosine, {100 * report.score_overlap:.0f} % are also nearest by the columns of "
            "scores (gauge.score_rows), a similarity that no gauge can change."
        )
    return words


def _on_counts(report: Report) -> list[str]:
    if report.norm_count_correlation is None:
        return []
    return [
        f"The correlation between length and count is {report.norm_count_correlation:.2f}. "
        "A dot product sees it, a cosine does not."
    ]


# ---- command line


def cli(argv: list[str] | None = None) -> int:
    """`python -m course_lib audit ...`: 0 when a report was printed, 2 when the input was refused."""
    arguments = _parser().parse_args(argv)
    try:
        items, users, counts = (_load(getattr(arguments, name), name) for name in ("items", "users", "counts"))
        rng = np.random.default_rng(arguments.seed)
        report = audit(items, users, counts, k=arguments.k, rng=rng, wide=arguments.wide)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), indent=1) if arguments.json else report.text())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course_lib audit", description="Do the cosines of an embedding table mean anything?"
    )
    parser.add_argument("items", type=Path, metavar="ITEMS.npy", help="the item table, one row an item (numpy.save)")
    parser.add_argument("--users", type=Path, metavar="USERS.npy", help="the user table of the same width")
    parser.add_argument("--counts", type=Path, metavar="COUNTS.npy", help="how often each item was seen in training")
    parser.add_argument("-k", type=int, default=10, help="neighbours to look at (10)")
    parser.add_argument("--seed", type=int, default=0, help="of the random gauges (0)")
    parser.add_argument("--wide", action="store_true", help=f"count linear gauges above width {LINEAR_WIDTH} (slow)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    return parser


def _load(path: Path | None, name: str) -> np.ndarray | None:
    if path is None:
        return None
    if not path.is_file():
        raise ValueError(f"{name}: there is no file {path}")
    try:
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as problem:
        raise ValueError(f"{name}: {path} is no array that numpy.save wrote ({problem})") from None
    if not isinstance(loaded, np.ndarray):
        loaded.close()
        raise ValueError(f"{name}: {path} is an archive of several arrays; save the one that is meant with numpy.save")
    return loaded
