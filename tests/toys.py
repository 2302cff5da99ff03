"""An experiment of a few cells that take no time, for the tests of what runs, stores and vouches for experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from course_lib.experiments.core import registry
from course_lib.experiments.core.registry import Experiment


def register(monkeypatch: pytest.MonkeyPatch, rows: Callable[[Any], list[Any]], **more: Any) -> list[Any]:
    """Registers TOY, whose cells give `rows`, for one test; the list notes the cells that were really run."""
    ran: list[Any] = []

    def run_cell(cell: Any) -> list[Any]:
        ran.append(cell)
        return rows(cell)

    told: dict[str, Any] = {"id": "TOY", "title": "a toy", "estimate": lambda cell: 0.1, "finish": lambda rows: {}}
    told["describe"] = lambda cell: {"name": "numbers", "recipe": {}, "sha256": "toy", "positives": 3}
    monkeypatch.setitem(registry.REGISTRY, "TOY", Experiment(run_cell=run_cell, **told | more))
    return ran
