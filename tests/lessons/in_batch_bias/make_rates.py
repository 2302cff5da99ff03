"""Writes rates.json and stops.json of the lesson: python -m tests.lessons.in_batch_bias.make_rates (ten minutes)."""

import numpy as np
import torch

from course_lib.experiments import p3
from course_lib.interactions import Interactions
from course_lib.lessons.in_batch_bias import films, rates
from course_lib.lessons.shared.film_models import store


def parts() -> tuple[Interactions, Interactions]:
    """The training pairs of the page's first split, and a validation part that is taken from them."""
    train, _ = p3.load_split("movietweetings-10core", 0)
    part, validation = p3.drop_untrained(*train.split_random(0.9, np.random.default_rng(5)))
    return part, validation


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = rates.computed(*parts())
    store(rates.STORED, {objective: [round(value, 4) for value in values] for objective, values in found.items()})
    splits = [p3.load_split("movietweetings-10core", seed) for seed in range(5)]
    stops = {
        objective: [rates.along(*split, objective, seed) for seed, split in enumerate(splits)]
        for objective in films.RATES
    }
    store(rates.STORED.with_name("stops.json"), stops)
