"""Does the audit find tables that do not belong to their pairs? KINDS of mismatch on three trained models.

    python benchmarks/belonging.py [--seeds 20] [--models dot cosine text] [--out found.json]

Each model is trained anew for each seed: BPR on ML-100K, softmax on cosines on ML-1M, and a tower on the titles of
ML-1M (all-MiniLM-L6-v2 where the extra `text` is installed, else words) beside a table of users. Bars: of 20 seeds 19
of each kind found (a fault, or ids that are refused), and no fault where the rows are right. --out keeps what was said
of each, and a second run goes on from there. About 15 minutes of processor. Data: see `course_lib.datasets`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from course_lib import datasets, geometry, outputs
from course_lib.audit.evidence import Evidence
from course_lib.audit.pairs import pairs_of
from course_lib.audit.questions.belonging import mismatched_rows
from course_lib.audit.tables import Table, table_of
from course_lib.experiments.text import unrated
from course_lib.experiments.text.encoders import MINILM, WORDS, encoded
from course_lib.interactions import Interactions
from course_lib.training.bpr import bpr_epoch
from course_lib.training.towers import lookup_towers, train_towers

WIDTH, BAR = 32, 0.95
LEFT_OUT = 0.7  # of the pairs: what another split lacks
FAR = 2**24  # whole numbers that float32 cannot tell apart begin here
Rows = np.ndarray


@dataclass(frozen=True)
class Model:
    """Tables and the pairs of their training, and held-out pairs where the ids are those of the training."""

    items: Rows
    users: Rows
    pairs: Interactions
    held_out: Interactions | None

    def told(self, seed: int) -> tuple[bool, str]:
        """(whether the rows are said not to belong, what is said)."""
        evidence = Evidence(self.items, self.users, pairs=self.pairs, held_out=self.held_out, seed=seed)
        verdict = mismatched_rows(evidence)
        return verdict.verdict == "fault", f"{verdict.verdict}: {verdict.support}"


# ---- models whose rows are right


@cache
def loaded(data: str, core: int) -> Interactions:
    return datasets.load(data, min_rating=4, core=core)


def split(data: str, core: int, seed: int) -> tuple[Interactions, Interactions]:
    train, test = loaded(data, core).split_random(0.9, np.random.default_rng(seed))
    return train, test


def by_dots(seed: int) -> Model:
    train, test = split("ml-100k", 5, seed)
    rng = np.random.default_rng(seed)
    users, items = (rng.normal(0, 0.1, (rows, WIDTH)) for rows in train.shape)
    for _ in range(10):
        bpr_epoch(users, items, train, lr=0.05, decay=0.01, rng=rng, threads=1)
    return Model(items, users, train, test)


def by_cosines(seed: int) -> Model:
    train, test = split("ml-1m", 10, seed)
    towers = lookup_towers(train, d=WIDTH, norm=1.0, seed=seed)
    optimiser = torch.optim.Adam(towers.parameters(), lr=0.02)
    train_towers(towers, optimiser, train, steps=500, seed=seed, batch_size=512, tau=0.2, logq=True)
    users, items = (geometry.normalise(table.detach().numpy()) for table in towers.parameters())
    return Model(items, users, train, test)


@cache
def titles() -> Rows:
    names = tuple(map(str, loaded("ml-1m", 10).item_table["name"]))
    try:
        rows = encoded(names, MINILM)
    except FileNotFoundError:  # the extra is not installed
        rows = encoded(names, WORDS)
    unit: Rows = geometry.normalise(rows)
    return unit


def by_titles(seed: int) -> Model:
    train, test = split("ml-1m", 10, seed)
    users, items = unrated.trained(train, titles(), steps=500, seed=seed)
    return Model(items, users, train, test)


MODELS: dict[str, Callable[[int], Model]] = {"dot": by_dots, "cosine": by_cosines, "text": by_titles}


# ---- rows that are not right


def mixed(rows: Rows, seed: int, share: float = 1.0) -> Rows:
    """This share of the rows dealt out anew among themselves."""
    rng = np.random.default_rng([seed, 1])
    some = rng.choice(len(rows), round(share * len(rows)), replace=False)
    found = rows.copy()
    found[some] = rows[rng.permutation(some)]
    return found


def renumbered(model: Model, seed: int) -> Model:
    """Items as another split numbers them: without those that have no pair there."""
    kept = np.random.default_rng([seed, 2]).random(len(model.pairs)) > LEFT_OUT
    counts = np.bincount(model.pairs.items[kept], minlength=len(model.items))
    return replace(model, items=model.items[np.argsort(counts == 0, kind="stable")])


def exchanged(model: Model) -> Model:
    """Each table in the other's place, cut to one number of rows, so that all ids exist."""
    size = min(len(model.users), len(model.items))
    kept = (model.pairs.users < size) & (model.pairs.items < size)
    pairs = Interactions(model.pairs.users[kept], model.pairs.items[kept], n_users=size, n_items=size)
    return Model(model.users[:size], model.items[:size], pairs, None)


def as_text(rows: Rows) -> Rows:
    return rows[np.argsort(np.arange(len(rows)).astype(str))]


Change = Callable[[Model, Model, int], Model]  # (model, another training of it, seed)
KINDS: dict[str, Change] = {
    "items shifted by one": lambda model, _, seed: replace(model, items=np.roll(model.items, 1, axis=0)),
    "users and items counted from 1": lambda model, _, seed: replace(
        model, items=np.roll(model.items, -1, axis=0), users=np.roll(model.users, -1, axis=0)
    ),
    "items permuted": lambda model, _, seed: replace(model, items=mixed(model.items, seed)),
    "users permuted": lambda model, _, seed: replace(model, users=mixed(model.users, seed)),
    "items in reverse": lambda model, _, seed: replace(model, items=model.items[::-1]),
    "both of another vocabulary": lambda model, _, seed: replace(
        model, items=mixed(model.items, seed), users=mixed(model.users, seed)
    ),
    "half of the items dealt out anew": lambda model, _, seed: replace(model, items=mixed(model.items, seed, 0.5)),
    "half of the users dealt out anew": lambda model, _, seed: replace(model, users=mixed(model.users, seed, 0.5)),
    "halves of the items exchanged": lambda model, _, seed: replace(
        model, items=np.roll(model.items, len(model.items) // 2, axis=0)
    ),
    "users and items exchanged": lambda model, _, seed: exchanged(model),
    "items of a stale snapshot": lambda model, other, seed: replace(model, items=other.items),
    "items by name": lambda model, _, seed: replace(model, items=as_text(model.items)),
    "items numbered by another split": lambda model, _, seed: renumbered(model, seed),
}
FLOATS = "ids that were float32"


def float_ids(model: Model) -> tuple[bool, str]:
    """Ids from where float32 merges neighbours on, as a frame with gaps stores them."""
    ids = np.arange(len(model.items)) + FAR
    items = Table(model.items, "memory", len(ids), np.zeros(0, np.int64), ids)
    try:
        pairs_of(
            (model.pairs.users, ids[model.pairs.items].astype(np.float32)), "pairs", table_of(model.users, "u"), items
        )
    except ValueError as problem:
        return True, f"refused: {problem}"
    return False, "read"


def measured(name: str, seed: int) -> dict[str, tuple[bool, str]]:
    """What is said of each kind, and of the right rows."""
    model, other = MODELS[name](seed), MODELS[name](seed + 1000)
    found = {kind: change(model, other, seed).told(seed) for kind, change in KINDS.items()}
    return {"right": model.told(seed), **found, FLOATS: float_ids(model)}


def main() -> int:
    """Prints how many of each kind were found, and returns 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--models", nargs="+", default=[*MODELS], choices=[*MODELS])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.seeds < 1:
        parser.error(f"--seeds is {asked.seeds}; expected a whole number of at least 1")
    try:
        if asked.out:
            outputs.file(asked.out, "--out")
    except ValueError as error:
        parser.error(str(error))
    torch.set_num_threads(1)
    known = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out and asked.out.exists() else {}
    missed = 0
    for seed in range(asked.seeds):
        for name in asked.models:
            if f"{name} {seed}" not in known:
                known[f"{name} {seed}"] = measured(name, seed)
            if asked.out:
                asked.out.write_text(json.dumps(known, indent=1), encoding="utf-8")
    for name in asked.models:
        for kind in ("right", *KINDS, FLOATS):
            told = sum(bool(known[f"{name} {seed}"][kind][0]) for seed in range(asked.seeds))
            bad = told > 0 if kind == "right" else told < BAR * asked.seeds
            missed += bad
            print(f"{name:8}{kind:36}{told:3} of {asked.seeds}{'  missed' if bad else ''}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
