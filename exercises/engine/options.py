"""The options of a command. argparse takes the last of two `--assignment` and says nothing of the first."""

from __future__ import annotations

import argparse
from typing import Any


class Options(argparse.ArgumentParser):
    """A parser for a module's docstring, which ends a command where an option with a value is given twice."""

    def __init__(self, description: str | None) -> None:
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.register("action", None, _Once)


class _Once(argparse.Action):
    """Stores a value, once."""

    given = False

    def __call__(self, parser: argparse.ArgumentParser, given: Any, value: Any, option: str | None = None) -> None:
        if self.given:
            how = "with all of them behind it" if self.nargs else "and give the command again for the other"
            parser.error(f"{option} is given twice: say it once, {how}")
        self.given = True
        setattr(given, self.dest, value)
