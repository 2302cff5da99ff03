"""Trains the models of the interactive `Folding` and stores what it shows of them.

    python tools/folding_models.py   writes course_lib/lessons/gramian_estimators/folding.json (about ten seconds)

It is a tool because it measures as experiment P4-F6 does, and no lesson imports an experiment.
The models of the chapter's first section: free tables of 16 numbers for people and films of the embedded film set,
AdaGrad, batch sampling for the Gramians; one model for each gravity coefficient.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from course_lib import gramians, metrics
from course_lib.experiments import p4
from course_lib.experiments.p4 import training
from course_lib.lessons.gramian_estimators import folding

TARGET = Path(folding.__file__).with_name("folding.json")
LAMBDAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
CHECKS = (10, 30, 100, 250, 700)
DATA, WIDTH, BATCH, RATE = "movietweetings-10core", 16, 1024, 0.3


@dataclass
class Tables:
    """A task and the two tables, as `p4.histogram_rows` asks for them."""

    task: p4.Task
    left: torch.Tensor
    right: torch.Tensor

    def tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.left.detach(), self.right.detach()


def train(lam: float, checks: Sequence[int] = CHECKS, *, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of one model, as P4-F6 has them, after each number of steps in `checks`."""
    task = p4.load_task(DATA, seed)
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    shown = Tables(
        task, *((0.3 * torch.randn(size, WIDTH, generator=generator)).requires_grad_() for size in task.train.shape)
    )
    people, films = torch.tensor(task.train.users), torch.tensor(task.train.items)
    optimiser = torch.optim.Adagrad([shown.left, shown.right], lr=RATE)
    rows: list[dict[str, Any]] = []
    for step in range(1, max(checks) + 1):
        seen, used = torch.from_numpy(rng.integers(len(task.train), size=(2, BATCH)))
        grams = gramians.gramian(shown.left[people[seen]]), gramians.gramian(shown.right[films[seen]])
        left, right = shown.left[people[used]], shown.right[films[used]]
        loss = (1 - (left * right).sum(1)).square().mean() + lam * gramians.gravity_loss(left, right, *grams)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step in checks:
            rows += [{"lambda": lam, "step": step, **row} for row in looked_at(shown, seed)]
    return rows


def looked_at(shown: Tables, seed: int) -> list[dict[str, Any]]:
    """Histograms of inner products and MAP@10 over all films."""
    users, items = (table.double() for table in shown.tables())
    found = metrics.evaluate(users, items, shown.task.train, shown.task.test, 10)["map@10"]
    trainer = cast(training.Trainer, shown)  # for its task and its tables, which is all that the histograms ask for
    return [*p4.histogram_rows(trainer, np.random.default_rng([seed, 2])), {"metric": "map@10 at step", "value": found}]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    torch.set_num_threads(1)
    models = folding.models_of([row for lam in LAMBDAS for row in train(lam)])
    lines = ",\n".join(json.dumps(model, separators=(",", ":")) for model in models)
    TARGET.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size} bytes, {len(models)} models")


if __name__ == "__main__":
    main()
