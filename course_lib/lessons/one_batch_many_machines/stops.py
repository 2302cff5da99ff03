"""What the chapter's trainings on films find after so many steps, and what two lists without a training find.

A training of 6,000 steps takes a quarter of a minute, and the page has twenty-seven, so it shows a stored table. Two
parts are hidden from the training: the test, and a validation part that may choose where to stop.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib import metrics
from course_lib.interactions import Interactions
from course_lib.lessons.one_batch_many_machines import machines

STOPS = (100, 200, 300, 450, 600, 1000, 1500, 3000, 6000)
MACHINES = {"one machine": "gradients", "eight, constants": "constant", "eight, local": "none"}  # what is gathered
MODELS: Mapping[str, Mapping[str, Any]] = {
    "inner products": {"log_q": False},
    "inner products, logQ": {"log_q": True},
    "cosines, logQ": {"log_q": True, "temperature": 0.3},  # finds more of seed 0's validation part than 0.2 does
}
LISTS = ("most popular", "random")
STORED = Path(__file__).with_name("stops.json")  # written by tests/lessons/one_batch_many_machines/make_stops.py


class Parts(NamedTuple):
    """A split of the pairs; both hidden parts hold people and films of the training part only."""

    train: Interactions
    validation: Interactions
    test: Interactions


class Stop(NamedTuple):
    """Of ten films that a person is not known to like: R@10 on both hidden parts, in percent, and their median fans."""

    validation: float
    recall: float
    fans: float


@dataclass(frozen=True)
class Stopped:
    """The numbers of `Stop` as arrays (seeds, stops)."""

    validation: NDArray[np.float64]
    recall: NDArray[np.float64]
    fans: NDArray[np.float64]

    def at_best_validation(self) -> NDArray[np.float64]:
        """R@10 on the test where the validation part finds most, (seeds,)."""
        best = self.validation.argmax(axis=1, keepdims=True)
        return np.take_along_axis(self.recall, best, axis=1)[:, 0]


def of_tables(users: NDArray[np.floating], items: NDArray[np.floating], parts: Parts) -> Stop:
    """The lists of the ten highest scores that each person is not trained on."""
    lists = metrics.top_k(users, items, parts.train, 10)
    found = [float(metrics.evaluate(users, items, parts.train, part, 10)["recall@10"]) for part in parts[1:]]
    return Stop(100 * found[0], 100 * found[1], float(np.median(parts.train.col_counts[lists])))


def of_training(model: str, holding: str, parts: Parts, *, seed: int, stops: Sequence[int] = STOPS) -> Iterator[Stop]:
    """One of MODELS on one of MACHINES, after each number of steps."""
    for made in machines.train_to(stops, parts.train, gather=MACHINES[holding], seed=seed, **MODELS[model]):
        yield of_tables(made.users.numpy(), made.items.numpy(), parts)


def of_list(name: str, parts: Parts, *, seed: int) -> Stop:
    """One of LISTS: everybody is shown the films with most pairs, or films at random."""
    m, n = parts.train.shape
    if name == "most popular":
        return of_tables(np.ones((m, 1)), parts.train.col_counts[:, None].astype(float), parts)
    rng = np.random.default_rng(seed)
    return of_tables(rng.normal(size=(m, 16)), rng.normal(size=(n, 16)), parts)


def computed(parts: Parts, *, seed: int) -> dict[str, dict[str, list[Stop]]]:
    """ "lists" -> name -> its only stop, and model -> machines -> its stops. Two minutes."""
    lists = {name: [of_list(name, parts, seed=seed)] for name in LISTS}
    trained = {
        model: {holding: list(of_training(model, holding, parts, seed=seed)) for holding in MACHINES}
        for model in MODELS
    }
    return {"lists": lists, **trained}


def stored() -> dict[str, dict[str, Stopped]]:
    """`computed` for the seeds 0 to 2, to two decimals."""
    found = json.loads(STORED.read_text(encoding="utf-8"))
    return {
        model: {name: Stopped(*np.moveaxis(np.array(seeds), 2, 0)) for name, seeds in of_model.items()}
        for model, of_model in found.items()
    }
