"""What is right in the quiz of the chapter: each function gives {answer id: is it right?}."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np


def loss_of_equal_scores() -> dict[str, bool]:
    """The in-batch softmax loss of four pairs whose sixteen scores are all 7."""
    scores = np.full((4, 4), 7.0)
    loss = float(np.mean(np.log(np.exp(scores).sum(axis=1)) - np.diag(scores)))
    answers = {"zero": 0.0, "log-four": math.log(4), "seven": 7.0, "log-sixteen": math.log(16)}
    return {name: math.isclose(value, loss) for name, value in answers.items()}


def random_list() -> dict[str, bool]:
    """Two of six films are hidden, a list shows three of the six at random: the expected share that is found."""
    lists = list(combinations(range(6), 3))
    found = Fraction(sum(len({0, 1} & set(shown)) for shown in lists), 2 * len(lists))
    answers = {"half": Fraction(1, 2), "third": Fraction(1, 3), "sixth": Fraction(1, 6)}
    return {name: value == found for name, value in answers.items()}


def wrong_answers() -> dict[str, bool]:
    """Film A has four of six pairs, film B one; all batches of three: how often each is a wrong answer, A to B."""
    films = ["A", "A", "A", "A", "B", "C"]
    batches = list(combinations(range(6), 3))
    wrong = {
        film: sum(films[other] == film for batch in batches for row in batch for other in batch if other != row)
        for film in "AB"
    }
    found = Fraction(wrong["A"], wrong["B"])
    answers = {"equal": Fraction(1), "four": Fraction(4), "sixteen": Fraction(16)}
    return {name: value == found for name, value in answers.items()}


def same_order() -> dict[str, bool]:
    """Which changes of a table of films leave the order of the cosines with every person as it is."""
    rng = np.random.default_rng(0)
    people, films = rng.normal(size=(40, 3)), rng.normal(size=(9, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]

    def order(people: np.ndarray, films: np.ndarray) -> np.ndarray:
        return np.argsort(people @ (films / np.linalg.norm(films, axis=1, keepdims=True)).T, axis=1)

    before, longer = order(people, films), films * np.arange(1, 10)[:, None]
    after = {
        "lengths": order(people, longer),
        "turn-both": order(people @ turn, films @ turn),
        "turn-films": order(people, films @ turn),
        "shift": order(people, films + 1.0),
    }
    return {name: bool((found == before).all()) for name, found in after.items()}


def what_the_score_becomes() -> dict[str, bool]:
    """A person chooses A and B equally often, B is four times as frequent as a wrong answer: score of B minus A.

    The loss of the person, -1/2 (s_A + s_B) + log of the sum over wrong answers, is least at log(choice / frequency).
    """
    choice, frequency = np.array([0.5, 0.5]), np.array([0.2, 0.8])
    gaps = np.linspace(-3, 3, 60_001)
    scores = np.stack([np.zeros_like(gaps), gaps])
    losses = -(choice @ scores) + np.log(frequency @ np.exp(scores))
    best = float(gaps[np.argmin(losses)])
    answers = {"none": 0.0, "lower": -math.log(4), "higher": math.log(4)}
    return {name: abs(value - best) < 1e-3 for name, value in answers.items()}
