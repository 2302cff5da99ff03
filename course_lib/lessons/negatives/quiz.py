"""What is right in the quiz of the chapter: each function gives {answer id: is it right?}."""

from __future__ import annotations

import math

import numpy as np

from course_lib import losses
from course_lib.lessons.negatives import broken, floors

LIKED, DRAWN = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.3, 0.1])  # a person's law of films, and the candidates'


def first_film_of_plain() -> dict[str, bool]:
    """The film that stands first for the person, when the plain loss is at its optimum log(liked / drawn)."""
    best = int(np.argmax(np.log(LIKED) - np.log(DRAWN)))
    return {name: at == best for at, name in enumerate(("first", "second", "third"))}


def corrected_twice() -> dict[str, bool]:
    """The film that stands first when logQ was subtracted in training and the log of the share is added at serving."""
    trained = np.log(LIKED)
    order = np.argsort(-(trained + np.log(DRAWN))).tolist()
    right = np.argsort(-trained).tolist()
    gap = float((trained + np.log(DRAWN))[0] - (trained + np.log(DRAWN))[2] - (trained[0] - trained[2]))
    assert broken.log_q_twice().refutes
    return {
        "same": math.isclose(gap, 0),
        "square": math.isclose(gap, math.log(DRAWN[0] / DRAWN[2])) and order == right,
        "unpopular": gap < 0,
    }


def least_mean_probability() -> dict[str, bool]:
    """The largest mean probability of the right film, for 1,001 films at the temperature 0.2."""
    most = floors.most_probable(1001, 0.2)
    answers = {"one": 1.0, "nine-tenths": 0.9, "eighth": 0.13, "thousandth": 0.001}
    return {name: round(most, 2) == value for name, value in answers.items()}


def what_changes_an_order() -> dict[str, bool]:
    """Which changes at serving can put another film first for a person: scores log p - log q of three films."""
    scores, hits = np.log(LIKED) - np.log(DRAWN), np.log([0.1, 0.1, 8.0])
    first = int(np.argmax(scores))
    after = {
        "bias": scores + 7.0,
        "temperature": scores / 0.5,
        "hits": scores - hits,
        "share": scores + np.log(DRAWN),
    }
    return {name: int(np.argmax(changed)) != first for name, changed in after.items()}


def share_of_a_mixture() -> dict[str, bool]:
    """How often A is a candidate against B: A has three times its pairs, half of the candidates are uniform."""
    log_q = losses.mixed_log_q([3, 1], 0.5)
    found = float(np.exp(log_q[0] - log_q[1]))
    answers = {"three": 3.0, "two": 2.0, "five-thirds": 5 / 3, "root": math.sqrt(3)}
    return {name: math.isclose(value, found) for name, value in answers.items()}
