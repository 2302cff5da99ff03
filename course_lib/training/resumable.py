"""Where a computation that was killed goes on: `steps` for a long loop, `once` for a function that a loop lies in.

Both do nothing unless `kept(folder)` is around them: then the state of a loop is written by time, every `EVERY`
seconds, and a loop that starts as it started before goes on behind its last state, to the same bits. What a loop
changes is given to it: modules, optimisers, generators, tables, lists. What functions note along the way is told with
`hold`.

    with resumable.kept(folder):
        for epoch in resumable.steps(range(100), module, optimiser, rng, losses):
            losses.append(one_epoch(module, optimiser, rng))

Not `checkpoints`, the file that one names for one call of `fit`: here a state is found by how its loop starts, so that
nobody along the way passes a path.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from course_lib.interactions import Interactions

EVERY = 30.0  # seconds between two states of a loop
LEAST = 0.5  # seconds that a loop or a function must have taken for its end to be kept
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Place:
    """The folder of the states of one computation. A state is found by how its loop or function started."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.held, self.in_loop, self.seen = folder, list[Any](), False, Counter[str]()
        self.written = self.began = time.monotonic()
        self.before, self.inside = 0.0, ""  # inside: of the function that is being computed

    @property
    def seconds(self) -> float:
        """How long the computation has taken, with what was done before it was killed."""
        return self.before + time.monotonic() - self.began

    def file(self, start: str) -> Path:
        """Of the next loop or function that starts so: several may."""
        self.seen[start] += 1
        return self.folder / f"{start}-{self.seen[start]}.state"

    def write(self, file: Path, **state: Any) -> None:
        """Writes a file whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        beside.write_bytes(_pickled({"seconds": self.seconds, **state}))
        os.replace(beside, file)
        self.written = time.monotonic()

    def read(self, file: Path, *fields: str) -> dict[str, Any] | None:
        """What was written, if anything was; a file that is broken or lacks a field is removed, with a warning."""
        if not file.is_file():
            return None
        try:
            found: dict[str, Any] = pickle.loads(file.read_bytes())
            self.before, _ = max(self.before, found["seconds"]), [found[field] for field in fields]
        except Exception as error:  # broken bytes make pickle raise nearly anything
            warnings.warn(f"{file} cannot be read ({error!r}): removed, its work is done again", stacklevel=2)
            file.unlink()
            return None
        return found


_PLACE: ContextVar[Place | None] = ContextVar("place", default=None)


@contextmanager
def kept(folder: Path) -> Iterator[Place]:
    """Keep the states of all loops and functions inside in a folder.

    Parameters
    ----------
    folder : Path
        One for each computation. Whoever has the result removes it.

    Yields
    ------
    Place
        Its ``seconds`` are those of all tries together.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.training import resumable
    >>> with tempfile.TemporaryDirectory() as folder, resumable.kept(Path(folder)) as place:
    ...     place.seconds < 60
    True
    """
    place = Place(folder)
    token = _PLACE.set(place)
    try:
        yield place
    finally:
        _PLACE.reset(token)


def hold(*noted: Any) -> None:
    """Keep, with the state of the loops that follow, what functions note while they run: lists, dicts, counters.

    Parameters
    ----------
    *noted
        What ``steps`` takes as a state.

    Examples
    --------
    >>> from course_lib.training import resumable
    >>> resumable.hold([])  # nothing is kept here
    """
    if (place := _PLACE.get()) is not None:
        place.held.extend(noted)


def steps(numbers: Iterable[T], *state: Any) -> Iterator[T]:
    """Go through the numbers of a loop; after a kill, behind the last state that was written.

    Parameters
    ----------
    numbers : iterable
        Such as ``range(100)``: what is drawn comes from a generator in the state. A loop that ends early ends its
        numbers, as ``itertools.takewhile`` does.
    *state
        All that the loop changes: tensors and arrays, which are written into in place; generators of NumPy and torch;
        lists and dicts; what has ``state_dict`` and ``load_state_dict``; other objects by their attributes.

    Yields
    ------
    object
        The numbers that are left.

    Raises
    ------
    ValueError
        Where a state that was kept does not fit what is given now.

    Notes
    -----
    A loop inside another is part of its step.

    Examples
    --------
    The second loop goes on where the first was killed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from course_lib.training import resumable
    >>> def count(until):
    ...     total = [0]
    ...     for number in resumable.steps(range(10), total):
    ...         if number == until:
    ...             raise KeyboardInterrupt
    ...         total[0] += number
    ...     return total[0]
    >>> usual, resumable.EVERY = resumable.EVERY, 0
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for until in (7, None):
    ...         with resumable.kept(Path(folder)):
    ...             try:
    ...                 print(count(until))
    ...             except KeyboardInterrupt:
    ...                 print("killed")
    killed
    45
    >>> resumable.EVERY = usual
    """
    place = _PLACE.get()
    if place is None or place.in_loop:
        yield from numbers
        return
    held, began = (*place.held, *state), time.monotonic()
    file = place.file(_digest([place.inside, *map(_state, held)]))
    found = place.read(file, "done", "ended", "held")
    place.in_loop, done = True, 0
    try:
        for done, number in enumerate(numbers, 1):
            if found is None or done > found["done"]:
                yield number
                if time.monotonic() - place.written >= EVERY:
                    place.write(file, done=done, ended=False, held=[_state(one) for one in held])
            elif done == found["done"]:
                try:
                    for one, before in zip(held, found["held"], strict=True):
                        _restore(one, before)
                except Exception as error:
                    problem = f"{file} holds a state of another shape ({error}); delete it, and run again"
                    raise ValueError(problem) from error
                if found["ended"]:
                    return
        if time.monotonic() - began >= LEAST and done:
            place.write(file, done=done, ended=True, held=[_state(one) for one in held])
    finally:
        place.in_loop = False


def once(function: F) -> F:
    """Decorate a function whose result is kept: after a kill it is not computed again.

    Parameters
    ----------
    function : callable
        Its result must follow from its arguments, which it does not change. Where they cannot be pickled (functions in
        functions), nothing is kept. What may be skipped because its result is stored elsewhere must be such a function:
        two loops that start alike and go on otherwise are told apart by their order, or by the functions around them.

    Returns
    -------
    callable
        The same outside of `kept`.

    Examples
    --------
    >>> from course_lib.training import resumable
    >>> @resumable.once
    ... def square(number):
    ...     return number**2
    >>> square(3)
    9
    """

    @functools.wraps(function)
    def of_before(*args: Any, **how: Any) -> Any:
        place = _PLACE.get()
        if place is None or place.in_loop:
            return function(*args, **how)
        try:
            file = place.file(_digest((function.__qualname__, args, how)))
        except (AttributeError, TypeError, pickle.PicklingError):
            return function(*args, **how)
        if (found := place.read(file, "result")) is not None:
            return found["result"]
        began, before = time.monotonic(), (place.inside, [*place.held])
        place.inside = file.stem
        try:
            result = function(*args, **how)
        finally:
            place.inside, place.held = before
        if time.monotonic() - began >= LEAST:
            place.write(file, result=result)
        return result

    return of_before  # type: ignore[return-value]


def _state(one: Any) -> Any:
    if hasattr(one, "state_dict"):
        return one.state_dict()
    if isinstance(one, torch.Generator):
        return one.get_state()
    if isinstance(one, np.random.Generator):
        return one.bit_generator.state
    return one if isinstance(one, (Tensor, np.ndarray, list, dict)) else vars(one)


def _restore(one: Any, state: Any) -> None:
    if hasattr(one, "load_state_dict"):
        one.load_state_dict(state)
    elif isinstance(one, torch.Generator):
        one.set_state(state)
    elif isinstance(one, np.random.Generator):
        one.bit_generator.state = state
    elif isinstance(one, Tensor):
        with torch.no_grad():
            one.copy_(state)
    elif isinstance(one, np.ndarray):
        one[...] = state
    elif isinstance(one, list):
        one[:] = state
    elif isinstance(one, dict):
        one.clear()
        one.update(state)
    else:
        vars(one).update(state)


def _tensor(values: Any, device: str, needs: bool) -> Tensor:
    return torch.from_numpy(np.array(values)).to(device).requires_grad_(needs)


class _Pickler(pickle.Pickler):
    """Tensors by their numbers: torch's own pickles hold addresses, so that equal tensors have other bytes."""

    def reducer_override(self, one: Any) -> Any:
        if isinstance(one, Tensor):
            leaf = one.requires_grad and one.is_leaf
            return _tensor, (one.detach().cpu().numpy(), str(one.device), leaf)
        return NotImplemented


class _Naming(_Pickler):
    """For a digest: pairs by their hash, not by what has been asked of them so far."""

    def reducer_override(self, one: Any) -> Any:
        return (str, (one.sha256,)) if isinstance(one, Interactions) else super().reducer_override(one)


def _pickled(value: Any, kind: type[pickle.Pickler] = _Pickler) -> bytes:
    kind(stream := io.BytesIO(), protocol=4).dump(value)
    return stream.getvalue()


def _digest(value: Any) -> str:
    return hashlib.sha256(_pickled(value, _Naming)).hexdigest()[:32]
