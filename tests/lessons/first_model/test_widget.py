"""The interactive of the first chapter: one script draws it on the page and on paper."""

from __future__ import annotations

import pytest

from course_lib.lessons.first_model.training_film import TrainingFilm
from course_lib.lessons.shared.widgets import paper
from tests.lessons.every import printed

LAST = 8  # the stored moment at which the training is over


def test_its_words_are_those_of_its_state() -> None:
    film = TrainingFilm(person=2)
    assert film.moment == LAST and film.summary().startswith("After 20 passes, with the first loss,")
    film.model, film.moment = "corrected", 1
    assert film.summary().startswith("After 1 pass, corrected for popularity,")


def test_the_summary_gives_the_stored_numbers() -> None:
    film = TrainingFilm(model="corrected")
    stored = film.film["models"]["corrected"]
    share, ratings = 100 * stored["recall"][-1], stored["count"][-1]
    assert f"hold {share:.0f} %" in film.summary() and f"has {ratings:.0f} ratings" in film.summary()


def test_paper_holds_the_map_and_the_ten_films() -> None:
    film = TrainingFilm()
    picture = film.picture()
    titles = [film.film["titles"][k] for k in film.film["models"]["plain"]["lists"][-1][0]]
    assert picture.count("<svg") == 1 and picture.count("<li") == 10
    assert all(title.replace("'", "'") in picture.replace("&#39;", "'") for title in titles)


def test_a_script_that_stops_says_which_and_why() -> None:
    with pytest.raises(RuntimeError, match="training_film stops: "):
        paper.drawn("training_film", "{}")


@pytest.mark.seconds
def test_the_same_in_python_is_python_that_runs() -> None:
    shown = TrainingFilm(model="corrected", moment=3, person=2)
    said, names = printed(shown.python())
    assert names["found"] == pytest.approx(shown.film["models"]["corrected"]["recall"][3], abs=0.01)  # kernels differ
    assert said.strip() == f"{names['found']:.0%} of the hidden films"
    assert shown.python().splitlines()[-1] == 'TrainingFilm(model="corrected", moment=3, person=2)'
