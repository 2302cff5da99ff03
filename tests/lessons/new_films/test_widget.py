"""The interactive of the chapter: one script draws it on the page and on paper."""

from __future__ import annotations

import numpy as np

from course_lib.lessons.new_films.sliding_film import SlidingFilm

REFUSED = [("sliding_film", {"reads": "titles"}, "reads"), ("sliding_film", {"chosen": 4}, "chosen")]
LAST = 9  # the stored moment at which the training is over


def test_its_words_are_those_of_its_state() -> None:
    film = SlidingFilm()
    assert film.moment == LAST and film.summary().startswith("After 760 batches, in a film tower that reads genres")
    film.reads, film.moment = "nothing", 0
    assert "stands where it was drawn" in film.summary() and film.summary().startswith("After 0 batches")


def test_a_film_moves_with_features_and_stays_without() -> None:
    models = SlidingFilm().film["models"]
    places = {name: np.array([now[-3:] for now in one["map"]]) for name, one in models.items()}
    assert (places["nothing"] == places["nothing"][0]).all()
    assert (np.abs(places["features"][-1] - places["features"][0]).max(axis=1) > 20).all()


def test_paper_holds_the_map_and_the_five_films() -> None:
    film = SlidingFilm(chosen=2)
    picture = film.picture()
    assert picture.count("<svg") == 1 and picture.count("<li") == 5
    assert film.film["titles"][film.film["models"]["features"]["near"][-1][1][0]] in picture
