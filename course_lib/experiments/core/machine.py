"""How a cell uses the machine: threads by the size of its data, a GPU where the cell names one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from course_lib.interactions import Interactions

if TYPE_CHECKING:
    from course_lib.training import Fabric

SMALL = 100_000  # positives


@contextmanager
def threads_for(data: Interactions) -> Iterator[None]:
    """One thread for a small data set, torch's own number for a large one.

    Steps on a small set are too short to share: a second thread gains nothing, waits busily when another program has
    its core (ten times slower was seen), and changes the order of sums, and with it the last digits of a result.
    """
    before = torch.get_num_threads()
    if len(data) < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fabric_for(device: str) -> Fabric | None:
    """One GPU for "cuda..."; None, which `training.fit` takes for one CPU, for anything else."""
    if not device.startswith("cuda"):
        return None
    from course_lib.training import Fabric

    return Fabric(accelerator="cuda", devices=1)
