"""A pytest plugin: nbval gets the outputs of a notebook that was executed before, as if a kernel had just sent them.

Everything else is nbval's: which cells are checked, what is sanitised, how outputs are compared. A cell whose source is
not the one that was executed is refused.
"""

from __future__ import annotations

import json
import os
from collections import deque
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from nbval import plugin

Message = dict[str, Any]


class ReplayedKernel:
    """Stands where nbval starts a kernel for `notebook`; ``EXECUTED_NOTEBOOKS`` names its executed copy."""

    notebook = ""

    def __init__(self, *_: object, **__: object) -> None:
        executed = nbformat.read(Path(json.loads(os.environ["EXECUTED_NOTEBOOKS"])[self.notebook]), as_version=4)
        self.cells = deque(cell for cell in executed.cells if cell.cell_type == "code")
        self.messages: deque[Message] = deque()
        self.language = "python"

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        """Queue the messages of the next cell; returns their id."""
        del allow_stdin
        cell = self.cells.popleft() if self.cells else None
        if cell is None or cell.source != source:
            raise RuntimeError(f"the executed notebook has another cell here, expected\n{source}")
        number = f"cell {cell.execution_count}"
        for output in cell.outputs:
            content = {key: value for key, value in output.items() if key != "output_type"}
            if "data" in content:  # nbval leaves pictures out by itself, drawings excepted
                content["data"] = {kind: value for kind, value in content["data"].items() if kind != "image/svg+xml"}
            self.messages.append(self._message(number, output.output_type, content))
        self.messages.append(self._message(number, "status", {"execution_state": "idle"}))
        return number

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Nothing to wait for."""

    def await_idle(self, parent_id: str, timeout: float | None = None) -> None:
        """Nothing to wait for."""

    def get_message(self, stream: str, timeout: float | None = None) -> Message:
        """The next message."""
        if not self.messages:
            raise Empty
        return self.messages.popleft()

    def is_alive(self) -> bool:
        """It always is."""
        return True

    def stop(self) -> None:
        """Nothing runs."""

    @staticmethod
    def _message(parent: str, kind: str, content: Message) -> Message:
        return {"parent_header": {"msg_id": parent}, "msg_type": kind, "content": content}


def pytest_configure() -> None:
    """Put it in the place of nbval's kernel."""
    plugin.RunningKernel = ReplayedKernel
    started = plugin.IPyNbFile.setup

    def setup(file: plugin.IPyNbFile) -> None:
        ReplayedKernel.notebook = str(file.path.resolve())
        started(file)

    plugin.IPyNbFile.setup = setup


PASSED: list[Path] = []  # the notebook of each cell that passed


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note a cell that passed."""
    if call.when == "call" and call.excinfo is None:
        PASSED.append(item.path.resolve())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each cell that passed: nbval's own names leave out the notebook."""
    for path in PASSED:
        terminalreporter.write_line(f"REPLAYED {path}")
