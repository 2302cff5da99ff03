"""Trains the models of the interactives `PopularityAxis` and `TwoScalars` and stores what they show of them.

    python tools/popularity_models.py       writes course_lib/lessons/popularity_direction/popularity_axis.json and two_scalars.json (half a minute)

The embedded film set, people and films with at least ten of each other; MF and LightGCN, trained with BPR, Adam,
uniform negatives and an early stop on the MRR@10 of the validation part.
"""

from __future__ import annotations

import argparse
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib.data import datasets
from course_lib.data.interactions import Interactions
from course_lib.lessons.ddc import two_scalars
from course_lib.lessons.popularity_direction import popularity_axis
from course_lib.models import backbones
from course_lib.training.recommenders import split_811, tables_of, train_recommender

FOLDER = Path(popularity_axis.__file__).parent
FILMS, WIDTH = 240, 16  # of PopularityAxis
SETTINGS = {
    "MF": {"lr": 5e-3, "batch_size": 1024, "decay": 1e-3},
    "LightGCN": {"lr": 1e-2, "batch_size": 4096, "decay": 1e-4},
}
EPOCHS, PATIENCE = 150, 20
NARROW = 8  # of TwoScalars
# Chosen for what they show: all ranks better at the minimum; alpha above 0 and a list twice as popular; ranks worse at
# the minimum; no minimum; a user of rare films.
PEOPLE = (112, 727, 205, 574, 844)


@lru_cache(maxsize=1)
def parts(seed: int = 0) -> tuple[Interactions, Interactions, Interactions]:
    """(train, valid, test): a random 8:1:1 split of the embedded films."""
    return split_811(datasets.load("movietweetings", core=10, min_rating=7), np.random.default_rng(seed))


def trained(name: str, width: int, epochs: int = EPOCHS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(users, items) of a backbone in its best state; with no epochs, as it starts."""
    train, valid, _ = parts()
    settings = dict(SETTINGS[name])
    decay = settings.pop("decay")
    model = backbones.make(name, train, d=width, decay=decay, generator=torch.Generator().manual_seed(seed))
    if epochs:
        train_recommender(model, train, valid, epochs=epochs, patience=PATIENCE, seed=seed, **settings)
    users, items = tables_of(model)
    return users.double().numpy(), items.double().numpy()


def film_names(data: Interactions) -> list[str]:
    """Titles without the year, which would not fit beside a dot."""
    return [str(name).rpartition(" (")[0] or str(name) for name in data.item_table["name"]]


def popularity_axis_data(epochs: int = EPOCHS) -> dict[str, Any]:
    """240 films drawn at random, in random order, so that the first ones are a random choice, too."""
    train, *_ = parts()
    chosen = np.random.default_rng(0).permutation(train.n_items)[:FILMS]
    names = film_names(train)
    tables = {name: trained(name, WIDTH, epochs)[1][chosen] for name in SETTINGS}
    tables["LightGCN, untrained"] = trained("LightGCN", WIDTH, 0)[1][chosen]
    return popularity_axis.packed_data(tables, train.col_counts[chosen], [names[film] for film in chosen])


def two_scalars_data(epochs: int = EPOCHS) -> dict[str, Any]:
    """Five people, and the names of all films that any of them can be shown in the window of the picture."""
    train, valid, test = parts()
    data = two_scalars.packed_data(*trained("MF", NARROW, epochs), train, test, chosen=PEOPLE, seen=valid)
    needed = set()
    for person in data["people"]:
        user = two_scalars.user_of(data, person)
        needed.update(person["test"], *(user.shown(*point).tolist() for point in two_scalars.grid_points()))
    names = film_names(train)
    return {**data, "names": {str(item): names[item] for item in sorted(needed)}}


def store(name: str, data: Any) -> None:
    path = FOLDER / name
    path.write_text(
        json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace('],"', '],\n"').replace('},"', '},\n"')
        + "\n",
        encoding="utf-8",
    )
    print(f"{path}: {path.stat().st_size} bytes")


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    torch.set_num_threads(1)
    store("popularity_axis.json", popularity_axis_data())
    store("two_scalars.json", two_scalars_data())


if __name__ == "__main__":
    main()
