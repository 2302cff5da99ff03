"""Stores the tables of the interactive `ChosenNeighbours`: the chapter's model, its best-known films, twelve people.

python -m course_lib.lessons.gauge_freedom.make_chosen_neighbours
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.lessons.gauge_freedom import chosen_neighbours, films
from course_lib.lessons.shared.film_models import film_names, store

PEOPLE = 12  # those who liked the most films


def data() -> dict[str, Any]:
    """Titles, genres and tables; numbers in thousandths."""
    people, movies = films.model()
    shown, pairs = films.shown(), films.data()
    names = film_names(pairs)
    most = np.argsort(-pairs.row_counts, kind="stable")[:PEOPLE]
    signs = np.sign(movies.sum(axis=0))  # the closed form leaves them open
    genres = [str(pairs.item_table["genres"][i]).split("|") for i in shown]
    return {
        "titles": [names[i] for i in shown],
        "cartoons": [names[i] for i, words in zip(shown, genres, strict=True) if "Animation" in words],
        "oldest": [names[i] for i in sorted(shown, key=lambda i: str(pairs.item_table["name"][i])[-5:-1])[: films.TOP]],
        "films": _thousandths(movies[shown] * signs),
        "people": _thousandths(people[most] * signs),
    }


def _thousandths(rows: np.ndarray) -> list[list[int]]:
    """Rows (n, k) in whole numbers; the last axis of the closed form, which has the most weight, comes first."""
    found: list[list[int]] = np.rint(chosen_neighbours.THOUSANDTHS * rows[:, ::-1]).astype(int).tolist()
    return found


if __name__ == "__main__":
    store(chosen_neighbours.STORED, data())
