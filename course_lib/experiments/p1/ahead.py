"""The models of Table 3's cells, in stages: what several processes train first, each model once.

A cell tunes its method at the first seed and trains it at its own. Cells of other seeds need the same tries; begun at
the same time in processes of their own, each would train them all. A stage holds what depends on the stages before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from course_lib.experiments.core.registry import AHEAD
from course_lib.experiments.p1.cells import MethodCell
from course_lib.experiments.p1.models import ModelCell, fitted, model_cell
from course_lib.experiments.p1.tuning import DECAYS, GRAPH_DECAYS, GRID, best_of, chosen_backbone, method_model


def train(cell: ModelCell) -> None:
    """Trains a model, unless it is stored."""
    fitted(cell)


def stages(cells: list[MethodCell]) -> Iterator[list[ModelCell]]:
    """Backbones at the tuning seed; backbones at the others, and every try of the methods; the tries that were best."""
    yield _distinct(
        model_cell(cell, cell["backbone"], cell["tuning seed"], decay=decay)
        for cell in cells
        for decay in (DECAYS if cell["backbone"] == "MF" else GRAPH_DECAYS)[: cell["tries"][0]]
    )
    methods = [cell for cell in cells if cell["method"] not in (None, "DDC")]  # DDC is fine-tuned within its cell
    own = [model_cell(cell, cell["backbone"], cell["seed"], **_of_backbone(cell)) for cell in cells]
    yield _distinct([*own, *(model for cell in methods for model in _tries(cell, cell["tuning seed"]))])
    yield _distinct(_best(cell) for cell in methods)


def _of_backbone(cell: MethodCell) -> dict[str, Any]:
    return chosen_backbone(cell, cell["backbone"])


def _tries(cell: MethodCell, seed: int) -> list[ModelCell]:
    """The models of `tuning.tuned_method` at a seed, in its order."""
    decay, tries = _of_backbone(cell)["decay"], GRID[str(cell["method"])][: cell["tries"][1]]
    return [method_model(cell, decay, str(cell["method"]), seed, options) for options in tries]


def _best(cell: MethodCell) -> ModelCell:
    """The model of a cell's own seed."""
    tries = _tries(cell, cell["tuning seed"])
    best: int = best_of([{"at": at} for at in range(len(tries))], lambda place: fitted(tries[place["at"]]))["at"]
    return _tries(cell, cell["seed"])[best]


def _distinct(cells: Iterable[ModelCell]) -> list[ModelCell]:
    return list({json.dumps(cell, sort_keys=True): cell for cell in cells}.values())


AHEAD["P1-T3"] = train, stages
