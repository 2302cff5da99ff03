"""Writes stops.json of the lesson anew: python -m tests.lessons.one_batch_many_machines.make_stops (seven minutes)."""

import numpy as np

from course_lib import datasets
from course_lib.experiments import p3
from course_lib.lessons.one_batch_many_machines import stops
from course_lib.lessons.shared.film_models import store
from course_lib.training.recommenders import split_811

SEEDS = range(3)


def parts(seed: int) -> stops.Parts:
    """Eight tenths of the pairs for training, one for validation, one for the test, as on the page."""
    everything = datasets.load("movietweetings", min_rating=7, core=5)
    train, *hidden = split_811(everything, np.random.default_rng(seed))
    validation, test = (p3.drop_untrained(train, part)[1] for part in hidden)
    return stops.Parts(train.compact(), validation, test)


if __name__ == "__main__":
    found = [stops.computed(parts(seed), seed=seed) for seed in SEEDS]
    rounded = {
        model: {name: [np.round(one[model][name], 2).tolist() for one in found] for name in of_model}
        for model, of_model in found[0].items()
    }
    store(stops.STORED, rounded)
