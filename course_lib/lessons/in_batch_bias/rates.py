"""The rates and the stop of the chapter's trainings.

How the learning rates of `films.RATES` were chosen: five rates for each objective, on a part that no test uses. And
what the lists are like after fewer passes, and after more, on the test of each split.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from course_lib.interactions import Interactions
from course_lib.lessons.in_batch_bias import films

TRIED = (0.01, 0.03, 0.1, 0.3, 1.0)
STOPS = (2, 5, 10, 20, 40, 80, 160)  # passes
STORED = Path(__file__).with_name("rates.json")  # written by tests/lessons/in_batch_bias/make_rates.py


def precision(part: Interactions, validation: Interactions, objective: str, rate: float) -> float:
    """P@5 on `validation`, in percent, of a model that was trained on `part`."""
    return films.lists(films.trained(part, objective, seed=0, rate=rate), part, validation).precision


def computed(part: Interactions, validation: Interactions) -> dict[str, list[float]]:
    """Objective -> `precision` at each rate of TRIED: twenty trainings, a minute."""
    return {kind: [precision(part, validation, kind, rate) for rate in TRIED] for kind in films.RATES}


def stored() -> dict[str, list[float]]:
    """`computed` for a tenth of the training pairs of the page's first split, to four decimals."""
    found: dict[str, list[float]] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def along(train: Interactions, test: Interactions, objective: str, seed: int) -> list[list[float]]:
    """[P@5 in percent, films ever shown] after each of STOPS passes of one training: about twenty seconds."""
    steps = len(train) // films.BATCH
    looks = {passes * steps for passes in STOPS}
    training = films.along(train, objective, seed=seed, passes=STOPS[-1])
    seen = [films.lists(model, train, test) for step, model in enumerate(training) if step in looks]
    return [[round(each.precision, 4), each.films] for each in seen]


def stops(objective: str) -> NDArray[np.float64]:
    """(splits, stops, 2) `along` as stored, for the page's splits."""
    return np.array(json.loads(STORED.with_name("stops.json").read_text(encoding="utf-8"))[objective])
