"""What a checkpoint of `fit` keeps besides the module and the optimiser, and how its files are written and read.

A checkpoint is one file, and one more for each process where something lies in parts that no process holds together,
such as `training.sharded.ShardedTables`. A file is written beside its place and renamed, the parts before the whole,
which says by its number of epochs which parts are its own: a kill leaves the old checkpoint or the new one.
"""

from __future__ import annotations

import glob
import os
import pickle
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from course_lib import checking


class Stateful(Protocol):
    """Describe what a checkpoint can keep: an estimator, a sampler, a counter.

    Such an object has ``state_dict`` and ``load_state_dict``.

    Examples
    --------
    >>> class Counter:
    ...     def __init__(self): self.seen = 0
    ...     def state_dict(self): return {"seen": self.seen}
    ...     def load_state_dict(self, state_dict): self.seen = state_dict["seen"]
    >>> counter = Counter()
    >>> counter.load_state_dict({"seen": 5})
    >>> counter.state_dict()
    {'seen': 5}
    """

    def state_dict(self) -> dict[str, Any]:
        """Numbers, words and tensors."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Goes on from there."""


@runtime_checkable
class InParts(Protocol):
    """Describe what a checkpoint can keep of which each process holds a part; another number of processes may go on.

    Such an object has ``part`` and ``load_parts``, like ``training.sharded.ShardedTables``.

    Examples
    --------
    >>> from course_lib.training.checkpoints import InParts
    >>> class Shard:
    ...     def part(self): return {"rows": [1, 2]}
    ...     def load_parts(self, parts): self.rows = [row for part in parts for row in part["rows"]]
    >>> isinstance(Shard(), InParts), isinstance({}, InParts)
    (True, False)
    """

    def part(self) -> dict[str, Any]:
        """Numbers, words and tensors of this process."""

    def load_parts(self, parts: Sequence[Mapping[str, Any]]) -> Any:
        """Goes on from the parts of all processes of the run before, by rank, whose tensors lie on the disk."""


def place(checkpoint: Path | str | None) -> Path | None:
    """Say where a checkpoint will be written, and refuse a place where no file can be, before anything is trained.

    Parameters
    ----------
    checkpoint : Path, str or None
        The path of a file. Its folder need not exist yet.

    Returns
    -------
    Path or None
        The path; None for None.

    Raises
    ------
    ValueError
        For a folder, a path below something that is no folder, and anything that is no path.

    Examples
    --------
    >>> from course_lib.training.checkpoints import place
    >>> place("runs/first.pt").name
    'first.pt'
    >>> place(".")
    Traceback (most recent call last):
        ...
    ValueError: checkpoint is '.'; expected the path of a file, not of a folder
    """
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, (str, os.PathLike)):
        raise checking.refuse(checkpoint, "checkpoint", "the path of a file, or None")
    path = Path(checkpoint)
    if path.is_dir():  # an empty path is the working folder
        raise checking.refuse(str(checkpoint), "checkpoint", "the path of a file, not of a folder")
    above = next((folder for folder in path.parents if folder.exists()), None)
    if above is not None and not above.is_dir():
        raise checking.refuse(str(checkpoint), "checkpoint", f"the path of a file in a folder, and {above} is none")
    return path


def write(path: Path, state: Mapping[str, Any]) -> None:
    """Write a file whole or not at all; where that fails, nothing is left beside it.

    Parameters
    ----------
    path : Path
        The file. Its folder is made if needed.
    state : mapping of str to object
        What ``torch.save`` can write, and ``read`` can read: numbers, words, tensors, and lists and dicts of them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.training import checkpoints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints.write(Path(folder) / "run.pt", {"epoch": 3})
    ...     [file.name for file in Path(folder).iterdir()]
    ['run.pt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        torch.save(state, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: Path, device: Any, *, mmap: bool = False) -> dict[str, Any]:
    """Read what ``write`` wrote.

    Parameters
    ----------
    path : Path
        The file.
    device : str or torch.device
        Where its tensors go.
    mmap : bool
        Whether the tensors stay on the disk until they are needed.

    Returns
    -------
    dict of str to object
        The state.

    Raises
    ------
    ValueError
        For a file that is torn or no such thing.
    OSError
        For a file that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.training import checkpoints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints.write(Path(folder) / "run.pt", {"epoch": 3})
    ...     checkpoints.read(Path(folder) / "run.pt", "cpu")
    {'epoch': 3}
    """
    with open(path, "rb") as file:  # for `is_zipfile` of a path says False of a file that may not be read
        torn = not zipfile.is_zipfile(file)
    try:
        if torn:  # torch writes such files; in other files `torch.load` fails in many ways
            raise RuntimeError("it is torn, or not of torch.save")
        found = torch.load(path, map_location=device, mmap=mmap, weights_only=True)
    except (RuntimeError, pickle.UnpicklingError) as error:
        raise ValueError(f"checkpoint {path} cannot be read; expected a whole one, or no file ({error})") from error
    if not isinstance(found, dict):
        raise ValueError(f"checkpoint {path} holds a {type(found).__name__}; expected what `fit` has written")
    return found


def part_of(path: Path, epochs: int, rank: int, size: int) -> Path:
    """Name the file of one of ``size`` processes, beside that of the checkpoint after so many epochs.

    Parameters
    ----------
    path : Path
        The checkpoint.
    epochs : int
        The number of epochs that were trained.
    rank, size : int
        Which process it is, of how many.

    Returns
    -------
    Path
        The file of the process.

    Examples
    --------
    >>> from pathlib import Path
    >>> from course_lib.training.checkpoints import part_of
    >>> part_of(Path("run.pt"), 3, 0, 2).name
    'run.pt.epoch3.0-of-2'
    """
    return path.with_name(f"{path.name}.epoch{epochs}.{rank}-of-{size}")


def read_parts(path: Path, epochs: int, size: int, names: Collection[str]) -> list[dict[str, Any]]:
    """Read what each of ``size`` processes has written after so many epochs: of each name, its part.

    Parameters
    ----------
    path : Path
        The checkpoint.
    epochs : int
        The number of epochs that were trained.
    size : int
        The number of processes that wrote it.
    names : collection of str
        The names that every part must have.

    Returns
    -------
    list of dict
        The parts by rank. Their tensors lie on the disk.

    Raises
    ------
    ValueError
        Where a file is missing, torn, or of other names.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.training import checkpoints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.pt"
    ...     for rank in range(2):
    ...         checkpoints.write(checkpoints.part_of(path, 3, rank, 2), {"table": rank * 10})
    ...     checkpoints.read_parts(path, 3, 2, ["table"])
    [{'table': 0}, {'table': 10}]
    """
    epochs, size = checking.whole(epochs, "epochs", 0), checking.whole(size, "size")
    files = [part_of(Path(path), epochs, rank, size) for rank in range(size)]
    if missing := [file.name for file in files if not file.is_file()]:
        raise ValueError(
            f"checkpoint {path} lies in parts of {size} processes; expected {', '.join(missing)} beside it"
        )
    parts = [read(file, "cpu", mmap=True) for file in files]
    for file, part in zip(files, parts, strict=True):
        if set(part) != set(names):
            raise ValueError(f"checkpoint {file} holds parts of {sorted(part)}; expected of {sorted(names)}")
    return parts


def remove_other_parts(path: Path, epochs: int, size: int) -> None:
    """Remove the parts of checkpoints that are replaced, and what processes that died left half written.

    Parameters
    ----------
    path : Path
        The checkpoint.
    epochs : int
        The number of epochs of the checkpoint that stays.
    size : int
        The number of processes that wrote it.

    Notes
    -----
    Process 0 calls it while the other processes of its run wait and write nothing, on all machines. So a half-written
    file of this checkpoint is a leftover, or another run writes the same checkpoint now: a file whose process lives on
    this machine stays.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.training import checkpoints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.pt"
    ...     for epochs in (1, 2):
    ...         checkpoints.write(checkpoints.part_of(path, epochs, 0, 1), {})
    ...     checkpoints.remove_other_parts(path, 2, 1)
    ...     [file.name for file in Path(folder).iterdir()]
    ['run.pt.epoch2.0-of-1']
    """
    own = {part_of(path, epochs, rank, size) for rank in range(size)}
    for file in path.parent.glob(f"{glob.escape(path.name)}.epoch*-of-*"):
        if file not in own:
            file.unlink(missing_ok=True)
    half = re.compile(rf"\.{re.escape(path.name)}(\.epoch\d+\.\d+-of-\d+)?\.(\d+)")  # as `write` names it
    for file in path.parent.glob(f".{glob.escape(path.name)}.*"):
        if (found := half.fullmatch(file.name)) and not _another_lives(int(found[2])):
            file.unlink(missing_ok=True)


def _another_lives(process: int) -> bool:
    """Whether another process of this machine has this number; on Windows, where asking would end it, always yes."""
    if os.name == "posix" and process != os.getpid():
        try:
            os.kill(process, 0)  # sends nothing
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:  # it is another user's
            return True
    return process != os.getpid()
