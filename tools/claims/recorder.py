"""Runs the tests that claims name, given as a list in JSON, and prints each outcome.

pytest is given the files, and the plugin below keeps the named tests: one missing test must not hide the others.
Run as a file, so that nothing of the course is loaded but what the tests ask for.
"""

import json
import sys

import pytest

RECORD = "claims-record "  # opens the lines that are printed


def within(name: str, node: str) -> bool:
    """Whether the test `name` is the node, one of its parameters, or inside the class that the node names."""
    return name == node or name.startswith((f"{node}[", f"{node}::"))


class Recorder:
    """A plugin of pytest."""

    def __init__(self, nodes: list[str]) -> None:
        self.nodes = nodes

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the named tests."""
        kept = [item for item in items if any(within(item.nodeid, node) for node in self.nodes)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print one line per test: its outcome when it ran, or the stage that stopped it."""
        if report.when == "call" or report.outcome != "passed":
            print("\n" + RECORD + json.dumps([report.nodeid, report.outcome]))


if __name__ == "__main__":
    named: list[str] = json.loads(sys.argv[1])
    files = sorted({node.split("::")[0] for node in named})
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *files], plugins=[Recorder(named)]))
