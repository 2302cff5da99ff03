"""The stand-in for other processors moves what it should, by as much as it should, and the same way each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.processors import nudge

HERE = Path(__file__).resolve().parent
SIZE = 1e-12

DRAWS = """
import numpy as np, torch, scipy.linalg
from scipy.sparse.linalg import svds
rng = np.random.default_rng(5)
table = rng.standard_normal((9, 4))
torch.manual_seed(1)
u, s, vt = np.linalg.svd(table, full_matrices=False)
values = {
    "table": table, "more": rng.uniform(size=3), "single": rng.standard_normal(4, dtype=np.float32),
    "one": rng.normal(), "ids": rng.permutation(6), "chosen": rng.choice(9, 3), "weights": torch.nn.Linear(3, 3).weight,
    "double": torch.randn(5, dtype=torch.float64), "u": u, "s": s, "product": u * s @ vt,
    "eigen": scipy.linalg.eigh(table.T @ table)[1], "sparse": svds(table, k=2, v0=np.ones(4))[0],
    "torch": torch.linalg.svd(torch.tensor(table))[0],
}
np.savez("found.npz", **{k: np.asarray(v.detach() if hasattr(v, "detach") else v) for k, v in values.items()})
"""


def draws(folder: Path, size: str) -> dict[str, np.ndarray]:
    """What a fresh Python draws, with COURSE_NUDGE set to `size`."""
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(HERE), "COURSE_NUDGE": size}
    subprocess.run([sys.executable, "-c", DRAWS], cwd=folder, env=environment, check=True)
    with np.load(folder / "found.npz") as found:
        return dict(found)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return draws(tmp_path_factory.mktemp("plain") / "run", "")


@pytest.fixture(scope="module")
def nudged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return draws(tmp_path_factory.mktemp("nudged") / "run", str(SIZE))


@pytest.mark.parametrize("name", ["table", "more", "one", "double", "single", "weights"])
def test_every_draw_moves_by_its_size(plain, nudged, name: str) -> None:
    before, after = plain[name], nudged[name]
    step = max(SIZE, float(np.finfo(before.dtype).eps))
    apart = np.abs(after / before - 1)
    assert before.dtype == after.dtype
    assert (apart > 0.4 * step).mean() > 0.9 and apart.max() < 2.1 * step


def test_draws_move_in_both_directions(plain, nudged) -> None:
    up = (np.abs(nudged["table"]) > np.abs(plain["table"])).mean()
    assert 0.2 < up < 0.8


@pytest.mark.parametrize("name", ["ids", "chosen"])
def test_integers_stay(plain, nudged, name: str) -> None:
    np.testing.assert_array_equal(nudged[name], plain[name])


@pytest.mark.parametrize("name", ["u", "eigen", "torch"])
def test_every_second_vector_is_turned(plain, nudged, name: str) -> None:
    signs = np.where(np.arange(plain[name].shape[1]) % 2, -1, 1)
    np.testing.assert_allclose(nudged[name][:, :4], (plain[name] * signs)[:, :4], atol=1e-9)


def test_sparse_decompositions_are_turned_too(plain, nudged) -> None:
    """svds turns what other decompositions within it have turned: only sizes are known beforehand."""
    before, after = plain["sparse"], nudged["sparse"]
    np.testing.assert_allclose(np.abs(after), np.abs(before), atol=1e-9)
    assert (np.sign(after) != np.sign(before)).all(axis=0).any()


def test_a_turned_decomposition_is_one(nudged) -> None:
    np.testing.assert_allclose(nudged["product"], nudged["table"], rtol=1e-10)


def test_a_draw_moves_the_same_way_in_any_portion() -> None:
    x = np.random.default_rng(0).uniform(-3, 3, 100)
    whole = nudge.moved(x, SIZE)
    np.testing.assert_array_equal(np.concatenate([nudge.moved(x[:31], SIZE), nudge.moved(x[31:], SIZE)]), whole)
    assert nudge.moved(float(x[0]), SIZE) == whole[0]


def test_a_share_stays_below_one_and_an_integer_stays() -> None:
    edge = np.array([np.nextafter(1, 0), 0.0, 2.0])
    moved = nudge.moved(edge, SIZE)
    assert moved[0] < 1 and moved[1] == 0 and abs(moved[2] - 2) <= 2.1e-12
    assert nudge.moved(np.arange(3), SIZE).dtype.kind == "i"
