"""Which verdicts are faults of healthy models: python tests/audit/make_real_rates.py.

Trains models of several encoders and losses on real pairs, or takes those of P1's experiments from their store, audits
each, and writes real.json beside rates.json. What was stored before stays, and is not trained again. RULE was written
before the first run. Text towers on sentences need the extra `text`. Four minutes of processor where P1's models are
stored. Data: see `course_lib.datasets`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import cache, partial
from time import process_time
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib import datasets, geometry, in_batch, losses
from course_lib.audit import CATALOGUE, Report, Training, audit
from course_lib.audit.rates import REAL, real
from course_lib.audit.remedies import CENTRE, NORMALISE, POPULAR
from course_lib.experiments.p1.data import load_split
from course_lib.experiments.p1.models import ModelCell, fitted, model_cell
from course_lib.experiments.text import unrated
from course_lib.experiments.text.encoders import MINILM, WORDS, encoded
from course_lib.interactions import Interactions
from course_lib.training.on_pairs import cosine_tables, new_tables, train_on_pairs
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
    "ml-latest-small": {"min_rating": 4, "core": 5},
    "movietweetings": {"min_rating": 7, "core": 10},
}
P1 = {  # its budgets, and the decay that each backbone has there
    "lastfm-10core": (
        {"batch": 4096, "epochs": 80, "patience": 12},
        {"MF": 0.01, "LightGCN": 0.001, "DGCF": 0.003, "NCL": 0.001, "LightCCF": 0.003},
    ),
    "ml-1m-10core": ({"batch": 16384, "epochs": 60, "patience": 8}, {"MF": 0.01, "LightGCN": 0.0003}),
}
METHODS: dict[str, dict[str, Any]] = {  # of debiasing, on lastfm-10core
    "MF": {"IPS": {"power": 0.1}, "PC": {"alpha": 0.03}, "TPAB": {"stages": 1}},
    "LightGCN": {"IPS": {"power": 0.1}, "PC": {"alpha": 0.03}, "TPAB": {"stages": 1}},
}
SEEDS = (3, 4)  # of P1's models
BATCH, WIDTH, PASSES, TAU, NEGATIVES = 512, 32, 10, 0.2, 256
Trained = tuple[Any, Any, Training]  # items, users, what is known of the training


def on_dots(train: Interactions, seed: int, loss: Callable[..., Tensor], training: Training) -> Trained:
    """loss: of (users of the batch, items of the batch, all items, item ids, user ids, generator)."""
    generator = torch.Generator().manual_seed(seed)
    users, items = new_tables(train, WIDTH, generator)

    def of_batch(u: Tensor, i: Tensor) -> Tensor:
        return loss(users[u], items[i], items, i, u, generator)

    train_on_pairs(train, of_batch, (users, items), generator, passes=PASSES, batch=BATCH)
    return items.detach().numpy(), users.detach().numpy(), training


def dot_softmax(train: Interactions, seed: int) -> Trained:
    log_q = log_probability(train)

    def loss(U: Tensor, V: Tensor, _: Tensor, i: Tensor, *more: Any) -> Tensor:
        found: Tensor = losses.in_batch_softmax(U @ V.T, tau=1.0, log_q=log_q[i], item_ids=i)
        return found

    return on_dots(train, seed, loss, Training("in-batch-softmax", BATCH, 1.0, logq=True))


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

    return on_dots(train, seed, loss, Training("unbiased", BATCH))


def cosines(train: Interactions, seed: int, *, logq: bool) -> Trained:
    log_q = log_probability(train) if logq else None
    tables = cosine_tables(train, tau=TAU, log_q=log_q, width=WIDTH, passes=PASSES, batch=BATCH, seed=seed)
    users, items = (geometry.normalise(table.numpy()) for table in tables)
    return items, users, Training("in-batch-softmax", BATCH, TAU, logq)


@cache
def texts(data: str, encoder: str) -> Any:
    names = tuple(map(str, loaded(data).item_table["name"]))
    return geometry.normalise(encoded(names, encoder))


def on_titles(train: Interactions, seed: int, *, data: str, encoder: str) -> Trained:
    steps = PASSES * len(train) // unrated.BATCH
    users, items = unrated.trained(train, texts(data, encoder), steps=steps, seed=seed)
    return items, users, Training("in-batch-softmax", unrated.BATCH, unrated.TAU, logq=True)


MAKERS: dict[str, Callable[[Interactions, int], Trained]] = {
    "dot, softmax with logQ": dot_softmax,
    "dot, sampled softmax": sampled_softmax,
    "dot, unbiased logistic": unbiased_logistic,
    "cosine, softmax": lambda train, seed: cosines(train, seed, logq=False),
    "cosine, softmax with logQ": lambda train, seed: cosines(train, seed, logq=True),
}


@cache
def loaded(data: str) -> Interactions:
    return datasets.load(data, **DATA[data])


def of_p1() -> Iterator[ModelCell]:
    """MF and graph models under BPR, stopped by validation pairs: plain ones of two seeds, debiased ones of one."""
    for data, (budget, decays) in P1.items():
        common: Any = {"data": data, "every": 4, "device": "cpu", **budget, "lr": 0.02}
        for backbone, decay in decays.items():
            yield from (model_cell(common, backbone, seed, decay=decay) for seed in SEEDS)
            for method, options in METHODS.get(backbone, {}).items() if data.startswith("lastfm") else ():
                yield model_cell(common, backbone, SEEDS[0], method=method, decay=decay, **options)


def jobs() -> Iterator[tuple[str, Callable[[], Report]]]:
    """(the name of a model, what trains and audits it)."""
    for cell in of_p1():
        method = f" with {cell['method']}" if cell["method"] else ""
        yield f"{cell['data']}, {cell['backbone']}{method}, BPR, seed {cell['seed']}", partial(of_cell, cell)
    for data in DATA:
        for name, maker in MAKERS.items():
            yield f"{data}, {name}", partial(of_maker, data, maker)
        for encoder in (WORDS, MINILM):
            yield f"{data}, titles by {encoder} alone", partial(of_encoder, data, encoder)
            on_top = partial(on_titles, data=data, encoder=encoder)
            yield f"{data}, titles by {encoder}, softmax with logQ", partial(of_maker, data, on_top)


def of_cell(cell: ModelCell) -> Report:
    split, model = load_split(cell["data"], cell["seed"]), fitted(cell)
    return audited((model.items, model.users, Training("bpr", negatives="uniform")), split.train, split.test)


def of_maker(data: str, maker: Callable[[Interactions, int], Trained]) -> Report:
    train, test = loaded(data).split_random(0.9, np.random.default_rng(0))
    return audited(maker(train, 0), train, test)


def of_encoder(data: str, encoder: str) -> Report:
    return audit(texts(data, encoder), counts=loaded(data).col_counts, draws=1, rng=np.random.default_rng(0))


def audited(made: Trained, train: Interactions, test: Interactions) -> Report:
    items, users, training = made
    rng = np.random.default_rng(0)
    return audit(items, users, pairs=train, held_out=test, training=training, draws=1, rng=rng)


def summary(report: Report) -> dict[str, Any]:
    """Its verdicts, the figures that decide them, and whether it is healthy and which faults have a measured repair."""
    found: dict[str, Any] = {"faults": report.ids("fault"), "noted": report.ids("noted")}
    of: dict[str, Any] = {name: report[name].figures for name in CATALOGUE}
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


def main() -> None:
    """Trains and audits what is not stored yet, and writes after each model."""
    torch.set_num_threads(1)
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    commit = head.stdout.strip()
    stored = real() if REAL.exists() else {"models": {}}
    stored |= {"rule": RULE, "command": "python tests/audit/make_real_rates.py"}
    for name, report in jobs():
        if name in stored["models"]:
            continue
        start = process_time()
        try:
            made = summary(report())
            stored["models"][name] = made | {"seconds": round(process_time() - start, 1), "commit": commit}
        except FileNotFoundError as problem:  # the extra `text` is not installed
            print(name, problem)
            continue
        print(name, stored["models"][name], flush=True)
        REAL.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
