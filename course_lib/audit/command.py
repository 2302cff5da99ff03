"""`two-tower-audit`, and `python -m course_lib audit`: from the files of a model, or of two snapshots, to a report.

Exit status: 0 whatever is found, 1 with `--fail-on fault` where there is a fault and for nothing else, 2 where the
input was refused or the command itself failed (`--traceback` says where).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import __version__, checking, outputs
from course_lib.audit.cosines import LINEAR_WIDTH
from course_lib.audit.files import read_counts, read_table
from course_lib.audit.pairs import Found, read_pairs, refuse_names_as_pairs
from course_lib.audit.report import Report, audit
from course_lib.audit.schema import declared, refuse_unknown
from course_lib.audit.snapshots import Comparison, compare
from course_lib.audit.snapshots.rows import files_in, read_snapshot
from course_lib.audit.sources import STEMS, is_parts
from course_lib.audit.tables import Table
from course_lib.audit.training import LOSSES, NEGATIVES, SOFTMAX, Training, read_training
from course_lib.in_batch import KINDS

FAULT, REFUSED = 1, 2
SNAPSHOT = "OLD/ and NEW/ (files items, users, pairs, held_out, counts, item_ids, user_ids)"
ONE_MODEL = "one model with users, pairs and held-out pairs"
TRAINING = tuple(field.name for field in fields(Training))


def main() -> None:
    """The console script."""
    try:
        sys.exit(cli())
    except BrokenPipeError:  # `... | head`: who reads has read enough; no 1, which means a fault
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python says it once more at its end
        sys.exit(REFUSED)


def cli(argv: list[str] | None = None) -> int:
    """0 when a report was made, 1 where `--fail-on fault` found one, 2 when there is no report."""
    try:
        given = _parser().parse_args(argv)
    finally:  # --help leaves its text in the buffer: see below
        sys.stdout.flush()
    try:
        report = _answered(given)
        written = {given.out: report.html, given.json: lambda: _json(report), given.markdown: report.markdown}
        files = [path for path in written if path is not None and path != "-"]
        for path in files:
            Path(path).write_text(written[path](), encoding="utf-8")
        if given.remedies is not None:
            _write_remedies(report, Path(given.remedies))
            files.append(given.remedies)
        said = f"{report.text()}\n\nWritten: {', '.join(map(str, files))}" if files else report.text()
        # flushed here, where a reader that is gone is no fault: not at Python's end, which would exit with 120
        print(_json(report) if given.json == "-" else said, flush=True)
    except BrokenPipeError:
        raise
    except Exception as error:  # whatever it is, it is no fault of the model, whose exit status is 1
        if given.traceback:
            traceback.print_exc()
        print(_line(error), file=sys.stderr)
        return REFUSED
    return FAULT if given.fail_on == "fault" and report.ids("fault") else 0


def _line(error: Exception) -> str:
    """What a user reads of an error: the message of a refusal; of any other error also its kind, in one line."""
    if isinstance(error, ValueError | OSError):
        return f"error: {error}"
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return f"error: the command itself failed ({what}); --traceback says where"


def report_of(arguments: list[str]) -> Report | Comparison:
    """What the command says to these arguments, as an object: for notebooks. ValueError where it refuses the input.

    ["my-model"] is a folder, ["old", "new"] are two snapshots, ["--items", "films.pt"] is as in a shell.
    """
    try:
        given = _parser().parse_args(arguments)
    except SystemExit:
        raise ValueError(f"arguments are {arguments}; expected those of two-tower-audit --help") from None
    return _answered(given)


def _answered(given: argparse.Namespace) -> Report | Comparison:
    checking.whole(given.seed, "--seed", 0)
    _check_outputs(given)
    if given.new is None and given.again is None:
        return _audited(given)
    if given.table is None or given.new is None:
        raise ValueError("old and new: one snapshot was given; expected two, OLD and NEW, before --again OTHER_SEED")
    for name in ("items", "users", "item_ids", "user_ids"):
        if getattr(given, name) is not None:
            what = f"--{name.replace('_', '-')} was given with two snapshots"
            raise ValueError(f"{what}; expected the tables in the folders {SNAPSHOT}")
    return _compared(given)


def _check_outputs(given: argparse.Namespace) -> None:
    """Raises ValueError for what could not be written, before anything is computed."""
    for name in ("out", "json", "markdown"):
        value = getattr(given, name)
        path = Path("-" if value is None else value)
        if path.is_dir() or not path.parent.is_dir():
            what = "this is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise ValueError(f"--{name}: {path}: {what}; expected a file in a folder that there is")
        if value not in (None, "-"):
            outputs.file(path, f"--{name}")
    if given.remedies is not None:
        folder = Path(given.remedies).resolve()
        there = next(each for each in (folder, *folder.parents) if each.exists())
        if not there.is_dir():
            raise ValueError(f"--remedies: {there} is a file; expected a folder")
        if given.new is not None:
            raise ValueError(f"--remedies: two snapshots were given; expected {ONE_MODEL}")
        made = [each for each in (folder, *folder.parents) if not each.exists()]
        outputs.folder(folder, "--remedies")
        for each in made:  # a run that is refused leaves none
            each.rmdir()


def _compared(given: argparse.Namespace) -> Comparison:
    where = {"old": given.table, "new": given.new} | ({"again": given.again} if given.again else {})
    more: Any = {"schema": declared(given.columns), "drop_zero_rows": given.drop_zero_rows}
    read = {name: read_snapshot(each, name, **more) for name, each in where.items()}
    _take_from_folder(given, given.new, "new", ("pairs", "held_out", "counts"))
    new = read["new"]
    pairs, held_out = _pairs(given, new.users, new.items)
    tables = (side for one in read.values() for side in (one.items, one.users))
    refuse_unknown(more["schema"], (one.schema for one in (*tables, pairs, held_out) if one is not None))
    return compare(
        read["old"],
        new,
        None if given.counts is None else read_counts(given.counts, new.items.size),
        again=read.get("again"),
        pairs=pairs,
        held_out=held_out,
        **_common(given),
    )


def _audited(given: argparse.Namespace) -> Report:
    if given.table is not None and given.items is None and _is_model(given.table):
        folder, given.table = given.table, None
        _take_from_folder(given, folder, "items", STEMS)
    where = given.items or given.table
    if where is None or (given.items and given.table):
        taken = {name: getattr(given, name) for name in ("index", "json")}
        said = "".join(f" (--{name} took {value})" for name, value in taken.items() if value not in (None, "", "-"))
        raise ValueError(f"items: the item table was given twice or not at all{said}; expected --items ITEMS, once")
    if given.remedies is not None and None in (given.users, given.pairs, given.held_out):
        raise ValueError(f"--remedies: no remedy could be measured; expected {ONE_MODEL}")
    more: Any = {"schema": declared(given.columns), "drop_zero_rows": given.drop_zero_rows}
    items = read_table(where, "items", ids=given.item_ids, **more)
    users = None
    if given.users is not None:
        users = read_table(given.users, "users", ids=given.user_ids, **more)
    pairs, held_out = _pairs(given, users, items)
    refuse_unknown(more["schema"], (one.schema for one in (items, users, pairs, held_out) if one is not None))
    return audit(
        items,
        users,
        None if given.counts is None else read_counts(given.counts, items.size),
        pairs=pairs,
        held_out=held_out,
        wide=given.wide,
        index=given.index,
        drop_zero_rows=given.drop_zero_rows,
        **_common(given),
    )


def _is_model(folder: str) -> bool:
    """Whether this is a folder with the files of a model, and not one with the parts of a table."""
    return Path(folder).is_dir() and not is_parts(Path(folder))


def _take_from_folder(given: argparse.Namespace, folder: str, name: str, stems: tuple[str, ...]) -> None:
    """Sets the options that were not given to the files of the folder, where there are such."""
    if _is_model(folder):
        for stem, path in files_in(Path(folder), name).items():
            if stem in stems and getattr(given, stem) is None:
                setattr(given, stem, path)


def _pairs(given: argparse.Namespace, users: Table | None, items: Table) -> tuple[Found | None, Found | None]:
    if (given.pairs or given.held_out) and users is None:
        raise ValueError("users: pairs were given without a user table; expected --users USERS, whose rows they name")
    schema = declared(given.columns)
    found = [
        read_pairs(where, name, users, items, schema) if where and users is not None else None
        for name, where in (("pairs", given.pairs), ("held_out", given.held_out))
    ]
    refuse_names_as_pairs(found)
    return found[0], found[1]


def _common(given: argparse.Namespace) -> dict[str, Any]:
    """What is asked of one model, and of two."""
    known = read_training(given.training) if given.training else {}
    known |= {name: value for name in TRAINING if (value := getattr(given, name)) is not None}
    rng, progress = np.random.default_rng(given.seed), sys.stderr.isatty()
    return {"training": Training(**known), "k": given.k, "rng": rng, "progress": progress}


def _write_remedies(report: Report | Comparison, folder: Path) -> None:
    """FOLDER/<remedy>/users.npy and items.npy of each remedy: the audited rows, in the order of their files."""
    if isinstance(report, Comparison) or not report.remedies:  # few users with both, or all items with one count
        raise ValueError(f"--remedies: no remedy could be measured; expected {ONE_MODEL}")
    assert report.evidence is not None
    places = (report.evidence.user_places, report.evidence.places)
    for effect in report.remedies:
        where = folder / effect.remedy.replace(",", "").replace(" ", "-")
        where.mkdir(parents=True, exist_ok=True)
        for name, table, rows in zip(("users", "items"), report.remedied(effect.remedy), places, strict=True):
            np.save(where / f"{name}.npy", table if rows is None else table[np.argsort(rows)])


def _json(report: Report | Comparison) -> str:
    return json.dumps(report.to_dict(), indent=1, allow_nan=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="two-tower-audit",
        description="What the course's theorems say about a trained two-tower model.",
        epilog="Tables: .npy, .npz, .pt, .safetensors, .parquet, flat .faiss, .vec; pairs: .npz, .npy, .csv, .parquet; "
        "folders of Parquet parts. FILE#NAME picks "
        "one of several arrays. In a folder lie files named items, users, pairs, held_out, counts, item_ids, user_ids, "
        "those that there are. No pickle is ever loaded. Exit status: 0; 1 with --fail-on fault; 2 for "
        "bad input, or where the command itself fails.",
    )
    add: Any = parser.add_argument
    add("table", nargs="?", metavar="ITEMS", help="the item table, one row an item, or a folder with a model's files")
    add("new", nargs="?", metavar="NEW", help="a newer snapshot: says what changed from the first to this one")
    add("--again", metavar="OTHER_SEED", help="the old model trained again with another seed: what chance changes")
    add("--items", metavar="ITEMS", help="the item table")
    add("--users", metavar="USERS", help="the user table of the same width")
    add("--counts", metavar="COUNTS", help="how often each item was seen in training (default: as in --pairs)")
    add("--pairs", metavar="PAIRS", help="the training pairs")
    add("--held-out", metavar="PAIRS", help="pairs that were not trained on")
    add("--item-ids", metavar="FILE", help="the item of each row, as the pairs call it, where the table does not say")
    add("--user-ids", metavar="FILE", help="the same for the users")
    add(
        "--columns",
        nargs="+",
        default=[],
        metavar="NAME=COLUMN",
        help="what columns are called, in tables and in pairs: id, user, item, time, rating, dimensions, ignored "
        "(user=uid item=sku ignored=price,age); - for none; without it, it is inferred and said",
    )
    add("--training", type=Path, metavar="FILE.toml", help=f"what is known of the training: {', '.join(TRAINING)}")
    kinds = ", ".join(KINDS)
    add(
        "--loss",
        choices=LOSSES,
        metavar="LOSS",
        help=f"{SOFTMAX}, as most two-tower models have; a loss of single pairs over the grid of a batch ({kinds}); "
        f"{', '.join(loss for loss in LOSSES if loss not in (SOFTMAX, *KINDS))}",
    )
    add("--batch-size", type=int, metavar="N", help="pairs in a batch")
    add("--temperature", type=float, metavar="T", help="what the softmax divides the scores by")
    add("--logq", action="store_true", default=None, help="the softmax was corrected by log(item probability)")
    add("--negatives", choices=NEGATIVES, metavar="LAW", help=f"law of BPR's negatives: one of {', '.join(NEGATIVES)}")
    add("-k", type=int, default=10, help="neighbours to look at, and length of the lists (10)")
    add("--seed", type=int, default=0, help="of everything that is drawn (0)")
    add("--wide", action="store_true", help=f"count linear gauges above width {LINEAR_WIDTH} (slow)")
    add(
        "--index",
        nargs="?",
        const="",
        metavar="FILE.faiss",
        help="build IVF, HNSW, PQ and int8 with faiss: what they find of the exact lists; with FILE, your own too",
    )
    add("--drop-zero-rows", action="store_true", help="leave out zero rows, with their counts and pairs")
    add("--out", metavar="FILE.html", help="write the report as one page of HTML")
    add(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE.json",
        help="write the numbers as JSON; without a file, print them",
    )
    add("--markdown", metavar="FILE.md", help="write a summary, such as for a pull request")
    add("--remedies", metavar="FOLDER", help="write the new tables of each remedy that was measured into a folder")
    add("--fail-on", choices=("fault",), help="exit with 1 where a fault was found")
    add("--traceback", action="store_true", help="say where an error arose")
    add("--version", action="version", version=f"%(prog)s {__version__}")
    return parser
