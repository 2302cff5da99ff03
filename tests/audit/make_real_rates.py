"""Which verdicts are faults of healthy models: python tests/audit/make_real_rates.py [--data ...] [--seeds 1].

Trains small models of several encoders and losses on real pairs, audits each, and writes real.json beside rates.json.
What was stored before stays, and is not trained again. RULE was written before the first run. Text towers on sentences
need the extra `text`; about four seconds of processor a model. Data: see `course_lib.datasets`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib import backbones, datasets, geometry, in_batch, losses
from course_lib.audit import CATALOGUE, Report, Training, audit
from course_lib.audit.rates import REAL
from course_lib.audit.remedies import CENTRE, NORMALISE, POPULAR
from course_lib.experiments.text import unrated
from course_lib.experiments.text.encoders import MINILM, WORDS, encoded
from course_lib.interactions import Interactions
from course_lib.training.bpr import bpr_epoch
from course_lib.training.on_pairs import cosine_tables, new_tables, train_on_pairs
from course_lib.training.recommenders import train_recommender
from course_lib.training.towers import log_probability

RULE = (
    "A trained model is healthy where its lists rank held-out pairs above the most popular items; an encoder of texts "
    "as it is, without pairs, is healthy. Of the healthy models a verdict may be a fault of 1 in 20 at most, not "
    "counting those where a repair was measured to help on held-out pairs of that model. A threshold is moved only "
    "within what keeps the planted faults of middle strength found in 19 of 20 and no clean model at fault; where no "
    "threshold does both, the verdict is a description: noted where it was a fault, and never a fault."
)
DATA: dict[str, dict[str, int]] = {
    "ml-100k": {"min_rating": 4, "core": 5},
    "lastfm-hetrec": {"core": 5},
    "ml-latest-small": {"min_rating": 4, "core": 5},
    "movietweetings": {"min_rating": 7, "core": 10},
    "amazon-beauty": {"core": 5},
}
LARGE = 100_000  # pairs, from which on batches are larger and one seed is enough
WIDTH, PASSES, TAU, NEGATIVES = 32, 10, 0.2, 256
Trained = tuple[Any, Any, Training]  # items, users, what is known of the training


def batch_of(train: Interactions) -> int:
    return 512 if len(train) < LARGE else 2048


def on_dots(train: Interactions, seed: int, loss: Callable[..., Tensor], training: Training) -> Trained:
    """loss: of (users of the batch, items of the batch, all items, item ids, user ids, generator)."""
    generator = torch.Generator().manual_seed(seed)
    users, items = new_tables(train, WIDTH, generator)

    def of_batch(u: Tensor, i: Tensor) -> Tensor:
        return loss(users[u], items[i], items, i, u, generator)

    train_on_pairs(train, of_batch, (users, items), generator, passes=PASSES, batch=batch_of(train))
    return items.detach().numpy(), users.detach().numpy(), training


def dot_softmax(train: Interactions, seed: int, *, logq: bool) -> Trained:
    log_q = log_probability(train)

    def loss(U: Tensor, V: Tensor, _: Tensor, i: Tensor, *more: Any) -> Tensor:
        shift = log_q[i] if logq else None
        found: Tensor = losses.in_batch_softmax(U @ V.T, tau=1.0, log_q=shift, item_ids=i)
        return found

    return on_dots(train, seed, loss, Training("in-batch-softmax", batch_of(train), 1.0, logq))


def sampled_softmax(train: Interactions, seed: int) -> Trained:
    """SSM: the positive against NEGATIVES uniform items, which a batch shares."""

    def loss(U: Tensor, V: Tensor, items: Tensor, i: Tensor, u: Tensor, generator: torch.Generator) -> Tensor:
        others = torch.randint(len(items), (NEGATIVES,), generator=generator)
        scores = U @ items[others].T
        scores = scores.masked_fill(i[:, None] == others, -torch.inf)
        own = (U * V).sum(dim=1, keepdim=True)
        return F.cross_entropy(torch.cat([own, scores], dim=1), torch.zeros(len(U), dtype=torch.int64))

    return on_dots(train, seed, loss, Training("other"))


def unbiased_logistic(train: Interactions, seed: int) -> Trained:
    rows, columns = (torch.from_numpy(np.array(side)) for side in (train.row_counts, train.col_counts))

    def loss(U: Tensor, V: Tensor, _: Tensor, i: Tensor, u: Tensor, *more: Any) -> Tensor:
        scores = U @ V.T
        found: Tensor = in_batch.batch_loss(
            "unbiased",
            pos_loss=losses.logistic(1, scores.diagonal()),
            neg_loss=losses.logistic(0, scores),
            row_counts=rows[u],
            col_counts=columns[i],
            n_positives=len(train),
            shape=train.shape,
        )
        return found

    return on_dots(train, seed, loss, Training("unbiased", batch_of(train)))


def bpr(train: Interactions, seed: int, *, negatives: str) -> Trained:
    rng = np.random.default_rng(seed)
    users, items = (rng.normal(0, 0.1, (rows, WIDTH)) for rows in train.shape)
    for _ in range(3 * PASSES):
        bpr_epoch(users, items, train, lr=0.05, decay=0.01, rng=rng, negatives=negatives, threads=1)
    return items, users, Training("bpr", negatives=negatives)


def light_gcn(train: Interactions, seed: int) -> Trained:
    model = backbones.LightGCN(train, WIDTH, layers=2, decay=1e-4, generator=torch.Generator().manual_seed(seed))
    train_recommender(model, train, None, epochs=2 * PASSES, lr=0.01, seed=seed, batch_size=4096)
    with torch.no_grad():
        users, items = model()
    return items.numpy(), users.numpy(), Training("bpr", negatives="uniform")


def cosines(train: Interactions, seed: int, *, logq: bool) -> Trained:
    log_q = log_probability(train) if logq else None
    tables = cosine_tables(train, tau=TAU, log_q=log_q, width=WIDTH, passes=PASSES, batch=batch_of(train), seed=seed)
    users, items = (geometry.normalise(table.numpy()) for table in tables)
    return items, users, Training("in-batch-softmax", batch_of(train), TAU, logq)


@cache
def texts(data: str, encoder: str) -> Any:
    names = tuple(map(str, loaded(data).item_table["name"]))
    return geometry.normalise(encoded(names, encoder))


def on_titles(train: Interactions, seed: int, *, data: str, encoder: str) -> Trained:
    steps = PASSES * len(train) // unrated.BATCH
    users, items = unrated.trained(train, texts(data, encoder), steps=steps, seed=seed)
    return items, users, Training("in-batch-softmax", unrated.BATCH, unrated.TAU, logq=True)


MAKERS: dict[str, Callable[[Interactions, int], Trained]] = {
    "dot, softmax": lambda train, seed: dot_softmax(train, seed, logq=False),
    "dot, softmax with logQ": lambda train, seed: dot_softmax(train, seed, logq=True),
    "dot, sampled softmax": sampled_softmax,
    "dot, unbiased logistic": unbiased_logistic,
    "dot, BPR": lambda train, seed: bpr(train, seed, negatives="uniform"),
    "dot, BPR, popular negatives": lambda train, seed: bpr(train, seed, negatives="popularity"),
    "LightGCN, BPR": light_gcn,
    "cosine, softmax": lambda train, seed: cosines(train, seed, logq=False),
    "cosine, softmax with logQ": lambda train, seed: cosines(train, seed, logq=True),
}
ENCODERS = {"words": WORDS, "MiniLM": MINILM}


@cache
def loaded(data: str) -> Interactions:
    return datasets.load(data, **DATA[data])


def models(data: str, seeds: int) -> Iterator[tuple[str, int, Callable[[Interactions], Trained | Any]]]:
    """(name, seed, what trains it); an encoder alone has no seed, and gives its rows."""
    some = range(1 if len(loaded(data)) >= LARGE else seeds)
    for name, maker in MAKERS.items():
        yield from ((name, seed, lambda train, make=maker, at=seed: make(train, at)) for seed in some)
    if "name" in (loaded(data).item_table or {}):
        for name, encoder in ENCODERS.items():
            yield f"titles by {name}, alone", 0, lambda train, which=encoder: texts(data, which)
            yield (
                f"titles by {name}, softmax with logQ",
                0,
                lambda train, which=encoder: on_titles(train, 0, data=data, encoder=which),
            )


def summary(report: Report) -> dict[str, Any]:
    """Its verdicts, the figures that decide them, and whether it is healthy and which faults have a measured repair."""
    found: dict[str, Any] = {"faults": report.ids("fault"), "noted": report.ids("noted")}
    of = {name: report[name].figures for name in CATALOGUE}
    ranks = {effect.remedy: effect for effect in report.baselines}
    found["healthy"] = not ranks or ranks[POPULAR].before > ranks[POPULAR].after
    if ranks:
        found["ndcg"] = [round(value, 4) for value in (ranks[POPULAR].before, ranks[POPULAR].after)]
    rank, hubs, gauge = of["collapsed-rank"], of["hubs"], of["free-gauge"]
    found["figures"] = {
        "centre": of["shifted-centre"]["length_of_mean_direction"],
        "free dimensions": gauge["free_dimensions"],
        "imbalance": gauge["imbalance"],
        "balanced overlap": gauge["balanced_overlap"],
        "effective rank": rank["effective_rank"] / rank["possible"],
        "hubs": hubs["share"],
        "hubs of the null": hubs["null_share"],
        "equal rows": of["duplicated-rows"]["share"],
        "dead rows": of["dead-rows"]["share"],
    }
    for effect in report.remedies:
        if effect.remedy in (CENTRE, NORMALISE):
            found["figures"][effect.remedy] = effect.difference
    rounded = {name: None if each is None else round(float(each), 4) for name, each in found["figures"].items()}
    return found | {"figures": rounded}


def measured(data: str, name: str, seed: int, make: Callable[[Interactions], Any]) -> dict[str, Any]:
    train, test = loaded(data).split_random(0.9, np.random.default_rng(seed))
    start = process_time()
    made, rng = make(train), np.random.default_rng(0)
    if isinstance(made, tuple):
        items, users, training = made
        report = audit(items, users, pairs=train, held_out=test, training=training, draws=1, rng=rng)
    else:
        report = audit(made, counts=train.col_counts, draws=1, rng=rng)
    return summary(report) | {"seconds": round(process_time() - start, 1)}


def main() -> None:
    """Trains and audits what is not stored yet, and writes after each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*DATA], choices=[*DATA])
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    stored = json.loads(REAL.read_text(encoding="utf-8")) if REAL.exists() else {"models": {}}
    stored |= {"rule": RULE, "command": "python tests/audit/make_real_rates.py", "commit": commit.stdout.strip()}
    for data in asked.data:
        for name, seed, make in models(data, asked.seeds):
            key = f"{data}, {name}, seed {seed}"
            if key in stored["models"]:
                continue
            try:
                stored["models"][key] = measured(data, name, seed, make)
            except FileNotFoundError as problem:  # the extra is not installed
                print(key, problem)
                continue
            print(key, stored["models"][key], flush=True)
            REAL.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
