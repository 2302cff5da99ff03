"""``python -m course_lib COMMAND ...``: the course's commands. Each room brings its own ``cli(argv)``."""

from __future__ import annotations

import argparse
import os
import select
import sys
from importlib import import_module
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "experiments": ("course_lib.experiments", "list the experiments, or run one at a scale"),
    "claims": ("tools.claims", "check every claim of the course, or one"),
    "audit": ("course_lib.audit", "report on the cosines of your own embedding tables"),
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the first word of the command line.

    The rest of the line belongs to the room that the word names.

    Returns
    -------
    argparse.ArgumentParser
        The parser.

    Examples
    --------
    >>> from course_lib.__main__ import build_parser
    >>> chosen = build_parser().parse_args(["experiments", "run", "P3-T6", "--scale", "smoke"])
    >>> chosen.command, chosen.arguments
    ('experiments', ['run', 'P3-T6', '--scale', 'smoke'])
    """
    listing = "\n".join(f"  {name:<12} {text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m course_lib",
        description="The two-tower course's commands:\n" + listing,
        epilog="`python -m course_lib COMMAND --help` explains one of them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=" | ".join(COMMANDS))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the command is given")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one command of the course and return its exit status.

    Only the room that the command needs is imported.

    Parameters
    ----------
    argv : list of str, optional
        The words of the command line after the program's name. By default those of this process.

    Returns
    -------
    int
        The exit status: that of the command, 0 where the reader of its output has gone (as in ``... list | head``), and
        2 for a command that needs a checkout of the course where there is none.

    Raises
    ------
    SystemExit
        For a line that cannot be parsed, and after ``--help``.
    BrokenPipeError
        Where another pipe than the standard output is broken.
    """
    chosen = build_parser().parse_args(argv)
    module, _ = COMMANDS[chosen.command]
    if module.startswith("tools."):  # the book's own tools: they lie beside course_lib in a checkout, and in no wheel
        if not (CHECKOUT / "tools" / "claims").is_dir():
            print(f"`{chosen.command}` needs a checkout of the course: it reads book/ and tests/", file=sys.stderr)
            return 2
        sys.path.insert(0, str(CHECKOUT))
    try:
        status = int(import_module(module).cli(chosen.arguments) or 0)
        sys.stdout.flush()  # little output is written only now
        return status
    except BrokenPipeError:
        if not _reader_is_gone():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python says it once more at its end
        return 0


def _reader_is_gone() -> bool:
    """Whether nobody reads the standard output any more, as after `... list | head`."""
    watch = select.poll()
    watch.register(sys.stdout.fileno(), 0)
    return any(seen & select.POLLERR for _, seen in watch.poll(0))


if __name__ == "__main__":
    sys.exit(main())
