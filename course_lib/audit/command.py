"""`two-tower-audit`, and `python -m course_lib audit`: from the files of a model to a report.

Exit status: 0 whatever is found, 1 with `--fail-on fault` where there is a fault, 2 where the input was refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from course_lib import __version__
from course_lib.audit.cosines import LINEAR_WIDTH
from course_lib.audit.files import read_counts, read_table
from course_lib.audit.pairs import read_pairs
from course_lib.audit.report import Report, audit
from course_lib.audit.training import LOSSES, Training, read_training
from course_lib.data.interactions import NEGATIVE_LAWS

FAULT, REFUSED = 1, 2
TRAINING = tuple(field.name for field in fields(Training))


def main() -> None:
    """The console script."""
    sys.exit(cli())


def cli(argv: list[str] | None = None) -> int:
    """0 when a report was made, 1 where `--fail-on fault` found one, 2 when the input was refused."""
    given = _parser().parse_args(argv)
    try:
        report = _audited(given)
        for path, text in ((given.out, report.html), (given.json, lambda: _json(report))):
            if path is not None and path != "-":
                Path(path).write_text(text(), encoding="utf-8")
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    print(_json(report) if given.json == "-" else report.text())
    return FAULT if given.fail_on == "fault" and report.ids("fault") else 0


def _audited(given: argparse.Namespace) -> Report:
    where = given.items or given.table
    if where is None or (given.items and given.table):
        raise ValueError("items: the item table was given twice or not at all; expected --items ITEMS, once")
    training = read_training(given.training) if given.training else {}
    training |= {name: value for name in TRAINING if (value := getattr(given, name)) is not None}
    items = read_table(where, "items", ids=given.item_ids, drop_zero_rows=given.drop_zero_rows)
    users = pairs = held_out = None
    if given.users is not None:
        users = read_table(given.users, "users", ids=given.user_ids, drop_zero_rows=given.drop_zero_rows)
    if (given.pairs or given.held_out) and users is None:
        raise ValueError("users: pairs were given without a user table; expected --users USERS, whose rows they name")
    if given.pairs and users is not None:
        pairs = read_pairs(given.pairs, "pairs", users, items)
    if given.held_out and users is not None:
        held_out = read_pairs(given.held_out, "held_out", users, items)
    return audit(
        items,
        users,
        None if given.counts is None else read_counts(given.counts),
        pairs=pairs,
        held_out=held_out,
        training=Training(**training),
        k=given.k,
        rng=np.random.default_rng(given.seed),
        wide=given.wide,
        drop_zero_rows=given.drop_zero_rows,
        progress=sys.stderr.isatty(),
    )


def _json(report: Report) -> str:
    return json.dumps(report.to_dict(), indent=1, allow_nan=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="two-tower-audit",
        description="What the course's theorems say about a trained two-tower model.",
        epilog="Tables: .npy, .npz, .pt, .safetensors, .parquet; pairs: .npz, .npy, .csv, .parquet. FILE#NAME picks "
        "one of several arrays. No pickle is ever loaded. Exit status: 0; 1 with --fail-on fault; 2 for bad input.",
    )
    add: Any = parser.add_argument
    add("table", nargs="?", metavar="ITEMS", help="the item table, one row an item; the same as --items")
    add("--items", metavar="ITEMS", help="the item table")
    add("--users", metavar="USERS", help="the user table of the same width")
    add("--counts", metavar="COUNTS", help="how often each item was seen in training (default: as in --pairs)")
    add("--pairs", metavar="PAIRS", help="the training pairs")
    add("--held-out", metavar="PAIRS", help="pairs that were not trained on")
    add("--item-ids", metavar="FILE", help="the item of each row, as the pairs call it, where the table does not say")
    add("--user-ids", metavar="FILE", help="the same for the users")
    add("--training", type=Path, metavar="FILE.toml", help=f"what is known of the training: {', '.join(TRAINING)}")
    add("--loss", choices=LOSSES, metavar="LOSS", help=f"one of {', '.join(LOSSES)}")
    add("--batch-size", type=int, metavar="N", help="pairs in a batch")
    add("--temperature", type=float, metavar="T", help="what the softmax divides the scores by")
    add("--logq", action="store_true", default=None, help="the softmax was corrected by log(item probability)")
    add("--negatives", choices=NEGATIVE_LAWS, metavar="LAW", help=f"one of {', '.join(NEGATIVE_LAWS)}")
    add("-k", type=int, default=10, help="neighbours to look at, and length of the lists (10)")
    add("--seed", type=int, default=0, help="of everything that is drawn (0)")
    add("--wide", action="store_true", help=f"count linear gauges above width {LINEAR_WIDTH} (slow)")
    add("--drop-zero-rows", action="store_true", help="leave out zero rows, with their counts and pairs")
    add("--out", metavar="FILE.html", help="write the report as one page of HTML")
    add(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE.json",
        help="write the numbers as JSON; without a file, print them",
    )
    add("--fail-on", choices=("fault",), help="exit with 1 where a fault was found")
    add("--version", action="version", version=f"%(prog)s {__version__}")
    return parser
