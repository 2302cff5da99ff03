"""TEXT-X2: films without a rating. Towers on features against a table, where a film's pairs were all held out."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from course_lib import gauge, geometry, metrics
from course_lib.arrays import Array
from course_lib.encoders import DenseLinear, Lookup, TwoTower
from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, tidy
from course_lib.experiments.text.encoders import MINILM, RECIPES, TOP, WORDS, EncoderCell, describe, encoded, named
from course_lib.interactions import Interactions
from course_lib.training.towers import train_towers

TABLE = "table"
WIDTH, TAU, RATE, BATCH = 32, 0.2, 0.01, 512
COLD, WARM_TRAIN = 0.2, 0.9  # share of the films that lose all pairs; of the other pairs that are trained on


class ColdCell(EncoderCell):
    """Every tower, on one draw of the films that lose their pairs."""

    steps: int
    seed: int


def plan(scale: str, seeds: Seeds) -> list[ColdCell]:
    """One cell for each draw of the films without a rating."""
    sets = {"smoke": {"movietweetings-10core": 200}, "laptop": {"movietweetings-5core": 1500, "ml-1m-5core": 3000}}
    steps = sets.get(scale, {"ml-1m-5core": 20_000})
    encoder = WORDS if scale == "smoke" else MINILM
    return [
        {"data": data, "encoder": encoder, "steps": many, "seed": seed}
        for data, many in steps.items()
        for seed in seeds
    ]


@experiment(
    "TEXT-X2",
    "films without a rating: towers on titles and genres against a table, and films with ratings beside them",
    plan=plan,
    estimate=lambda cell: 20.0 + 4 * cell["steps"] / 100,
    describe=describe,
    finish=lambda rows: means(rows, named, intervals=True),
    layout=shown("data", "model", digits=3),
)
def unrated_cell(cell: ColdCell) -> list[Row]:
    """Every tower on one draw: in-batch softmax with logQ on cosines, users from a table, items by `features_of`.

    COLD of the films lose all pairs; of the other pairs WARM_TRAIN are trained on. cold: NDCG and recall at TOP in
    lists of the cold films alone; warm: the same for held-out pairs of the other films. Also lists of cold films at
    random ("chance"), and by their own held-out counts ("ratings to come"), which nobody has yet. neighbours: share of
    the TOP by cosine, among films with a training pair, that a tower has in common with the table.
    """
    data, rng = RECIPES.load(cell["data"]), np.random.default_rng(cell["seed"])
    cold = np.zeros(data.n_items, dtype=bool)
    cold[rng.choice(data.n_items, round(COLD * data.n_items), replace=False)] = True
    train, warm = data.select(~cold[data.items]).split_random(WARM_TRAIN, rng)
    unrated = data.select(cold[data.items])
    rated = train.col_counts > 0
    lists: dict[str, Array] = {}
    found: dict[str, dict[str, float]] = {}
    with threads_for(data):
        for name, features in features_of(data, cell["encoder"]).items():
            users, items = trained(train, features, steps=cell["steps"], seed=cell["seed"])
            lists[name] = gauge.neighbours(items[rated], TOP)
            found[name] = {
                **quality(users, items, train, unrated, cold, "cold"),
                **quality(users, items, train, warm, rated, "warm"),
                "neighbours": float(gauge.neighbour_overlap(lists[name], lists[TABLE]).mean()),
            }
    m, n = data.shape
    others: dict[str, tuple[Array, Array]] = {
        "chance": (rng.standard_normal((m, WIDTH)), rng.standard_normal((n, WIDTH))),
        "ratings to come": (np.ones((m, 1)), unrated.col_counts.astype(np.float64)[:, None]),
    }
    found |= {name: quality(*tables, train, unrated, cold, "cold") for name, tables in others.items()}
    where = {"data": cell["data"], "seed": cell["seed"]}
    return [row for name, values in found.items() for row in tidy({**where, "model": name}, values)]


def features_of(data: Interactions, encoder: str) -> dict[str, Array | None]:
    """{tower: (n, h) unit rows that it takes for the films}; None for the tower that has a table.

    Titles by the encoder and by their words, and genres.
    """
    titles = tuple(map(str, data.item_table["name"]))
    words = [set(str(text).split("|")) for text in data.item_table["genres"]]
    genres = sorted(set().union(*words))
    found = {name: encoded(titles, name) for name in dict.fromkeys((encoder, WORDS))}
    found["genres"] = np.array([[genre in own for genre in genres] + [True] for own in words], dtype=np.float32)
    return {TABLE: None, **{name: geometry.normalise(rows) for name, rows in found.items()}}


def trained(train: Interactions, features: Array | None, *, steps: int, seed: int) -> tuple[Array, Array]:
    """Unit rows of users (m, d) and items (n, d): users from a table, items from one matrix on the features."""
    generator = torch.Generator().manual_seed(seed)
    m, n = train.shape
    users = Lookup(m, WIDTH, generator=generator, scale=WIDTH**-0.5)
    items: nn.Module = Lookup(n, WIDTH, generator=generator, scale=WIDTH**-0.5)
    if features is not None:
        items = DenseLinear(features, WIDTH, bias=True, generator=generator)
    towers = TwoTower(users, items)
    optimiser = torch.optim.Adam(towers.parameters(), lr=RATE)
    train_towers(towers, optimiser, train, steps=steps, seed=seed, batch_size=BATCH, tau=TAU, logq=True)
    left, right = (geometry.normalise(table.numpy()) for table in towers.embeddings(np.arange(m), np.arange(n)))
    return left, right


def quality(
    users: Array, items: Array, train: Interactions, test: Interactions, among: Array, part: str
) -> dict[str, float]:
    """NDCG and recall at TOP on the pairs of `test`, in lists of the items `among` (n,); of users with training pairs.

    users (m, d), items (n, d) are ranked by dot product; known items are left out.
    """
    place = np.cumsum(among) - 1

    def inside(data: Interactions) -> Interactions:
        kept = among[data.items] & (train.row_counts > 0)[data.users]
        return Interactions(data.users[kept], place[data.items[kept]], n_users=len(users), n_items=int(among.sum()))

    ranked = metrics.top_k(users, items[among], inside(train), TOP)
    found = metrics.metrics_from_ranking(ranked, inside(test), (TOP,))
    return {f"{part} NDCG": found[f"ndcg@{TOP}"], f"{part} recall": found[f"recall@{TOP}"]}
