"""How the learning rates of `films.RATES` were chosen: five rates for each objective, on a part that no test uses.

python -m course_lib.lessons.in_batch_bias.rates (a minute) trains the twenty models and stores what they find.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from course_lib.experiments import p3
from course_lib.lessons.in_batch_bias import films
from course_lib.lessons.shared.film_models import store

TRIED = (0.01, 0.03, 0.1, 0.3, 1.0)
STORED = Path(__file__).with_name("rates.json")


def precision(objective: str, rate: float) -> float:
    """P@5, in percent, on a tenth of the training pairs, of a model that was trained on the others."""
    train, _ = p3.load_split("movietweetings-10core", 0)
    part, validation = p3.drop_untrained(*train.split_random(0.9, np.random.default_rng(5)))
    return films.lists(films.trained(part, objective, seed=0, rate=rate), part, validation).precision


def computed() -> dict[str, list[float]]:
    """Objective -> `precision` at each rate of TRIED."""
    return {objective: [precision(objective, rate) for rate in TRIED] for objective in films.RATES}


def stored() -> dict[str, list[float]]:
    """`computed`, as it was stored, to four decimals."""
    found: dict[str, list[float]] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    store(STORED, {objective: [round(value, 4) for value in found] for objective, found in computed().items()})
