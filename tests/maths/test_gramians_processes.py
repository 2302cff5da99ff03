"""Gramian estimates with the batch spread over two processes equal those of one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from two_processes import MAKERS, outcome

from course_lib import gramians
from course_lib.checking import some

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """What two processes with gloo computed, as process 0 saw it."""
    out = tmp_path_factory.mktemp("processes") / "out.pt"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(HERE / "two_processes.py"), str(out)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return torch.load(out)


@pytest.fixture(scope="module")
def alone() -> dict[str, torch.Tensor]:
    return outcome(0, 1, gramians.ALONE, lambda tables: (tables, lambda loss: loss.backward()))


@pytest.mark.parametrize("name", [f"{maker}.{part}" for maker in MAKERS for part in ("estimate", "loss", "left")])
def test_two_processes_equal_one(spread: dict[str, torch.Tensor], alone: dict[str, torch.Tensor], name: str) -> None:
    assert torch.allclose(spread[name], alone[name], rtol=0, atol=1e-6)


def test_without_the_other_process_they_differ(alone: dict[str, torch.Tensor]) -> None:
    """The comparison can fail: half a batch with nobody to ask gives another estimate and another loss."""
    half = outcome(0, 2, gramians.ALONE, lambda tables: (tables, lambda loss: loss.backward()))
    assert all(not torch.allclose(half[name], alone[name], rtol=0, atol=1e-6) for name in some(alone))
