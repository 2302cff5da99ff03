"""Two snapshots of one model, and the rows that both have: by ids, or by number where neither has ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.audit.evidence import Evidence, part_of
from course_lib.audit.files import READERS, read_table
from course_lib.audit.pairs import Found
from course_lib.audit.schema import INFERRED, Schema
from course_lib.audit.sources import PACKED, STEMS, is_parts, refuse_file
from course_lib.audit.tables import AnyArray, Ids, Table, table_of
from course_lib.interactions import Interactions

FOLDER = "a folder with items.npy (or another format of tables), and where there are any users, pairs and held_out"


@dataclass(frozen=True)
class Snapshot:
    """The tables of one training; their ids, where they have any, say which rows are the same item or user."""

    items: Table
    users: Table | None = None


def snapshot_of(values: Any, name: str, *, drop_zero_rows: bool = False) -> Snapshot:
    """`values`: a `Snapshot`, one table, or (items, users)."""
    if isinstance(values, Snapshot):
        return values
    both = values if isinstance(values, tuple) else (values,)
    if len(both) not in (1, 2):
        raise ValueError(f"{name} holds {len(both)} tables; expected the items, or (items, users)")
    parts = zip(both, ("items", "users"), strict=False)
    return Snapshot(*(table_of(each, f"{name} {side}", drop_zero_rows=drop_zero_rows) for each, side in parts))


def read_snapshot(text: str, name: str, *, schema: Schema = INFERRED, drop_zero_rows: bool = False) -> Snapshot:
    """The tables of a folder (`files_in`), or of one file (or folder of its parts) with the items."""
    if not Path(text).is_dir() or is_parts(Path(text)):
        return Snapshot(read_table(text, f"{name} items", schema=schema, drop_zero_rows=drop_zero_rows))
    more: Any = {"schema": schema, "drop_zero_rows": drop_zero_rows}
    files = files_in(Path(text), name)

    def table(side: str, ids: str) -> Table:
        return read_table(files[side], f"{name} {side}", ids=files.get(ids), **more)

    return Snapshot(table("items", "item_ids"), table("users", "user_ids") if "users" in files else None)


def files_in(folder: Path, name: str) -> dict[str, str]:
    """{stem: file} of the STEMS in a folder. Raises ValueError without items, and where one comes in two files."""
    found, packed = dict[str, str](), dict[str, str]()
    for path in sorted(folder.iterdir()):
        stem, (start, *behind) = path.stem.replace("-", "_"), path.name.replace("-", "_").split(".")
        if start in STEMS and len(behind) in (1, 2) and path.suffix.lower() in PACKED:
            packed[start] = path.name
        if stem not in STEMS or not (path.is_file() or is_parts(path)):
            continue
        if stem in found:
            raise refuse_file(name, folder, f"it holds {Path(found[stem]).name} and {path.name}", "one of them")
        found[stem] = str(path)
    if alone := [file for stem, file in packed.items() if stem not in found]:
        raise refuse_file(name, folder, f"{alone[0]} is compressed", "the file that is in it")
    if "items" not in found:
        endings = ", ".join(READERS)
        raise refuse_file(name, folder, f"it holds no file items with one of the endings {endings}", FOLDER)
    return found


def common(tables: Mapping[str, Table], side: str, least: int) -> list[Ids]:
    """For each table the places of the rows that all have, in one order. tables: {name: table}; side: for messages.

    Raises ValueError where only some have ids, where none has and the numbers of rows differ, and below `least`.
    """
    named = {name: table.ids is not None for name, table in tables.items()}
    if len(set(named.values())) == 2:
        with_ids, without = (next(name for name in named if named[name] is has) for has in (True, False))
        raise ValueError(
            f"the {with_ids} {side} have ids, the {without} {side} none; expected ids in both or in neither"
        )
    sizes = {name: table.size for name, table in tables.items()}
    if not any(named.values()) and len(set(sizes.values())) > 1:
        raise ValueError(
            f"the numbers of rows differ: {_listed(tables, side, sizes)}; expected the same number, or ids that say "
            "which row is which (of one model, the second table goes after --users)"
        )
    names = [table.kept if table.ids is None else table.ids[table.kept] for table in tables.values()]
    if any(each.dtype.kind not in "iu" for each in names):
        names = [each.astype(str) for each in names]
    shared = names[0]
    for each in names[1:]:
        shared = np.intersect1d(shared, each)
    if len(shared) < least:
        examples = " and ".join(f"{name} has ids such as {each[0]}" for name, each in zip(tables, names, strict=True))
        raise ValueError(f"the snapshots share {len(shared)} {side} ({examples}); expected at least {least}")
    return [_places(each, shared) for each in names]


def _listed(tables: Mapping[str, Table], side: str, values: Mapping[str, int]) -> str:
    """What messages say of some tables, with their files."""
    files = {name: "" if table.source == "memory" else f" ({table.source})" for name, table in tables.items()}
    return ", ".join(f"the {name} {side}{files[name]} {value:,}" for name, value in values.items())


def _places(names: AnyArray, shared: AnyArray) -> Ids:
    order = np.argsort(names, kind="stable")
    places: Ids = order[np.searchsorted(names, shared, sorter=order)]
    return places


@dataclass(frozen=True)
class Matched:
    """The snapshots on their common rows, as evidence; items, users: rows of each, and how many they share."""

    evidence: dict[str, Evidence]
    items: dict[str, int]
    users: dict[str, int] | None


def match(
    snapshots: Mapping[str, Snapshot],
    *,
    counts: AnyArray | None,
    pairs: Found | None,
    held_out: Found | None,
    k: int,
    seed: int,
) -> Matched:
    """counts, pairs, held_out: over the rows of the snapshot "new"."""
    items = {name: each.items for name, each in snapshots.items()}
    widths = {name: table.rows.shape[1] for name, table in items.items()}
    if len(set(widths.values())) > 1:
        listed = _listed(items, "items", widths)
        raise ValueError(f"the widths differ: {listed}; expected one width, so that a rotation can align the tables")
    for name, each in snapshots.items():
        if each.users is not None:
            checking.same_width(each.users.rows, each.items.rows, f"{name} users", f"{name} items")
    places = dict(zip(items, common(items, "items", k + 2), strict=True))
    tables = {name: each.users for name, each in snapshots.items() if each.users is not None}
    people = dict(zip(tables, common(tables, "users", 1), strict=True)) if len(tables) == len(snapshots) else None
    train, test = (_of(found, places["new"], None if people is None else people["new"]) for found in (pairs, held_out))
    if train is not None and test is not None:
        test = test.select(~train.contains(test.users, test.items))
    seen = None if counts is None else counts[places["new"]].astype(np.float64)
    evidence = {
        name: Evidence(
            each.items.rows[places[name]],
            None if people is None else tables[name].rows[people[name]],
            seen,
            train,
            test,
            k=k,
            seed=seed,
        )
        for name, each in snapshots.items()
    }
    rows = {name: len(each.items.rows) for name, each in snapshots.items()} | {"shared": len(places["new"])}
    users = None
    if people is not None:
        users = {name: len(each.rows) for name, each in tables.items()} | {"shared": len(people["new"])}
    return Matched(evidence, rows, users)


def _of(found: Found | None, items: Ids, users: Ids | None) -> Interactions | None:
    """The pairs of the shared rows alone, relabelled in their order."""
    return None if found is None or users is None else part_of(found.pairs, users, items)
