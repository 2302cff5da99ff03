"""How the learning rates of `films.RATES` were chosen: five rates for each objective, on a part that no test uses."""

from __future__ import annotations

import json
from pathlib import Path

from course_lib.interactions import Interactions
from course_lib.lessons.in_batch_bias import films

TRIED = (0.01, 0.03, 0.1, 0.3, 1.0)
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
