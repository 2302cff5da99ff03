"""What several processes train before Table 3's cells: each model once, and all that the cells ask for."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib.experiments.core import registry
from course_lib.experiments.p1 import ahead, models, tuning


@pytest.mark.parametrize("backbone", ["MF", "LightGCN"])
def test_the_cells_find_every_model_made_and_no_model_is_made_twice(
    backbone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a training that only draws how good a model is, two tries of a backbone and three of a method, two seeds."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    made: list[str] = []

    def train(cell: models.ModelCell) -> models.Fitted:
        made.append(json.dumps(cell, sort_keys=True))
        valid = np.random.default_rng(len(made)).random()
        return models.Fitted(np.ones((2, 1)), np.ones((2, 1)), [{"mrr": valid, "epoch": 1.0}], 0.0)

    monkeypatch.setattr(models, "_train", train)
    plan = registry.get("P1-T3").plan("smoke", (0, 1))
    cells = [{**cell, "backbone": backbone, "tries": [2, 3]} for cell in plan if cell["backbone"] == "MF"]
    sizes = []
    for stage in ahead.stages(cells):
        sizes.append(len(stage))
        for model in stage:
            ahead.train(model)
    methods = len(tuning.METHODS) - 1  # DDC is fine-tuned within its cell
    assert sizes == [2, 2 + 3 * methods, 2 * methods]
    assert len(made) == len(set(made)) == 2 + 1 + 3 * methods + methods  # the best of the tuning seed are there already
    for cell in cells:
        tuning.tuned_backbone(cell, backbone)
        if cell["method"] not in (None, "DDC"):
            tuning.tuned_method(cell, backbone, cell["method"])
    assert len(made) == 3 + 4 * methods
