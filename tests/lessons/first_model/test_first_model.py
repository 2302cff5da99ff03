"""The first chapter: its interactive shows the model of the page, and the correction does what the text says."""

import json

import numpy as np
import pytest
import torch

from course_lib import losses
from course_lib.interactions import Interactions
from course_lib.lessons.first_model import findings, make_training_film, towers, training_film
from course_lib.lessons.first_model.training_film import TrainingFilm
from course_lib.lessons.shared.widgets import paper
from tests.lessons.every import printed


@pytest.fixture(scope="module")
def one_pass() -> dict[bool, tuple[torch.Tensor, torch.Tensor]]:
    train, _ = towers.split()
    return {corrected: towers.trained(train, corrected=corrected, passes=1)[0] for corrected in (False, True)}


def test_kept_moments_are_those_of_a_shorter_training(one_pass: dict[bool, tuple[torch.Tensor, torch.Tensor]]) -> None:
    train, _ = towers.split()
    _, first, _ = towers.trained(train, corrected=True, passes=2, keep=(0, 1))
    assert all(torch.equal(*pair) for pair in zip(first, one_pass[True], strict=True))


def test_the_loss_of_the_training_is_the_librarys() -> None:
    people, films = torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(0)).double()
    logits = towers.cosines(people, films) / towers.TEMPERATURE
    ours = torch.nn.functional.cross_entropy(logits, torch.arange(7))
    assert torch.isclose(ours, losses.infonce(towers.cosines(people, films), tau=towers.TEMPERATURE))


@pytest.mark.parametrize("corrected", [False, True])
def test_the_minimum_is_the_choice_over_the_share_or_with_the_correction_the_choice(corrected: bool) -> None:
    """Two people, three films, wrong answers drawn by share: the loss is convex, so a zero gradient is its minimum."""
    choice = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], dtype=torch.float64)  # of a person, over films
    share = choice.mean(0)  # how often a film is somebody's choice, and so a wrong answer

    def slope(scores: torch.Tensor) -> float:
        scores = scores.clone().requires_grad_()
        logits = scores - share.log() if corrected else scores
        wrong = (logits.exp() * share).sum(1).log()
        (wrong - (choice * logits).sum(1)).sum().backward()
        return float(scores.grad.abs().max())

    said = choice.log() if corrected else (choice / share).log()
    other = (choice / share).log() if corrected else choice.log()
    assert slope(said) < 1e-14 < 0.01 < slope(other)


def test_recall_counts_the_hidden_films_of_a_person() -> None:
    test = Interactions([0, 0, 1], [1, 2, 0], n_users=3, n_items=4)
    lists = np.array([[1, 3], [2, 3], [0, 1]])
    assert towers.recall(lists, test) == (0.5 + 0.0) / 2  # the third person hid nothing


def test_the_most_popular_films_leave_out_what_a_person_has_rated() -> None:
    train = Interactions([0, 1, 2, 2], [0, 0, 0, 1], n_users=3, n_items=3)
    assert towers.most_popular(train, 1).ravel().tolist() == [1, 1, 2]


def test_the_films_that_were_popular_lately_are_counted_in_the_latest_pairs_only() -> None:
    """Film 0 has most ratings, film 2 the latest. What a person has rated at any time is left out."""
    users, items, times = [0, 1, 2, 3, 3, 4], [0, 0, 0, 0, 2, 2], [1, 2, 3, 4, 8, 9]
    train = Interactions(users, items, times=times, n_users=6, n_items=3)
    lately = train.split_by_time(4 / 6)[1]
    assert towers.most_popular(train, 1).ravel().tolist() == [2, 2, 2, 1, 0, 0]
    assert towers.most_popular(train, 1, counted=lately).ravel().tolist() == [2, 2, 2, 1, 0, 2]


def test_the_stored_film_holds_what_the_model_gives(one_pass: dict[bool, tuple[torch.Tensor, torch.Tensor]]) -> None:
    """After one pass; later moments are compared by the page's own run, whose recall is published."""
    stored = json.loads(training_film.STORED.read_text(encoding="utf-8"))
    train, test = towers.split()
    at = stored["passes"].index(1)
    for name, corrected in make_training_film.MODELS.items():
        lists = towers.best(*one_pass[corrected], train)
        assert stored["models"][name]["recall"][at] == pytest.approx(towers.recall(lists, test), abs=0.002)
    numbers = [one["number"] for one in stored["people"]]
    assert numbers == make_training_film.people(train, test)  # those of the page, which looks at person 10
    assert stored["popular"]["recall"] == pytest.approx(towers.recall(towers.most_popular(train), test), abs=5e-5)


IN_TIME = ([0.13, 0.14, 0.135], 0.145, 0.22)
FINDINGS = [
    (findings.the_correction_wins, ([0.25, 0.24, 0.26], 0.19), ([0.25, 0.18, 0.2], 0.19)),
    (findings.popular_films_win_in_time, ([0.13, 0.132, 0.131], 0.145), ([0.13, 0.15, 0.14], 0.145)),
    (findings.recent_films_win_in_time, IN_TIME, ([0.13, 0.23, 0.14], 0.145, 0.22)),
    (findings.recent_films_win_in_time, IN_TIME, ([0.13, 0.14, 0.135], 0.23, 0.22)),
]


def test_two_rivals_have_their_own_numbers_of_seeds() -> None:
    support = findings.recent_films_win_in_time.evidence(*IN_TIME).support
    assert support == "both rivals, 1 to 3 seeds each: +0.075 to +0.085"


# ==== the interactive of the first chapter: one script draws it on the page and on paper

LAST = 8  # the stored moment at which the training is over


def test_its_words_are_those_of_its_state() -> None:
    film = TrainingFilm(person=2)
    assert film.moment == LAST and film.summary().startswith("After 20 passes, with the first loss,")
    film.model, film.moment = "corrected", 1
    assert film.summary().startswith("After 1 pass, corrected for popularity,")
    assert "hidden films of person" not in film.summary()
    film.everything = True
    assert film.summary().endswith("in the list.") or " in the list: " in film.summary()


def test_the_summary_gives_the_stored_numbers() -> None:
    film = TrainingFilm(model="corrected")
    stored = film.film["models"]["corrected"]
    share, ratings = 100 * stored["recall"][-1], stored["count"][-1]
    assert f"finds {share:.0f} %" in film.summary() and f"has {ratings:.0f} ratings" in film.summary()


def test_paper_holds_the_map_and_the_ten_films() -> None:
    film = TrainingFilm()
    picture = film.picture()
    titles = [film.film["titles"][k] for k in film.film["models"]["plain"]["lists"][-1][0]]
    assert picture.count("<svg") == 1 and picture.count("<li") == 10
    assert all(title.replace("'", "'") in picture.replace("&#39;", "'") for title in titles)


def test_a_film_that_has_not_begun_stands_on_paper_at_its_end() -> None:
    assert TrainingFilm(moment=0).static_body() == TrainingFilm().static_body() != TrainingFilm(moment=1).static_body()


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
