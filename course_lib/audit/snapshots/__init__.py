"""Two snapshots of a model: what changed up to a rotation, and whether the new one is worse.

    found = compare(old, new, again=other_seed, pairs=train, held_out=test, rng=numpy.random.default_rng(0))
    found.ids("fault")               # ["neighbours-changed", ...]

Command line: ``two-tower-audit OLD/ NEW/ [--again OTHER_SEED/] [--out changes.html] [--fail-on fault]``; a folder holds
items.npy (or another format) and, where there are any, users, pairs, held_out, item_ids, user_ids.

The JSON (`Comparison.to_dict`), schema_version "1":

    schema_version  "1"; it changes when a key changes its meaning or goes, not when one is added
    tool, options   as in a report (`course_lib.audit.report`)
    kind            "comparison"
    rows            {items: {old, new, again, shared}, users: the same or null}; again only where it was given
    faults          {old, new, again: ids of `verdicts.CATALOGUE`}
    read            {name of a table or of pairs: how much of it was read, and what as what}; for files alone
    verdicts        as in a report, with the ids of `verdicts.CHANGES`
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from course_lib import checking
from course_lib.audit.evidence import Evidence
from course_lib.audit.page import Answers, head
from course_lib.audit.pairs import Found
from course_lib.audit.questions.belonging import NAME as ROWS
from course_lib.audit.report import audit, bench_of, drawn_seed, found_in
from course_lib.audit.snapshots import questions, rows
from course_lib.audit.snapshots.change import change
from course_lib.audit.snapshots.rows import files_in as files_in
from course_lib.audit.snapshots.rows import match, snapshot_of
from course_lib.audit.snapshots.rows import read_snapshot as read_snapshot
from course_lib.audit.tables import Table
from course_lib.audit.training import Training
from course_lib.audit.verdicts import Verdict, counted, wrapped

SCHEMA_VERSION = "1"
HELD_OUT = "leaked-test-pairs"  # a fault of the split, which both snapshots share


@dataclass(frozen=True, repr=False)
class Comparison(Answers):
    """The answers, one for each of `verdicts.CHANGES`; rows: what was compared; faults: {snapshot: ids}. `ids` and
    `html` are those of `page.Answers`.
    """

    verdicts: tuple[Verdict, ...]
    rows: dict[str, Any]
    faults: dict[str, list[str]]
    options: dict[str, Any]
    source: str = "two snapshots"
    read: dict[str, str] = field(default_factory=dict)
    remedies = baselines = smaller = notes = ()  # of one model
    cosines = None
    rules, kind = questions.RULES, "What changed:"

    def __repr__(self) -> str:
        return f"Comparison({self.source}: {counted(self.verdicts)})"

    def text(self, width: int = 76) -> str:
        """What was read, and the verdicts with their support, in plain text."""
        lines = [wrapped(f"{name}: {said}.", width) for name, said in self.read.items()]
        return "\n".join([*lines, *(verdict.text(width) for verdict in self.verdicts)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: the module's docstring says which."""
        return {
            **head(SCHEMA_VERSION),
            "kind": "comparison",
            "rows": self.rows,
            "options": self.options,
            "faults": self.faults,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            **({"read": self.read} if self.read else {}),
        }

    @property
    def title(self) -> str:
        """The sources of both."""
        return self.source

    @property
    def facts(self) -> dict[str, Any]:
        """The rows, the options, the faults of each model and what was read."""
        named = {f"faults of the {name} model": ", ".join(ids) or "none" for name, ids in self.faults.items()}
        return {**self.rows, **self.options, **named, **{f"{name} read": said for name, said in self.read.items()}}


def compare(
    old: Any,
    new: Any,
    counts: Any = None,
    *,
    again: Any = None,
    pairs: Any = None,
    held_out: Any = None,
    training: Training | None = None,
    k: int = 10,
    rng: Generator,
    drop_zero_rows: bool = False,
    progress: bool = False,
) -> Comparison:
    """What changed from `old` to `new`: each a `Snapshot`, an item table, or (items, users), as `audit` takes tables.

    again: a second training of the old model, on the same data with another seed: the null of what chance moves.
    counts, pairs, held_out: over the rows of `new`, as `audit` takes them; counts default to those of the pairs. Rows
    are matched by ids where the tables have them (`Table.ids`), else by number; the models are audited on the rows that
    all share, with a bar on stderr for each where progress is asked for. Raises ValueError for what `audit` refuses,
    for widths that differ, for other numbers of rows without ids, for ids in some tables alone, and where fewer than
    k + 2 items are shared.
    """
    given = {"old": old, "new": new} | ({} if again is None else {"again": again})
    snapshots = {name: snapshot_of(each, name, drop_zero_rows=drop_zero_rows) for name, each in given.items()}
    checking.whole(k, "k")
    seed, given_seed = drawn_seed(rng)
    mine = snapshots["new"]
    if (pairs is not None or held_out is not None) and any(each.users is None for each in snapshots.values()):
        raise ValueError(
            "pairs were given, but not every snapshot has users; expected users, whose rows the pairs name"
        )
    found = {
        name: found_in(each, name, mine.users, mine.items) for name, each in (("pairs", pairs), ("held_out", held_out))
    }
    if counts is not None:
        counts = mine.items.aligned(checking.counts(counts, "counts", mine.items.size))
    elif found["pairs"] is not None:
        counts = found["pairs"].pairs.col_counts
    matched = match(snapshots, counts=counts, k=k, seed=seed, **found)
    evidence = matched.evidence
    own = seed if given_seed is None else given_seed  # an audit of one model with the same generator draws the same
    reports = {name: _audited(each, training or Training(), k, own, progress) for name, each in evidence.items()}
    faults = {name: [each.id for each in found if each.verdict == "fault"] for name, found in reports.items()}
    rows = {"items": matched.items, "users": matched.users}
    source = " to ".join(snapshots[name].items.source for name in ("old", "new"))
    options = {"k": k, "seed": given_seed}
    return Comparison(_verdicts(evidence, reports, k), rows, faults, options, source, _read(snapshots, found))


def _read(snapshots: dict[str, rows.Snapshot], found: dict[str, Found | None]) -> dict[str, str]:
    """What was read from files, and as what."""
    tables = {
        f"{name} {side}": table
        for name, each in snapshots.items()
        for side, table in (("items", each.items), ("users", each.users))
    }
    both: dict[str, Table | Found | None] = {**tables, **{name.replace("_", "-"): each for name, each in found.items()}}
    return {name: each.read for name, each in both.items() if each is not None and each.read}


def _verdicts(evidence: dict[str, Evidence], reports: dict[str, list[Verdict]], k: int) -> tuple[Verdict, ...]:
    old, new = evidence["old"], evidence["new"]
    moved, chance = change(old, new), change(old, evidence["again"]) if "again" in evidence else None
    benches = [bench for each in evidence.values() if (bench := bench_of(each)) is not None]
    return (
        questions.neighbours_changed(moved, chance, k),
        questions.lists_changed(moved, chance, k),
        questions.lengths_drifted(moved, chance, old, new),
        questions.centre_moved(moved, chance),
        questions.quality_dropped(benches, k, [name for name, found in reports.items() if _mismatched(found)]),
        questions.new_faults(reports["old"], reports["new"], reports.get("again")),
    )


def _mismatched(verdicts: list[Verdict]) -> bool:
    return any(verdict.id == ROWS and verdict.verdict == "fault" for verdict in verdicts)


def _audited(evidence: Evidence, training: Training, k: int, seed: int, progress: bool) -> list[Verdict]:
    """The verdicts on one model, on the shared rows; the split's is no change of the model."""
    report = audit(
        evidence.items,
        evidence.users,
        evidence.counts,
        pairs=evidence.pairs,
        held_out=evidence.held_out,
        training=training,
        k=k,
        draws=1,
        rng=np.random.default_rng(seed),
        progress=progress,
    )
    return [verdict for verdict in report.verdicts if verdict.id != HELD_OUT]
