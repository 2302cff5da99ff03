"""The trained models of P1's experiments: their cells, their store, their training.

A trained model is kept in the folder `models` beside the finished cells, under a hash of all that it depends on, its
code (`core.code`) among it: Tables 2 to 5 and Figures 1, 3 and 4 train the same backbone once.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib import backbones, debiasing, losses
from course_lib.arrays import Array
from course_lib.experiments.core.code import code_of
from course_lib.experiments.core.machine import fabric_for
from course_lib.experiments.core.provenance import cells_folder, digest
from course_lib.experiments.core.summary import part
from course_lib.experiments.p1.cells import Budget, TrainedCell
from course_lib.experiments.p1.data import Split, describe, load_split
from course_lib.interactions import Interactions, sample_negatives
from course_lib.training import resumable
from course_lib.training.loop import History
from course_lib.training.recommenders import tables_of, train_recommender

WIDTH = 64  # d: P1, Section 5.1


# what a backbone has in place of the common budget: LightCCF's contrast costs the square of the batch
OWN_BUDGETS: dict[str, dict[str, Any]] = {"LightCCF": {"batch": 512, "lr": 0.005}}
OWN_OPTIONS: dict[str, dict[str, Any]] = {"LightCCF": {"weight": 0.1}}


class ModelCell(Budget):
    """All that a trained model depends on. stop: end in the best state on validation data, else the last."""

    data: str
    device: str
    backbone: str
    seed: int
    method: str | None
    stop: bool
    options: dict[str, Any]


@dataclass(frozen=True)
class Fitted:
    """A trained model: the two tables that rank, and its training, one entry for each evaluation."""

    users: Array
    items: Array
    history: list[dict[str, float]]
    seconds: float

    @property
    def tables(self) -> tuple[Array, Array]:
        """(users, items)."""
        return self.users, self.items

    @property
    def valid(self) -> float:
        """The best validation MRR@10."""
        return max(entry["mrr"] for entry in self.history)

    @property
    def epochs(self) -> int:
        """Epochs until the best validation MRR@10."""
        return int(max(self.history, key=lambda entry: entry["mrr"])["epoch"])


def model_cell(
    cell: TrainedCell, backbone: str, seed: int, *, method: str | None = None, stop: bool = True, **options: Any
) -> ModelCell:
    """Data, seed, budget, backbone with its decay, and the method with its options; `stop` as in `ModelCell`."""
    found: Any = part(cell, "data batch lr epochs every patience device") | OWN_BUDGETS.get(backbone, {})
    found |= {"backbone": backbone, "seed": seed, "method": method, "stop": stop}
    found["options"] = OWN_OPTIONS.get(backbone, {}) | options if method is None else options
    cell_of_model: ModelCell = found
    return cell_of_model


def fitted(cell: ModelCell) -> Fitted:
    """The trained model of a `model_cell`: from memory, from the store, or trained now and stored."""
    return _fitted(json.dumps(cell, sort_keys=True), str(models_folder()))


def models_folder() -> Path:
    """Where trained models lie: beside the finished cells."""
    return cells_folder().parent / "models"


@lru_cache(maxsize=16)
def _fitted(text: str, folder: str) -> Fitted:
    cell: ModelCell = json.loads(text)
    key = {"code": code_of(__name__), "cell": cell, "data": describe(cell)["sha256"]}
    path = Path(folder) / f"{digest(key)}.npz"
    if path.is_file():
        with np.load(path) as stored:
            about = json.loads(str(stored["about"]))
            return Fitted(stored["users"], stored["items"], about["history"], about["seconds"])
    found = _train(cell)
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    about = json.dumps({"cell": cell, "history": found.history, "seconds": found.seconds})
    np.savez(beside, users=found.users, items=found.items, about=about)
    os.replace(beside, path)
    return found


@resumable.once
def _train(cell: ModelCell) -> Fitted:
    split, start, stop = load_split(cell["data"], cell["seed"]), time.perf_counter(), cell["stop"]
    model = make_model(cell, split.train)
    history = train_recommender(
        model,
        split.train,
        split.valid if stop else None,
        epochs=cell["epochs"],
        lr=cell["lr"],
        seed=cell["seed"],
        batch_size=cell["batch"],
        patience=cell["patience"] if stop else None,
        evaluate_every=cell["every"] if stop else cell["epochs"],
        negatives=cell["options"].get("negatives", "uniform"),
        fabric=fabric_for(cell["device"]),
        watch=Watch(split).record if cell["method"] is None else None,
    )
    return fitted_of(model, history, cell["every"], time.perf_counter() - start)


def fitted_of(model: torch.nn.Module, history: History, every: int, seconds: float) -> Fitted:
    """The tables that a trained model ranks with, and its history with the epochs passed under "epoch"."""
    users, items = (side.cpu().numpy() for side in tables_of(model))
    entries = [{**entry, "epoch": (entry["epoch"] + 1) * every} for entry in history.epochs]
    return Fitted(users, items, entries, seconds)


def make_model(cell: ModelCell, train: Interactions) -> backbones.Recommender:
    """The untrained model of a `model_cell`."""
    generator = torch.Generator().manual_seed(cell["seed"])
    options = {key: value for key, value in cell["options"].items() if key != "negatives"}
    own = options if cell["method"] is None else {"decay": options.pop("decay")}
    model = backbones.make(cell["backbone"], train, d=WIDTH, generator=generator, **own)
    if cell["method"] is None:
        return model
    return debiasing.make(cell["method"], model, train, generator=generator, **options)


class Watch:
    """BPR's mean loss of what a model serves, over all training pairs (P1, Section 5.4.2).

    Each has one negative, which stays the same.
    """

    def __init__(self, split: Split) -> None:
        train, rng = split.train, np.random.default_rng(0)
        self.triples = train.users, train.items, sample_negatives(train, train.users, rng)

    def margins(self, users: Any, items: Any) -> torch.Tensor:
        """(|O|,) <e_u, e_i - e_j>."""
        users, items = (torch.as_tensor(side).detach().cpu() for side in (users, items))
        u, i, j = (torch.from_numpy(ids.copy()) for ids in self.triples)
        blocks = (slice(at, at + 2**16) for at in range(0, len(u), 2**16))
        return torch.cat([(users[u[b]] * (items[i[b]] - items[j[b]])).sum(dim=1) for b in blocks])

    def loss(self, users: Any, items: Any) -> float:
        margins = self.margins(users, items).double()
        return float(losses.bpr(margins, torch.zeros_like(margins)))

    def record(self, users: Any, items: Any) -> dict[str, float]:
        """The loss under the name that it has in a history."""
        return {"bpr": self.loss(users, items)}

    def best_scaled_loss(self, users: Any, items: Any) -> tuple[float, float]:
        """(c, loss): the factor on all margins, which no ranking notices, that makes this loss least."""
        margins = self.margins(users, items).double()
        factors = np.geomspace(0.1, 100, 61)
        found = [float(losses.bpr(c * margins, torch.zeros_like(margins))) for c in factors]
        return float(factors[int(np.argmin(found))]), min(found)
