"""Trains the model of the interactive `TwoScalars` and stores what it shows of it (some ten seconds).

python -m course_lib.lessons.ddc.make_two_scalars
"""

from __future__ import annotations

from typing import Any

from course_lib.lessons.ddc import two_scalars
from course_lib.lessons.shared.film_models import EPOCHS, film_names, parts, store, trained

WIDTH = 8
# Chosen for what they show: all ranks better at the minimum; alpha above 0 and a list twice as popular; ranks worse at
# the minimum; no minimum; a user of rare films.
PEOPLE = (112, 727, 205, 574, 844)


def data(epochs: int = EPOCHS) -> dict[str, Any]:
    """Five people, and the names of all films that any of them can be shown in the window of the picture."""
    train, valid, test = parts()
    found = two_scalars.packed_data(*trained("MF", WIDTH, epochs), train, test, chosen=PEOPLE, seen=valid)
    needed: set[int] = set()
    for person in found["people"]:
        user = two_scalars.user_of(found, person)
        needed.update(person["test"], *(user.shown(*point).tolist() for point in two_scalars.grid_points()))
    names = film_names(train)
    return {**found, "names": {str(item): names[item] for item in sorted(needed)}}


if __name__ == "__main__":
    store(two_scalars.STORED, data())
