"""What is right in the quiz of the chapter: each function gives {answer id: is it right?}."""

from __future__ import annotations

import math

import numpy as np

from course_lib import geometry, index
from course_lib.lessons.serving import ivf


def reach() -> dict[str, bool]:
    """The cosine at which three times the length gives the score of the cosine 0.9."""
    person, rare = np.array([1.0, 0.0]), np.array([0.9, math.sqrt(1 - 0.81)])
    answers = {"same": 0.9, "third": 0.3, "ninth": 0.1}
    popular = {name: 3 * np.array([cosine, math.sqrt(1 - cosine**2)]) for name, cosine in answers.items()}
    enough = {name: film @ person >= rare @ person - 1e-12 for name, film in popular.items()}
    least = min(answers[name] for name, yes in enough.items() if yes)
    return {name: cosine == least for name, cosine in answers.items()}


def same_cells() -> dict[str, bool]:
    """Which changes leave the visited films of two of eight cells as they are, for 60 people."""
    rng = np.random.default_rng(0)
    people, films = rng.normal(size=(60, 3)), rng.normal(size=(200, 3))
    centroids = ivf.k_means(films, 8, "inner product", seed=0).centroids
    turn, doubled = np.linalg.qr(rng.normal(size=(3, 3)))[0], centroids.copy()
    doubled[0] *= 2

    def visited(people: np.ndarray, films: np.ndarray, centroids: np.ndarray) -> np.ndarray:
        cells = np.argsort(-(people @ centroids.T), axis=1)[:, :2]
        looked_at: np.ndarray = (cells[:, None, :] == (films @ centroids.T).argmax(axis=1)[None, :, None]).any(axis=2)
        return looked_at

    before = visited(people, films, centroids)
    after = {
        "films-longer": visited(people, films * rng.uniform(1, 5, size=(200, 1)), centroids),
        "person-longer": visited(2 * people, films, centroids),
        "centroid-longer": visited(people, films, doubled),
        "films-turned": visited(people, films @ turn, centroids),
    }
    return {name: bool((there == before).all()) for name, there in after.items()}


def eighty_one() -> dict[str, bool]:
    """The ratio of lengths by the quartic law, after 1,000 and 81 times as many updates."""
    often, rarely = (
        float(geometry.quartic_norm(0.01, lr=0.1, h=np.full(steps, 0.05), step=np.zeros(steps)))
        for steps in (81_000, 1000)
    )
    answers = {"one": 1.0, "three": 3.0, "nine": 9.0}
    return {name: abs(value - often / rarely) < 0.1 for name, value in answers.items()}


def last_coordinate() -> dict[str, bool]:
    """The last coordinate of (3, 4) beside a film of length 13."""
    _, films = index.one_more_coordinate([[1.0, 0.0]], [[3.0, 4.0], [5.0, 12.0]])
    answers = {"eight": 8.0, "twelve": 12.0, "zero": 0.0}
    return {name: math.isclose(value, films[0, 2], abs_tol=1e-9) for name, value in answers.items()}


def certificate() -> dict[str, bool]:
    """For which bounds 15 candidates are certified with a tenth score of 5 and a sixteenth of 4.5."""
    scores = [[5.0] * 10 + [4.75] * 5 + [4.5]]
    bounds = {"tenth": 0.1, "fifth": 0.2, "quarter": 0.25, "thirds": 0.3}
    return {name: bool(index.certified(scores, [bound], 10)[0]) for name, bound in bounds.items()}


def first_number() -> dict[str, bool]:
    """The squared error of the first number in three gauges of diag(5, 1)."""
    root, turn = np.diag(np.sqrt([5.0, 1.0])), np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2)
    pairs = {"svd": (root, root), "turned": (root @ turn, root @ turn), "exchanged": (root[:, ::-1], root[:, ::-1])}
    errors = {
        name: float(((np.diag([5.0, 1.0]) - users[:, :1] @ films[:, :1].T) ** 2).sum())
        for name, (users, films) in pairs.items()
    }
    return {name: error == min(errors.values()) for name, error in errors.items()}
