"""The shell of a student's process: IPython's own, as a notebook's kernel has it, without a terminal or a network.

A cell runs as it does in Jupyter: magics, `sum?`, `await` outside a function, `display`, `Out`. What asks for another
process, for the network or for a screen does nothing here, and is named in `skipped` where an answer might miss it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Container
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import LSString, SList
from traitlets.config import Config

SHOWS = (
    *("autoreload", "colors", "config", "html", "javascript", "js", "latex", "load_ext", "markdown", "matplotlib"),
    *("pdef", "pdoc", "pfile", "pinfo", "pinfo2", "psearch", "psource", "pycat", "quickref", "reload_ext", "svg"),
)
"""Magics that only show something, or set up how it is shown: left out without a word."""
NEEDS_MORE = (
    *("!", "alias", "bash", "cmd", "conda", "connect_info", "debug", "edit", "gui", "killbgscripts", "mamba", "man"),
    *("notebook", "pdb", "perl", "pip", "pypy", "python", "python2", "python3", "qtconsole", "ruby", "script", "sh"),
    *("sx", "system", "uv"),
)
"""Magics that need another process, the network or a person at the keyboard."""
UNKNOWN = " (unknown)"
"""Behind a magic that IPython does not bring: in a kernel without its extension the cell would end there."""
_TIMES = re.compile(r"(^|\s)-[nr]\s*\d+")


class Shell(InteractiveShell):
    """IPython in a process that may start no other."""

    skipped: list[str]

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """As IPython does, for what can run here; `%timeit` measures one run."""
        if self._is_left_out(f"%{magic_name}", magic_name, line, self.magics_manager.magics["line"]):
            return None
        return super().run_line_magic(magic_name, _once(magic_name, line), _stack_depth=_stack_depth + 1)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """As IPython does, for what can run here."""
        if self._is_left_out(f"%%{magic_name}", magic_name, line, self.magics_manager.magics["cell"]):
            return None
        ipython: Any = super()
        return ipython.run_cell_magic(magic_name, _once(magic_name, line), cell)

    def _is_left_out(self, sign: str, name: str, line: str, known: Container[str]) -> bool:
        if name in SHOWS:
            return True
        if name in NEEDS_MORE or name not in known:
            self._skip(f"{sign} {line}", "" if name in NEEDS_MORE else UNKNOWN)
            return True
        return False

    def _skip(self, what: str, remark: str = "") -> None:
        self.skipped.append(what.strip()[:80] + remark)

    def system(self, cmd: str) -> None:
        """`!cmd` does nothing: there is no other process."""
        self._skip(f"!{cmd}")

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """`x = !cmd` gives one empty line, as a command that prints nothing would."""
        self._skip(f"!{cmd}")
        return SList([""]) if split else LSString("")

    def enable_gui(self, gui: str | None = None) -> None:
        """There is no window."""

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Errors are reported by `run`, not printed."""

    showsyntaxerror = showindentationerror = showtraceback


def _once(magic: str, line: str) -> str:
    """The arguments of a magic; `%timeit` gets one loop and one repetition, as how long it takes is nobody's answer."""
    return "-n1 -r1 " + _TIMES.sub("", line) if magic == "timeit" else line


def start(folder: str) -> Shell:
    """A shell that writes its profile into `folder` and keeps no history on the disk.

    IPython changes the hooks and `__main__` of its process. A shell is made once in a process.
    """
    own = Path(folder, ".ipython")
    startup = own / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "README").touch()  # else IPython copies its own, with its mode, which the walls forbid to change
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = Shell.instance(config=config, ipython_dir=str(own))
    shell.skipped = []
    shell.user_ns["get_ipython"] = lambda: shell
    return shell


def run(shell: Shell, loop: asyncio.AbstractEventLoop, source: str) -> BaseException | None:
    """Runs a cell as a kernel does, inside the running loop; returns the error that ended it."""
    ipython: Any = shell
    try:
        transformed, wrong = ipython.transform_cell(source), None
    except Exception:  # IPython then runs the cell to report this very error
        transformed, wrong = source, sys.exc_info()
    cell = shell.run_cell_async(source, store_history=True, transformed_cell=transformed, preprocessing_exc_tuple=wrong)
    result = loop.run_until_complete(cell)
    return result.error_before_exec or result.error_in_exec
