"""On a GPU: L-BFGS and lists stay on the device, in float64, and begin as on the processor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from long_tails import long_tailed

from course_lib import experiments, in_batch
from course_lib.experiments.core import queue, registry
from course_lib.experiments.p3.paths import Lists
from course_lib.experiments.p3.setting import quality
from course_lib.training import paths
from course_lib.training.objectives import full_data, random_start

pytestmark = pytest.mark.gpu
DATA = long_tailed(120, 60, timed=False)
TRAIN, TEST = DATA.split_random(0.8, np.random.default_rng(1))
START = random_start(TRAIN.shape, 8, np.random.default_rng(0), 0.1)


def path_on(device: str, pointwise: str, kind: str, last: int) -> paths.Path:
    data = full_data(kind, TRAIN, batch_size=32, omega=0.5 if kind == "unbiased_omega" else None, device=device)
    lists = Lists(TRAIN, TEST, np.arange(TRAIN.n_users) % 2 == 0, device)
    return paths.descend(paths.DenseObjective(pointwise, data), START, at=range(last + 1), look=lists.measure)


@pytest.mark.parametrize("pointwise", ["square", "logistic"])
@pytest.mark.parametrize("kind", in_batch.KINDS)
def test_the_first_iterations_are_the_processors(kind: str, pointwise: str) -> None:
    ours, theirs = (path_on(device, pointwise, kind, 8) for device in ("cuda", "cpu"))
    assert ours.users.is_cuda and ours.users.dtype == torch.float64
    for one, other in zip(ours.points, theirs.points, strict=True):
        assert one["evaluations"] == other["evaluations"]
        assert one["objective"] == pytest.approx(other["objective"], rel=1e-6)
        assert one["gradient norm"] == pytest.approx(other["gradient norm"], rel=1e-4)
        assert one["P@5"] == pytest.approx(other["P@5"], rel=0.02)


def test_a_path_is_the_same_twice() -> None:
    one, other = (path_on("cuda", "logistic", "unbiased", 40) for _ in range(2))
    assert one.points == other.points


def test_nothing_but_numbers_leaves_the_device() -> None:
    """An iteration copies no table: the profiler sees no copy to the host of more than some numbers."""
    from torch.profiler import ProfilerActivity, profile

    objective = paths.DenseObjective("logistic", full_data("unbiased", TRAIN, device="cuda"))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as seen:
        paths.descend(objective, START, at=[10], look=lambda users, items: {})
    copies = [event for event in seen.events() if event.name == "aten::_local_scalar_dense"]
    large = [
        event
        for event in seen.events()
        if "Memcpy DtoH" in event.name and getattr(event, "device_time", 0) > 100  # microseconds
    ]
    assert copies and not large


def test_lists_have_the_numbers_of_the_processors_metrics() -> None:
    users, items = (torch.tensor(table, device="cuda") for table in START)
    found = Lists(TRAIN, TEST, np.arange(TRAIN.n_users) % 2 == 0, "cuda").measure(users, items)
    for name, value in quality(*START, TRAIN, TEST).items():
        assert found[name] == pytest.approx(value, rel=1e-9)


def test_the_queue_runs_on_the_gpu_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results"))
    said: list[str] = []
    run = queue.Run("P3-X2", "smoke", (0,), {"loss": "unbiased"})
    (result,) = queue.Queue([run], 1.0, "cuda", said.append).work()
    assert torch.cuda.get_device_name(0) in said[0]
    (machine,) = result.provenance["hardware"]
    assert machine["device"] == "cuda" and machine["gpu"] == torch.cuda.get_device_name(0)
    stored = json.loads((tmp_path / "results" / "P3-X2-smoke.json").read_text(encoding="utf-8"))
    assert stored["rows"] == experiments.load_result("P3-X2", "smoke").rows
    assert registry.stored_provenance("P3-X2", "smoke") is not None
