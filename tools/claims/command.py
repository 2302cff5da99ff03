"""`python -m course_lib claims check [--id ID] [--fast]`: run the checks of the claims and print a table."""

import argparse
import json
import sys
from collections import Counter

import msgspec
from tqdm import tqdm

from tools.claims.checks import Outcome, lint, run_finding, run_function, run_nodes, run_scalar
from tools.claims.rows import Claim, ClaimError, load


def cli(argv: list[str] | None = None) -> int:
    """Entry point of `python -m course_lib claims ...`; the exit code is 1 when anything fails."""
    arguments = _parser().parse_args(argv)
    try:
        claims = load()
        if arguments.command == "list":
            print(*(f"{claim.id:18} {claim.status:16} {claim.statement}" for claim in claims), sep="\n")
            return 0
        if arguments.command == "export":
            print(json.dumps(msgspec.to_builtins(claims), indent=1, ensure_ascii=False))
            return 0
        return _check(claims, ids=arguments.id, fast=arguments.fast)
    except ClaimError as error:
        print(f"claims: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course_lib claims", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="validate all rows and run what they name")
    check.add_argument("--id", action="append", help="only this claim (may be given several times)")
    check.add_argument("--fast", action="store_true", help="functions and stored numbers only, no pytest")
    commands.add_parser("list", help="print id, status and statement of every claim")
    commands.add_parser("export", help="print all rows as JSON")
    return parser


def _check(claims: list[Claim], *, ids: list[str] | None, fast: bool) -> int:
    chosen = _choose(claims, ids)
    problems = lint(claims)
    outcomes = run(chosen, fast=fast)
    for claim in chosen:
        mine = [outcome for outcome in outcomes if outcome.id == claim.id]
        failed = [outcome for outcome in mine if outcome.problem]
        mark = "FAILED" if failed else "ok" if mine else "-"
        print(f"{claim.id:18} {claim.status:16} {mark:7} {len(mine) - len(failed)}/{len(mine)} checks")
        for outcome in failed:
            print(f"    {outcome.check}: {outcome.problem}")
    for problem in problems:
        print(f"rule broken: {problem}")
    failed = [outcome for outcome in outcomes if outcome.problem]
    counts = ", ".join(f"{count} {status}" for status, count in Counter(claim.status for claim in chosen).most_common())
    print(
        f"{len(chosen)} claims ({counts}); {len(outcomes)} checks, {len(failed)} failed, {len(problems)} rules broken"
    )
    return 1 if failed or problems else 0


def _choose(claims: list[Claim], ids: list[str] | None) -> list[Claim]:
    known = {claim.id: claim for claim in claims}
    for name in ids or []:
        if name not in known:
            raise ClaimError(f"--id {name}: no such claim; `claims list` shows all {len(known)}")
    return [known[name] for name in ids] if ids else claims


def run(claims: list[Claim], *, fast: bool = False) -> list[Outcome]:
    """Run what the claims name, functions and tests once each: findings, stored scalars, tests unless `fast`."""
    nodes = [] if fast else sorted({node for claim in claims for node in claim.nodes})
    functions = sorted({name for claim in claims for name in claim.functions})
    done: dict[str, str] = {}
    for name in tqdm(functions, desc="checks", leave=False, disable=None):  # None: only where somebody watches
        done[name] = run_function(name)
    done |= run_nodes(nodes) if nodes else {}
    outcomes = [Outcome(claim.id, check, done[check]) for claim in claims for check in claim.checks if check in done]
    stored = {name: run_finding(name) for claim in claims for name in claim.findings}
    outcomes += [
        Outcome(claim.id, f"finding {name}", problem)
        for claim in claims
        for name in claim.findings
        if (problem := stored[name]) is not None
    ]
    return outcomes + [
        Outcome(claim.id, f"{scalar.origin} {scalar.name}", run_scalar(scalar))
        for claim in claims
        for scalar in claim.scalars
        if scalar.notebook is None
    ]
