"""The command line of the experiments.

`python -m course_lib experiments list` shows them and which stored results are stale; `... experiments run P3-T6
--scale laptop --seeds 0 1 2` runs one, or goes on with it, with `--extend` from its stored result; `... experiments
queue --minutes 14` runs what fits into the time for which a GPU is lent; `... experiments again` makes those anew whose
code has changed; `... experiments verify` runs some cells again and vouches for what
agrees.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib import checking, outputs
from course_lib.experiments.core import beside, code, dealt, extend, out, own_data, own_run, queue, registry, verify
from course_lib.experiments.core.provenance import lost_commits, results_folder
from course_lib.experiments.core.results import load_result


def cli(argv: list[str]) -> int:
    """Runs one command line; returns its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.action(arguments))
    except (ValueError, OSError) as error:  # OSError: a download that failed, a folder that may not be written
        print(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        print("\nstopped; finished cells are kept: the same command goes on from there")
        return 130


def _results_can_be_written() -> None:
    outputs.folder(results_folder(), "the folder of results (COURSE_RESULTS)")


def _list(arguments: argparse.Namespace) -> int:
    for name in registry.names():
        chosen = registry.get(name)
        print(f"{name:<12} {chosen.title}")
        for scale in registry.SCALES:
            cells = registry.cells_of(name, scale)
            needed = registry.about(sum(chosen.estimate(cell) for cell in cells))
            made = registry.stored_provenance(name, scale)
            stored = "not run" if made is None else _standing(made)
            sets = ", ".join(sorted({str(cell.get("data", "–")) for cell in cells}))
            print(f"    {scale:<7} {len(cells):>4} cells a seed, {needed:<14} {stored:<8} {sets}")
    return 0


def _standing(provenance: dict[str, Any]) -> str:
    """ "stored", and what is known of the code that made it."""
    found, lost = code.state(provenance), lost_commits(provenance)
    words = found.words + (f"; commit {lost[0][:8]} is in no history" if lost else "")
    return f"stored ({words})" if found.holds else f"STALE ({words})"


def _verify(arguments: argparse.Namespace) -> int:
    bounds: dict[str, Any] = {"share": {"least": 0, "most": 1}, "tolerance": {"above": 0, "below": 1}}
    for flag in ("share", "seconds", "beyond", "tolerance"):
        if (given := getattr(arguments, flag)) is not None:
            checking.real(given, f"--{flag}", **bounds.get(flag, {"least": 0}))
    for flag, least in (("cells", 1), ("seed", 0), ("results", 1)):
        if (given := getattr(arguments, flag)) is not None:
            checking.whole(given, f"--{flag}", least)
    if arguments.against is not None and not (arguments.against / "course_lib").is_dir():
        raise checking.refuse(str(arguments.against), "--against", "the folder of a checkout, with course_lib in it")
    failed = False
    results = list(verify.stored(arguments.ids, arguments.scale))
    if arguments.results is not None:
        drawn = np.random.default_rng(arguments.seed).permutation(len(results))[: arguments.results]
        results = [results[at] for at in sorted(drawn.tolist())]
    if results and not arguments.no_write:
        _results_can_be_written()
    how = {name: getattr(arguments, name) for name in ("cells", "share", "seconds", "beyond", "against", "tolerance")}
    for result in results:
        verdict = verify.verify(result, rng=np.random.default_rng(arguments.seed), **how)
        print(f"{result.id} {result.scale}: {'agrees' if verdict else 'NOT VOUCHED FOR'}: {verdict}", flush=True)
        if verdict and not arguments.no_write:
            verify.vouch(result, verdict).save()
            if lacking := verify.lacking(result):
                print(f"{result.id} {result.scale}: below the bar: {lacking}", flush=True)
        failed = failed or (bool(verdict.numbers) and not verdict)
    return int(failed)


def _again(arguments: argparse.Namespace) -> int:
    stale = [one for one in verify.stored(arguments.ids, arguments.scale) if not code.state(one.provenance).holds]
    if stale and not arguments.list:
        _results_can_be_written()
    for result in sorted(stale, key=lambda one: one.provenance.get("seconds", 0)):
        needed = registry.about(result.provenance.get("seconds", 0))
        print(f"{result.id} {result.scale}: {code.state(result.provenance).words}; {needed}", flush=True)
        if not arguments.list:
            print(f"written: {verify.make_again(result).save(replace=True)}", flush=True)
    return 0


def _run(arguments: argparse.Namespace) -> int:
    if arguments.data or arguments.functions or arguments.out or arguments.dry_run:
        return _run_own(arguments)
    _check_no_source(arguments)
    only = dict(queue.pair(text) for text in arguments.only)
    options: dict[str, Any] = dict(queue.pair(text) for text in arguments.option)
    registry.check_options(arguments.id, options)
    if arguments.extend and options.keys() - {"device"}:
        raise ValueError(
            f"--option: got {' '.join(arguments.option)}; expected device alone with --extend, whose cells are alike"
        )
    writes, before = not arguments.no_write, registry.stored_provenance(arguments.id, arguments.scale) or {}
    left_out = sorted({*before.get("seeds", [])} - {*arguments.seeds})
    if writes and left_out and not (arguments.replace or arguments.extend):
        raise ValueError(
            f"--seeds: got {arguments.seeds}, and the stored result has {left_out} too; expected them as well, or "
            "--replace, or --no-write"
        )
    if writes:
        _results_can_be_written()
    share = dealt.of_torchrun()
    how: dict[str, Any] = {"only": only or None, "collect": arguments.collect, "devices": arguments.devices}
    how |= {"seeds": arguments.seeds, "progress": share.rank == 0, "share": share, **options}
    if arguments.extend:
        result = extend.extended(load_result(arguments.id, arguments.scale), **how)
    else:
        result = registry.run(arguments.id, arguments.scale, **how)
    if share.rank:  # process 0 writes and prints
        return 0
    if writes:
        print(f"written: {result.save(replace=arguments.replace)}")
    print(result.to_markdown())
    if said := beside.sentence(result):
        print(said)
    return 0


def _check_no_source(arguments: argparse.Namespace) -> None:
    """Raises ValueError for a flag that says how a file is read, where no file was given."""
    for one in fields(own_data.Source)[1:]:
        if (given := getattr(arguments, one.name)) != one.default:
            flag = f"--{one.name.replace('_', '-')}"
            raise ValueError(f"{flag} is {str(given)!r}, and there is no --data; expected --data FILE with it")


def _run_own(arguments: argparse.Namespace) -> int:
    """A run on data, or with functions, of one's own: its result goes to a folder of its own."""
    for flag in ("extend", "collect", "devices", "replace"):
        if (given := getattr(arguments, flag)) is not None and given is not False:
            raise ValueError(
                f"--{flag}: a run of one's own does not take it; expected --out, --only, --option, --dry-run"
            )
    if not arguments.data:
        _check_no_source(arguments)
    if arguments.out and arguments.out.exists() and not arguments.out.is_dir():
        raise checking.refuse(str(arguments.out), "--out", "a folder, and this is a file")
    told = {one.name: getattr(arguments, one.name) for one in fields(own_data.Source)[1:]}
    asked = own_run.Request(
        arguments.id,
        arguments.scale,
        tuple(arguments.seeds),
        own_data.Source(arguments.data, **told) if arguments.data else None,
        arguments.functions,
        dict(queue.pair(text) for text in arguments.option),
        dict(queue.pair(text) for text in arguments.only),
    )
    with own_run.ready(asked) as ready:
        print("\n".join(ready.sentences()), flush=True)
        if arguments.dry_run:
            return 0
        folder = outputs.folder(arguments.out or "results", "--out")
        result = own_run.run(ready)
        compared = own_run.of_door(result, ready.door, ready) if ready.door.main else None
    print(result.to_markdown(**ready.door.main))
    if compared is not None and len(compared):
        shown = own_run.telling(compared)[0].drop(columns="p", errors="ignore")
        print(shown.to_string(index=False, float_format="{:.3g}".format, na_rep="–"))
        if "low" not in compared:
            print("One seed has no interval, so none of these differences can be said: --seeds 0 1 2, or more.")
    files = out.write(result, folder, compared, **ready.door.main)
    print("written:", *files, sep="\n  ")
    return 0


def _out(arguments: argparse.Namespace) -> int:
    """A stored result as files for a paper."""
    door = own_run.doors().get(arguments.id)
    main = dict(queue.pair(text) for text in arguments.only) or dict(door.main if door else {})
    result = load_result(arguments.id, arguments.scale)
    left = result.rows
    for key, value in main.items() if arguments.only else ():
        there = dict.fromkeys(str(row[key]) for row in left if row.get(key) is not None)
        left = [row for row in left if row.get(key) == value]
        if there and not left:
            raise ValueError(f"--only: no row has {key}={value}; expected one of {', '.join(there)}")
    files = out.write(result, outputs.folder(arguments.to, "--to"), **main)
    print("written:", *files, sep="\n  ")
    return 0


def _queue(arguments: argparse.Namespace) -> int:
    runs = queue.read(arguments.file)
    _results_can_be_written()
    device = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    for result in queue.Queue(runs, arguments.minutes, device).work():
        cells = result.provenance["cells"]
        print(f"stored: {result.id} {result.scale}, {cells['finished']} of {cells['planned']} cells", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course_lib experiments", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="list | run | out | queue | again | verify")

    def command(action: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        added = actions.add_parser(action.__name__.lstrip("_"), help=words)
        added.set_defaults(action=action)
        return added

    command(_list, "every experiment, with its scales, cells and estimated time")
    running = command(_run, "run one experiment, or go on with it, and store its result")
    queue.which(running, os.environ.get("COURSE_SCALE", "smoke"))
    option: dict[str, Any] = {"nargs": "+", "default": [], "metavar": "KEY=VALUE"}
    running.add_argument("--option", **option, help="options of the experiment, such as device=cuda")
    running.add_argument(
        "--devices",
        type=int,
        help="how many processes share the cells, each with a GPU of its own where there are as many (default: "
        "COURSE_DEVICES, or 1); of an experiment about processes, such as SCALE-X1: how many of them a cell has",
    )
    for flag, words in (
        ("collect", "run nothing: gather the cells that are stored"),
        ("extend", "add seeds to the stored result; what it holds is not run again"),
        ("replace", "drop what the stored result has and this run has not"),
        ("no-write", "print the result and store no file in book/results"),
    ):
        running.add_argument(f"--{flag}", action="store_true", help=words)
    _add_own(running)
    outward = command(_out, "a stored result as CSV, Parquet, LaTeX, figure and BibTeX")
    outward.add_argument("id", help="such as P3-T6")
    outward.add_argument("--scale", choices=registry.SCALES, default="laptop")
    outward.add_argument("--to", default="results", metavar="FOLDER")
    outward.add_argument("--only", **option, help="rows of the figure: metric=P@5")
    queued = command(_queue, "run what fits into a number of minutes, on a GPU that is lent")
    queued.description, queued.formatter_class = queue.__doc__, argparse.RawDescriptionHelpFormatter
    queued.add_argument("file", nargs="?", type=Path, default=queue.DEFAULT, help="a run a line, as for `run`")
    queued.add_argument("--minutes", type=float, default=14)
    queued.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where torch finds a GPU")
    again = command(_again, "make the stored results anew whose code has changed, the shortest first")
    again.add_argument("--list", action="store_true", help="only list them")
    verifying = command(_verify, "run some cells of stored results again, and vouch for what agrees")
    for flag, kind, default, words in (
        ("cells", int, 1, "cells for each data set of a result (default 1)"),
        ("share", float, verify.SHARE, f"until so many of them were run again with today's code ({verify.SHARE:g})"),
        ("results", int, None, "only so many stored results, drawn by --seed"),
        ("tolerance", float, None, "relative difference allowed on another machine, such as 0.02"),
        ("seconds", float, verify.SHORT, f"only cells estimated at most so long ({verify.SHORT:g})"),
        ("beyond", float, 0, "and the shortest of the longer cells, if of at most so many seconds"),
        ("seed", int, 0, "of the draw of cells"),
        ("against", Path, None, "a checkout whose code made the results: compare with what it gives on this machine"),
    ):
        verifying.add_argument(f"--{flag}", type=kind, default=default, help=words)
    verifying.add_argument("--no-write", action="store_true", help="compare, and record nothing")
    for of_stored in (again, verifying):
        of_stored.add_argument("ids", nargs="*", metavar="ID", help="such as P3-T6; default: all that are stored")
        of_stored.add_argument("--scale", choices=registry.SCALES)
    return parser


def _add_own(running: argparse.ArgumentParser) -> None:
    """The flags for data and functions of one's own."""
    own = running.add_argument_group("your own data and functions", "the result goes to --out, never into the book")
    own.add_argument("--data", type=Path, metavar="FILE", help="a CSV, TSV, Parquet or RecBole's .inter")
    for one in fields(own_data.Source)[1:]:
        own.add_argument(f"--{one.name.replace('_', '-')}", default=one.default, **one.metadata)
    own.add_argument("--with", dest="functions", type=Path, metavar="FILE.py", help="losses, samplers, ... of your own")
    own.add_argument(
        "--out", type=Path, metavar="FOLDER", help="for JSON, CSV, Parquet, LaTeX, PDF, PNG, BibTeX (results)"
    )
    own.add_argument("--dry-run", action="store_true", help="read, check and estimate; run nothing")
