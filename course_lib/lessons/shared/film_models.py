"""Recommenders of the embedded film set, trained for the interactives that show them.

People and films with at least ten of each other; MF and LightGCN, trained with BPR, Adam, uniform negatives and an
early stop on the MRR@10 of the validation part. A lesson stores what it shows of them beside its interactive.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from course_lib import backbones, datasets
from course_lib.interactions import Interactions
from course_lib.training.recommenders import split_811, tables_of, train_recommender


class Settings(NamedTuple):
    lr: float
    batch_size: int
    decay: float


SETTINGS = {"MF": Settings(5e-3, 1024, 1e-3), "LightGCN": Settings(1e-2, 4096, 1e-4)}
EPOCHS, PATIENCE = 150, 20


@lru_cache(maxsize=1)
def parts(seed: int = 0) -> tuple[Interactions, Interactions, Interactions]:
    """(train, valid, test): a random 8:1:1 split of the embedded films."""
    return split_811(datasets.load("movietweetings", core=10, min_rating=7), np.random.default_rng(seed))


def trained(name: str, width: int, epochs: int = EPOCHS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(users, items) of a backbone in its best state; with no epochs, as it starts."""
    train, valid, _ = parts()
    lr, batch_size, decay = SETTINGS[name]
    generator = torch.Generator().manual_seed(seed)
    model = backbones.make(name, train, d=width, decay=decay, generator=generator)
    if epochs:
        torch.set_num_threads(1)  # sums in one order
        train_recommender(
            model, train, valid, epochs=epochs, patience=PATIENCE, lr=lr, batch_size=batch_size, seed=seed
        )
    users, items = tables_of(model)
    return users.double().numpy(), items.double().numpy()


def film_names(data: Interactions) -> list[str]:
    """Titles without the year, which would not fit beside a dot."""
    return [str(name).rpartition(" (")[0] or str(name) for name in data.item_table["name"]]


def store(path: Path, data: Any) -> None:
    """Writes the tables of an interactive, in lines of a readable length."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text.replace('],"', '],\n"').replace('},"', '},\n"') + "\n", encoding="utf-8")
    print(f"{path}: {path.stat().st_size} bytes")
