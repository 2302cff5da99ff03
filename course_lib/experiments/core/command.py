"""The command line of the experiments.

`python -m course_lib experiments list` shows them; `... experiments run P3-T6 --scale laptop --seeds 0 1 2` runs one.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from course_lib.experiments.core import registry
from course_lib.experiments.core.provenance import results_folder


def cli(argv: list[str]) -> int:
    """Runs one command line; returns its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.action(arguments))
    except ValueError as error:
        print(f"error: {error}")
        return 2


def _list(arguments: argparse.Namespace) -> int:
    for name in registry.names():
        chosen = registry.get(name)
        print(f"{name:<12} {chosen.title}")
        for scale in registry.SCALES:
            cells = registry.cells_of(name, scale)
            needed = registry.duration(sum(chosen.estimate(cell) for cell in cells))
            stored = "stored" if (results_folder() / f"{name}-{scale}.json").is_file() else "not run"
            sets = ", ".join(sorted({str(cell.get("data", "–")) for cell in cells}))
            print(f"    {scale:<7} {len(cells):>4} cells a seed, about {needed:<8} {stored:<8} {sets}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    only = dict(_pair(text) for text in arguments.only)
    options: dict[str, Any] = dict(_pair(text) for text in arguments.option)
    result = registry.run(
        arguments.id, arguments.scale, seeds=arguments.seeds, only=only or None, collect=arguments.collect, **options
    )
    if not arguments.no_write:
        print(f"written: {result.save()}")
    print(result.to_markdown())
    return 0


def _pair(text: str) -> tuple[str, object]:
    """`key=value` with a JSON value, or plain text where it is no JSON: ratio=[0.1,0.01], pointwise=square."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r}: expected key=value, such as pointwise=square")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course_lib experiments", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="list | run")
    listing = actions.add_parser("list", help="every experiment, with its scales, cells and estimated time")
    listing.set_defaults(action=_list)
    running = actions.add_parser("run", help="run one experiment, or go on with it, and store its result")
    running.set_defaults(action=_run)
    running.add_argument("id", help="such as P3-T6")
    running.add_argument("--scale", choices=registry.SCALES, default=os.environ.get("COURSE_SCALE", "smoke"))
    running.add_argument("--seeds", type=int, nargs="+", default=[0])
    running.add_argument("--only", nargs="+", default=[], metavar="KEY=VALUE", help="only the cells with these values")
    running.add_argument(
        "--option", nargs="+", default=[], metavar="KEY=VALUE", help="options of the experiment, such as device=cuda"
    )
    running.add_argument("--collect", action="store_true", help="run nothing: gather the cells that are stored")
    running.add_argument("--no-write", action="store_true", help="print the result and store no file in book/results")
    return parser
