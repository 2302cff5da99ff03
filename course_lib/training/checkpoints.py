"""What a checkpoint of `fit` keeps besides the module and the optimiser, and how its files are written and read.

A checkpoint is one file, and one more for each process where something lies in parts that no process holds together,
such as `training.sharded.ShardedTables`. A file is written beside its place and renamed, the parts before the whole,
which says by its number of epochs which parts are its own: a kill leaves the old checkpoint or the new one.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch


class Stateful(Protocol):
    """What a checkpoint can keep: an estimator, a sampler, a counter."""

    def state_dict(self) -> dict[str, Any]:
        """Numbers, words and tensors."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Goes on from there."""


@runtime_checkable
class InParts(Protocol):
    """What a checkpoint can keep of which each process holds a part; another number of processes may go on."""

    def part(self) -> dict[str, Any]:
        """Numbers, words and tensors of this process."""

    def load_parts(self, parts: Sequence[Mapping[str, Any]]) -> Any:
        """Goes on from the parts of all processes of the run before, by rank, whose tensors lie on the disk."""


def write(path: Path, state: Mapping[str, Any]) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    torch.save(state, beside)
    os.replace(beside, path)


def part_of(path: Path, epochs: int, rank: int, size: int) -> Path:
    """The file of one of `size` processes, beside that of the checkpoint after so many epochs."""
    return path.with_name(f"{path.name}.epoch{epochs}.{rank}-of-{size}")


def read_parts(path: Path, epochs: int, size: int) -> list[Mapping[str, Any]]:
    """What each process of the run before has written; ValueError where a file is missing."""
    files = [part_of(path, epochs, rank, size) for rank in range(size)]
    if missing := [file.name for file in files if not file.is_file()]:
        raise ValueError(
            f"checkpoint {path} lies in parts of {size} processes; expected {', '.join(missing)} beside it"
        )
    return [torch.load(file, map_location="cpu", mmap=True, weights_only=True) for file in files]


def remove_other_parts(path: Path, epochs: int, size: int) -> None:
    """Removes the parts of checkpoints that are replaced."""
    own = {part_of(path, epochs, rank, size) for rank in range(size)}
    for file in path.parent.glob(f"{glob.escape(path.name)}.epoch*-of-*"):
        if file not in own:
            file.unlink(missing_ok=True)
