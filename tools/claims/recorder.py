"""A pytest plugin (`-p tools.claims.recorder`): keeps the tests that claims name, and prints each outcome."""

import json
import os

import pytest

from tools.claims.checks import RECORD, WANTED, within


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that the environment names."""
    nodes = json.loads(os.environ[WANTED])
    kept = [item for item in items if any(within(item.nodeid, node) for node in nodes)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Print one line per test: its outcome when it ran, or the stage that stopped it."""
    if report.when == "call" or report.outcome != "passed":
        print("\n" + RECORD + json.dumps([report.nodeid, report.outcome]))
