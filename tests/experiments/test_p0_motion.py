"""P0's experiments 0 to 7: the ticks of Table 1, angles against chance, the toy data, the registry."""

import math

import numpy as np
import pytest
import torch
from refused import refused

from course_lib import encoders, experiments
from course_lib.experiments.p0 import motion as p0
from course_lib.papers import p0 as printed_p0

pytestmark = pytest.mark.seconds

IDS = [f"P0-E{number}" for number in range(8)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict:
    store = tmp_path_factory.mktemp("cells")
    return {which: experiments.run(which, scale="smoke", store=store, progress=False) for which in IDS}


def number(result, side: str, metric: str) -> float:
    (row,) = result.select(side=side, metric=metric)
    return row["value"]


@pytest.mark.parametrize("which", IDS[1:])
def test_the_ticks_of_table_1_are_found(results: dict, which: str) -> None:
    rows = results[which].select(metric="tangent")
    assert [row["side"] for row in rows] == ["user", "item"]
    assert all(row["value"] == row["paper"] for row in rows)


def test_momentum_leaves_the_tangent_outwards_only(results: dict) -> None:
    for side in p0.SIDES:
        assert number(results["P0-E0"], side, "tangent") == 0
        assert number(results["P0-E0"], side, "greatest angle") <= 90 + 1e-6  # never inwards: claim X6
        assert number(results["P0-E0"], side, "least angle") < 45
        assert number(results["P0-E0"], side, "share outwards") == 1


@pytest.mark.parametrize("which", ["P0-E1", "P0-E6", "P0-E7"])
def test_tangent_motion_grows_every_norm(results: dict, which: str) -> None:
    for side in p0.SIDES:
        assert number(results[which], side, "max |cos|") < 1e-6
        assert number(results[which], side, "share within 10") == 1
        assert number(results[which], side, "share outwards") == 1
        assert number(results[which], side, "norm ratio") > 1


@pytest.mark.parametrize("which", ["P0-E4", "P0-E5"])
def test_towers_on_top_wander_yet_more_often_near_the_tangent_than_chance(results: dict, which: str) -> None:
    result = results[which]
    assert number(result, "user", "share by chance") == pytest.approx(1 / 9)
    assert 1 / 9 < number(result, "user", "share within 10") < 0.8
    (row,) = result.select(side="user", metric="share within 10")
    assert row["paper"] == printed_p0.printed(4, "share_near_90") == 0.2
    assert number(result, "user", "least angle") < 10 and number(result, "user", "greatest angle") > 170
    assert 0.3 < number(result, "user", "share outwards") < 0.7
    assert number(result, "item", "share within 10") == 1


def test_the_histogram_adds_up_and_has_its_peak_at_the_right_angle(results: dict) -> None:
    rows = results["P0-E1"].select(metric="angles", side="user")
    assert sum(row["value"] for row in rows) == pytest.approx(1)
    assert len(rows) == p0.BINS and max(rows, key=lambda row: row["value"])["degrees"] == pytest.approx(90)


def test_the_planted_tastes_can_be_seen_in_the_data_and_in_the_trained_plane() -> None:
    data = p0.load_data("tastes")
    own = (data.users - data.items) % 4 == 0
    assert own.mean() > 0.7 and (data.row_counts > 0).all()
    found = p0.trace(p0.cell_of("P0-E1", steps=400), data, positions=True)
    end = found.positions["item"][-1]
    unit = end / end.norm(dim=1, keepdim=True)
    taste = found.watched["item"] % 4
    cosines, same = unit @ unit.T, taste[:, None] == taste
    assert cosines[same].mean() > cosines[~same].mean() + 0.2
    nearest = (cosines - 2 * torch.eye(len(unit), dtype=cosines.dtype)).argmax(1)
    assert (taste[nearest] == taste).double().mean() > 0.5  # by chance 0.2


def test_a_reader_module_can_be_watched() -> None:
    data = p0.load_data("tastes")
    own = torch.nn.Sequential(torch.nn.Embedding(data.n_users, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    towers = encoders.TwoTower(own, encoders.Lookup(data.n_items, 2)).double()
    found = p0.watch(towers, data, optimiser=lambda p: torch.optim.SGD(p, lr=0.1), steps=5, batch=8, positions=True)
    assert found.lengths["user"].shape == (6, 24) and found.positions["item"].shape == (6, 16, 2)
    torch.testing.assert_close(found.positions["item"].norm(dim=2), found.lengths["item"])
    assert found.worst["item"] < 1e-7 < 1e-2 < found.worst["user"]
    assert 0 <= found.outward["user"] <= 1 == found.outward["item"]


def test_a_run_is_decided_by_its_seed() -> None:
    data = p0.load_data("tastes")
    first, again, other = (
        p0.trace(p0.cell_of("P0-E4", seed=seed, steps=20), data).angles["user"] for seed in (1, 1, 2)
    )
    assert torch.equal(first, again) and not torch.equal(first[:20], other[:20])


def test_on_real_data_the_code_is_the_same() -> None:
    """The laptop cell, with fewer steps."""
    (cell,) = [
        cell for cell in experiments.cells_of("P0-E3", "laptop", steps=2) if cell["data"] == "movietweetings-10core"
    ]
    rows = p0.rows_of("P0-E3", cell)
    values = {(row["side"], row["metric"]): row["value"] for row in rows if row["metric"] != "angles"}
    assert values["user", "tangent"] == 0 and values["item", "tangent"] == 1
    assert values["item", "share by chance"] == pytest.approx(printed_p0.chance_of_right_angle(32))
    assert all(math.isfinite(value) for value in values.values())


def test_mean_histories_hold_items_of_their_users() -> None:
    data = p0.load_data("movietweetings-10core")
    found = p0.histories(data, length=5)
    assert found.shape == (data.n_users, 5)
    matrix = data.matrix.toarray()
    users, places = np.nonzero(found >= 0)
    assert matrix[users, found[users, places]].all()


test_refusals = refused(
    (lambda: p0.load_data("netflix"), "'netflix' is no recipe"),
    (lambda: p0.left_tower("cnn", p0.load_data("tastes"), 2, torch.Generator()), "left tower is 'cnn'"),
    (lambda: p0.loss_function("bpr", 0.1), "loss is 'bpr'"),
)
