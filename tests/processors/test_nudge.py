"""The stand-in for other processors moves what it should, by as much as it should, and integers not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.seconds

HERE = Path(__file__).resolve().parent
SIZE = 1e-12

DRAWS = """
import numpy as np, torch, scipy.linalg
rng = np.random.default_rng(5)
table = rng.standard_normal((9, 4))
torch.manual_seed(1)
u, s, vt = np.linalg.svd(table, full_matrices=False)
values = {
    "table": table, "single": rng.standard_normal(4, dtype=np.float32), "ids": rng.permutation(6),
    "double": torch.randn(5, dtype=torch.float64), "u": u, "product": u * s @ vt,
    "eigen": scipy.linalg.eigh(table.T @ table)[1], "torch": torch.linalg.svd(torch.tensor(table))[0],
}
np.savez("found.npz", **{key: np.asarray(value) for key, value in values.items()})
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, np.ndarray]]:
    """What a fresh Python draws, as it is and nudged."""
    running, found = [], []
    for size in ("", str(SIZE)):
        folder = tmp_path_factory.mktemp("run")
        environment = os.environ | {"PYTHONPATH": str(HERE), "COURSE_NUDGE": size}
        running.append((folder, subprocess.Popen([sys.executable, "-c", DRAWS], cwd=folder, env=environment)))
    for folder, process in running:
        assert process.wait() == 0
        with np.load(folder / "found.npz") as values:
            found.append(dict(values))
    return found


@pytest.mark.parametrize("name", ["table", "single", "double"])
def test_every_draw_moves_by_its_size(both: list[dict[str, np.ndarray]], name: str) -> None:
    before, after = (found[name] for found in both)
    step = max(SIZE, float(np.finfo(before.dtype).eps))
    apart = np.abs(after / before - 1)
    assert before.dtype == after.dtype and (apart > 0.4 * step).mean() > 0.9 and apart.max() < 2.1 * step
    np.testing.assert_array_equal(*(found["ids"] for found in both))


@pytest.mark.parametrize("name", ["u", "eigen", "torch"])
def test_every_second_vector_is_turned(both: list[dict[str, np.ndarray]], name: str) -> None:
    plain, nudged = both
    signs = np.where(np.arange(plain[name].shape[1]) % 2, -1, 1)
    np.testing.assert_allclose(nudged[name][:, :4], (plain[name] * signs)[:, :4], atol=1e-9)
    np.testing.assert_allclose(nudged["product"], nudged["table"], rtol=1e-10)  # it is a decomposition still
