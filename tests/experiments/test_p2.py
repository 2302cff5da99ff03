"""P2's experiments: what a cell must find whatever the data, on small data; and what the smoke runs show."""

import numpy as np
import pytest
import torch
from refused import refused

from course_lib import gauge
from course_lib.experiments import p2
from course_lib.interactions import Interactions

pytestmark = pytest.mark.seconds

SMALL = "movietweetings-10core"


def values(rows: list[dict]) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in rows}


@pytest.fixture(scope="module")
def small() -> Interactions:
    return p2.load_data(SMALL)


def x1(kind: str, spread: float, **other) -> dict[str, float]:
    return values(p2.x1_cell({"data": SMALL, "k": 12, "draws": 2, "seed": 0, "gauge": kind, "spread": spread} | other))


def test_no_gauge_moves_nothing():
    found = x1("none", 0.0)
    assert found["overlap"] == 1 and found["difference"] == 0
    assert 0 < found["chance"] < 0.1


def test_wider_gauges_move_more_neighbours_and_no_prediction():
    narrow, wide = x1("diagonal", 0.1), x1("diagonal", 2.0)
    assert wide["overlap"] < 0.5 < narrow["overlap"] < 1
    assert max(narrow["difference"], wide["difference"]) < 1e-10


def test_the_search_finds_a_worse_gauge_than_chance():
    assert x1("worst diagonal", 1.0)["overlap"] < x1("diagonal", 1.0)["overlap"]


def test_any_ten_films_can_be_made_the_nearest():
    found = x1("chosen", 2.0, k=16)
    assert found["chosen found"] == 1 and found["difference"] < 1e-10


def test_genre_agreement_by_hand():
    table = {"name": np.array(["x", "y", "z"], dtype=object), "genres": np.array(["A|B", "B", "C"], dtype=object)}
    data = Interactions(np.array([0, 0, 0]), np.array([0, 1, 2]), n_users=1, n_items=3, item_table=table)
    assert p2.genre_agreement(data, np.arange(3), np.array([[1], [0], [0]])) == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_largest_difference_by_blocks():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 3)), rng.standard_normal((50, 3))
    C = B.copy()
    C[7] += 1
    assert p2.largest_difference((A, B), (A, C)) == pytest.approx(np.abs(A.sum(1)).max())


@pytest.mark.parametrize("model", p2.MODELS)
def test_towers_learn_and_the_sphere_is_kept(small, model):
    cell = {"model": model, "k": 8, "epochs": 2, "batch": 512, "seed": 0}
    users, items = p2.train_towers(small, cell, start=[0, 0])
    again, _ = p2.train_towers(small, cell, start=[0, 0])
    assert np.array_equal(users, again)  # a start determines the run
    assert gauge.is_on_sphere(items, tol=1e-6) == gauge.is_on_sphere(users, tol=1e-6) == (model == "sphere")
    if model != "dot, unbalanced start":
        liked = (users[small.users] * items[small.items]).sum(1).mean()
        assert liked > (users @ items.mean(0)).mean() + 0.05  # positives score above the average item


def test_the_runs_that_are_compared_have_starts_of_their_own(monkeypatch):
    def drawn(data, cell, start):  # in place of a training
        rng = np.random.default_rng(start)
        return tuple(rng.standard_normal((rows, cell["k"])) for rows in data.shape)

    monkeypatch.setattr(p2, "train_towers", drawn)
    cell = {"data": SMALL, "model": "dot", "k": 4, "epochs": 1, "batch": 512, "seed": 7, "runs": 3}
    found = values(p2.x2_cell(cell))
    assert found["overlap"] < 0.5 and abs(found["scores"]) < 0.5  # those of one start would be 1
    assert values(p2.x2_cell({**cell, "seed": 8}))["scores"] != found["scores"]


@pytest.mark.parametrize("which", ["first", "second"])
def test_the_loss_from_the_gramian_is_the_loss(which):
    rng = np.random.default_rng(0)
    X, A, B = rng.standard_normal((9, 5)), rng.standard_normal((5, 2)), rng.standard_normal((5, 2))
    expected = gauge.steck_objectives(X, A, B, decay=0.7)[["first", "second"].index(which)]
    got = p2.steck_loss(torch.tensor(X.T @ X), torch.tensor(A), torch.tensor(B), which, 0.7)
    assert float(got) == pytest.approx(float(expected))
    closed = gauge.steck_first(X, k=2, decay=0.7) if which == "first" else gauge.steck_second(X, k=2, decay=0.7)
    mine = p2.steck_from_gram(X.T @ X, which, k=2, decay=0.7)
    np.testing.assert_allclose(mine[0] @ mine[1].T, closed[0] @ closed[1].T, atol=1e-10)


@pytest.fixture(scope="module")
def steck_rows() -> dict[str, dict[str, float]]:
    cell = {"data": SMALL, "k": 6, "decay": 10.0, "max_steps": 400, "seed": 0}
    return {which: values(p2.x3_cell(cell | {"objective": which})) for which in ("first", "second")}


def test_the_closed_forms_are_what_the_optimiser_finds(steck_rows):
    for found in steck_rows.values():
        assert found["gradient"] < 1e-10 and found["excess"] < 1e-8 and found["product"] < 1e-3
        assert abs(found["rotation"]) < 1e-10


def test_the_first_objective_leaves_the_cosines_to_the_start_and_the_second_does_not(steck_rows):
    first, second = steck_rows["first"], steck_rows["second"]
    assert abs(first["gauge"]) < 1e-9 and second["gauge"] > 0.01
    assert first["overlap"] < 0.8 and second["overlap"] > 0.99
    assert first["score rows"] > 0.99  # the same model all the same


CUBE = {"model": "cube", "k": 4, "epochs": 1, "batch": 64, "seed": 0}
test_what_there_is_not_is_refused = refused(
    (lambda: p2.load_data("netflix"), "no recipe"),
    (lambda: p2.shown_items(p2.load_data(SMALL), 10**6), "expected more than 10"),
    (lambda: p2.train_towers(p2.load_data(SMALL), CUBE, start=[0]), "expected one of"),
)
