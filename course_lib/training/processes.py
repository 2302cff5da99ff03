"""The processes of one run of `fit`: what they agree on, how they add up, and how one that ends, ends the others.

Every process runs the same lines and meets the others at the same places. Two things go wrong in practice: one process
comes to fewer meetings than the others, or to none any more. So `fit` asks at each step who has a batch, and waits with
its eyes open: each process gives a sign of life every BEAT seconds, and whoever waits looks at those of the others. A
process that fails says so before it leaves; one that is killed is given up after SILENCE seconds.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import torch
import torch.distributed
from torch import Tensor, nn

if TYPE_CHECKING:
    from lightning_fabric import Fabric

dist: Any = torch.distributed  # whose types do not know all that it exports

BEAT = 0.5  # seconds between two signs of life
SILENCE = 30.0  # seconds without one after which a process is lost
CLOSED = 5.0  # the same when a connection has been closed already
GRACE = 10.0  # seconds for this process to leave after another was lost; then it is ended, wherever it waits
FOREVER = timedelta(days=7)  # how long a living process takes for its step is its own affair


class ProcessLost(RuntimeError):
    """Report that another process of the run failed or died; the message names it.

    Examples
    --------
    >>> from course_lib.training import ProcessLost
    >>> issubclass(ProcessLost, RuntimeError)
    True
    """


class Disagreement(ValueError):
    """Report that the processes of a run were given different things; raised in all of them.

    Examples
    --------
    >>> from course_lib.training import Disagreement
    >>> issubclass(Disagreement, ValueError)
    True
    """


class Team:
    """Connect the processes of one call of ``fit``, so that what ends one of them ends all.

    Use it as ``with Team(fabric) as team``. An error inside ends all processes, with a message that names the one at
    fault.

    Parameters
    ----------
    fabric : Fabric
        The run, with its processes under way.

    Raises
    ------
    course_lib.training.ProcessLost
        When another process ends before all have met, and later on when one fails or dies.

    Notes
    -----
    ``rank`` and ``size`` say which process this is, of how many. ``present`` says how many of them have a batch in
    this step.

    Examples
    --------
    One process is a team as well:

    >>> from course_lib.training.loop import launched
    >>> from course_lib.training.processes import Team
    >>> with Team(launched(None)) as team:
    ...     team.rank, team.size, team.sum([1.0, 2.0])
    (0, 1, [1.0, 2.0])
    """

    current: ClassVar[Team | None] = None  # that of the call of `fit` in which this process is

    def __init__(self, fabric: Fabric) -> None:
        self.rank, self.size = fabric.global_rank, fabric.world_size
        self.present = self.size
        self._pending: Any = None  # what this process waited for when another was lost
        if self.size > 1:
            self._watch, self._group = self._met(fabric)

    def _met(self, fabric: Fabric) -> tuple[_Watch, Any]:
        """The watch over the processes, and the group of their meetings."""
        watch = None
        try:
            watch = _Watch(_store(fabric), self.rank, self.size)
            return watch, dist.new_group(backend="gloo", timeout=FOREVER)
        except RuntimeError as error:  # torch's, whose words do not say why
            if watch is not None:
                watch.stop()
            lost = f"one of the {self.size} processes ended before all had met; its own message says why"
            raise ProcessLost(lost) from error

    def __enter__(self) -> Team:
        Team.current = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if error is None:
                self.sum([0.0])  # nobody leaves before all have come
            elif self.size > 1 and not isinstance(error, (ProcessLost, Disagreement)):
                if _broken(error):  # out of a wait of another library, such as TorchRec's
                    raise self._lost(error) from error
                self._watch.report(f"{type(error).__name__}: {error}")
        finally:
            Team.current = None
            if self.size > 1:
                self._watch.stop()
                self._take_down()

    def wait(self, work: Any) -> None:
        """Until `work` (of torch.distributed, begun with async_op=True) is done; ProcessLost when another is lost."""
        pause = 2e-5
        try:
            while not work.is_completed():
                if self._watch.lost:
                    self._pending = work
                    raise ProcessLost(self._watch.words())
                time.sleep(pause)
                pause = min(2 * pause, 2e-3)
            work.wait()
        except ProcessLost:
            raise
        except RuntimeError as error:
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> ProcessLost:
        """What stands behind an error such as gloo's "connection closed by peer", which does not say by whom."""
        self._watch.hurry()
        return ProcessLost(self._watch.words() or f"a connection to another process failed: {error}")

    def _take_down(self) -> None:
        """Ends the connections of the meetings. A call that still waits for a silent process cannot be taken back.

        Then this process may live on, but torch would wait for that call when the interpreter ends: it ends without.
        """
        end = time.monotonic() + GRACE / 5
        while self._pending is not None and not self._pending.is_completed() and time.monotonic() < end:
            time.sleep(BEAT / 10)
        if self._pending is None or self._pending.is_completed():
            with suppress(RuntimeError, ValueError):  # after a failure there may be nothing left to take down
                dist.destroy_process_group(self._group)
        else:
            atexit.register(_end_at_once)

    def sum(self, numbers: Sequence[float]) -> list[float]:
        """The sums over the processes of these numbers."""
        if self.size == 1:
            return list(numbers)
        vector = torch.tensor(numbers, dtype=torch.float64)
        self.wait(dist.all_reduce(vector, group=self._group, async_op=True))
        return cast(list[float], vector.tolist())

    def gather(self, value: Any) -> list[Any]:
        """What each process gave, by rank: anything that can be pickled."""
        if self.size == 1:
            return [value]
        data = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
        return [pickle.loads(part.numpy().tobytes()) for part in _rows(data, self._group)]

    def of_first(self, value: Any) -> Any:
        """Process 0's value, in all."""
        return self.gather(value if self.rank == 0 else None)[0]

    def same(self, given: Mapping[str, str]) -> None:
        """Disagreement, in every process, where one was given something else than process 0."""
        everyone = self.gather(dict(given))
        for rank, theirs in enumerate(everyone):
            for name in everyone[0] | theirs:
                first, other = (found.get(name, "missing") for found in (everyone[0], theirs))
                if first != other:
                    raise Disagreement(
                        f"{name} is {first} in process 0 and {other} in process {rank}; "
                        f"expected the same in all {self.size} processes"
                    )

    def copy_first(self, tensors: Iterable[Tensor]) -> None:
        """Writes process 0's numbers into the tensors of all."""
        if self.size > 1:
            for tensor in tensors:
                whole = tensor.detach().contiguous()
                self.wait(dist.broadcast(whole, src=0, async_op=True))
                tensor.detach().copy_(whole)

    def add_gradients(self, parameters: Sequence[nn.Parameter], kinds: Sequence[float]) -> None:
        """The sum over the processes becomes the gradient of each parameter; without one anywhere, it keeps none.

        kinds: the sum over the processes of `gradient_kinds(parameters)`.
        """
        if self.size == 1:
            return
        works = []
        for parameter, dense, sparse in zip(parameters, kinds[::2], kinds[1::2], strict=True):
            if sparse and dense:
                shape = tuple(parameter.shape)
                raise ValueError(f"a parameter of shape {shape} has sparse and dense gradients; expected one kind")
            if sparse:
                parameter.grad = _sum_of_sparse(parameter)
            elif dense:
                parameter.grad = (
                    torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                ).contiguous()
                works.append(dist.all_reduce(parameter.grad, async_op=True))
        for work in works:
            self.wait(work)


class FabricProcesses:
    """Connect the processes of a Fabric run for the estimators and losses that need the whole batch.

    For example ``gramians.SOGram(d, alpha, processes=FabricProcesses(fabric))``.

    Parameters
    ----------
    fabric : Fabric
        The run, with its processes under way.

    Notes
    -----
    Every process calls ``update`` with its own part of the batch, and all hold the same estimate afterwards. A loss
    that needs the rows of the whole batch takes them from ``gathered``. Inside ``fit`` every process must have a batch
    in every step, so ``Plan(remainder="drop")``.

    Examples
    --------
    With one process the total is its own:

    >>> import torch
    >>> from course_lib.training import FabricProcesses
    >>> from course_lib.training.loop import launched
    >>> FabricProcesses(launched(None)).total(torch.tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric

    def total(self, array: Tensor) -> Tensor:
        """The sum over the processes, a constant for autograd."""
        if self.fabric.world_size == 1:
            return array
        _check_all_present()
        array = array.detach().clone(memory_format=torch.contiguous_format)
        _wait(dist.all_reduce(array, async_op=True))
        return array

    def concatenated(self, array: Tensor) -> Tensor:
        """The rows of all processes, by rank, as many from each as it has; a constant for autograd."""
        if self.fabric.world_size == 1:
            return array
        _check_all_present()
        return torch.cat(_rows(array.detach()))

    def gathered(self, array: Tensor) -> Tensor:
        """`concatenated` with gradients: a row's gradient is the sum over the losses of all processes.

        `fit` descends on the mean of the processes' losses, weighed as their steps say: no factor, whether a process
        computes its own rows or all (`course_lib.processes`). Where a process takes the mean of its own rows,
        their number is the weight that makes it the mean of all rows.
        """
        if self.fabric.world_size == 1:
            return array
        _check_all_present()
        apply: Any = _Gathered.apply
        return cast(Tensor, apply(array))


class _Gathered(torch.autograd.Function):
    """(b, ...) of each process -> (sum of b, ...) in all; back goes to each process what concerns its rows."""

    @staticmethod
    def forward(context: Any, array: Tensor) -> Tensor:
        parts = _rows(array)
        context.lengths, context.own = [len(part) for part in parts], array.shape
        return torch.cat(parts)

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> Tensor:
        lengths, (b, *rest) = context.lengths, context.own
        parts = slopes[0].new_empty((len(lengths) * b, *rest))
        sent = slopes[0].contiguous()
        _wait(dist.all_to_all_single(parts, sent, [b] * len(lengths), lengths, async_op=True))
        return parts.view(len(lengths), b, *rest).sum(0)


class _Watch:
    """A thread that says "alive" to the other processes and notes in `lost` which of them failed or fell silent."""

    def __init__(self, store: Any, rank: int, size: int) -> None:
        self.lost: dict[int, str] = {}
        self._store, self._rank, self._size = store, rank, size
        self._silence, self._stop = SILENCE, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="course_lib-watch")
        self._thread.start()

    def words(self) -> str:
        """Who was lost, and why."""
        return "; ".join(f"process {rank} of {self._size} {why}" for rank, why in sorted(self.lost.items()))

    def hurry(self) -> None:
        """Waits until it is known which process closed a connection, SILENCE seconds at most."""
        self._silence, end = CLOSED, time.monotonic() + SILENCE
        while not self.lost and time.monotonic() < end:
            time.sleep(BEAT / 10)

    def report(self, what: str) -> None:
        """Tells the others why this process leaves, and waits a few seconds until they have read it."""
        with suppress(RuntimeError):
            self._store.set(f"failed/{self._rank}", what)
            end = time.monotonic() + CLOSED
            while self._store.add(f"read/{self._rank}", 0) < self._size - 1 and time.monotonic() < end:
                time.sleep(BEAT / 10)

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        self._thread.join(timeout=CLOSED)

    def _run(self) -> None:
        others = [rank for rank in range(self._size) if rank != self._rank]
        heard = {rank: (-1, time.monotonic()) for rank in others}  # the last count, and when it came
        since: float | None = None
        while not self._stop.wait(BEAT):
            now = time.monotonic()
            try:
                self._store.add(f"alive/{self._rank}", 1)
                for rank in others:
                    self._look_at(rank, heard, now)
            except RuntimeError:  # the store lives in process 0
                if not self._stop.is_set():
                    self.lost.setdefault(0, "died: it does not answer any more")
            since = since or (now if self.lost else None)
            if since is not None and now - since > GRACE and not self._stop.is_set():
                print(f"process {self._rank} of {self._size} ends: {self.words()}", file=sys.stderr, flush=True)
                os._exit(1)  # it waits in a call that no exception can reach

    def _look_at(self, rank: int, heard: dict[int, tuple[int, float]], now: float) -> None:
        if rank in self.lost:
            return
        count = self._store.add(f"alive/{rank}", 0)
        if count != heard[rank][0]:
            heard[rank] = count, now
        if self._store.check([f"failed/{rank}"]):
            self.lost[rank] = f"failed: {self._store.get(f'failed/{rank}').decode()}"
            self._store.add(f"read/{rank}", 1)
        elif now - heard[rank][1] > self._silence:
            self.lost[rank] = f"died: no sign of life for {now - heard[rank][1]:.0f} seconds"


def _store(fabric: Fabric) -> Any:
    """A small table that all processes read and write; process 0 keeps it."""
    if fabric.global_rank == 0:
        store = dist.TCPStore(os.environ["MASTER_ADDR"], 0, is_master=True, wait_for_workers=False)
        fabric.broadcast((store.host, store.port))
        return store
    host, port = fabric.broadcast(("", 0))
    return dist.TCPStore(host, port, is_master=False)


def _broken(error: BaseException) -> bool:
    """Whether torch says that a connection between processes broke."""
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error))


def _end_at_once() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def _wait(work: Any) -> None:
    wait: Callable[[Any], None] = Team.current.wait if Team.current else lambda work: work.wait()
    wait(work)


def _check_all_present() -> None:
    team = Team.current
    if team is not None and team.present < team.size:
        raise ValueError(
            f"{team.present} of {team.size} processes have a batch in this step, and its loss asks all of them for "
            'rows or sums; expected Plan(remainder="drop"), which leaves such steps out'
        )


def _rows(array: Tensor, group: Any = None) -> list[Tensor]:
    """The processes' arrays by rank; they may differ in the length of the first axis."""
    size = dist.get_world_size()
    lengths = [array.new_zeros(1, dtype=torch.int64) for _ in range(size)]
    own = torch.tensor([len(array)], dtype=torch.int64, device=array.device)
    _wait(dist.all_gather(lengths, own, group=group, async_op=True))
    padded = array.new_zeros((int(max(map(int, lengths))), *array.shape[1:]))
    padded[: len(array)] = array
    parts = [torch.empty_like(padded) for _ in range(size)]
    _wait(dist.all_gather(parts, padded, group=group, async_op=True))
    return [part[: int(length)] for part, length in zip(parts, lengths, strict=True)]


def gradient_kinds(parameters: Iterable[nn.Parameter]) -> list[float]:
    """Say of each parameter whether its gradient is dense and whether it is sparse, in two numbers.

    Parameters
    ----------
    parameters : iterable of torch.nn.Parameter
        The parameters.

    Returns
    -------
    list of float
        For each parameter 1 where its gradient is dense, 1 where it is sparse, else 0. Both are 0 without a gradient.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.processes import gradient_kinds
    >>> dense, sparse, none = (torch.nn.Parameter(torch.ones(2)) for _ in range(3))
    >>> dense.grad, sparse.grad = torch.ones(2), torch.ones(2).to_sparse()
    >>> gradient_kinds([dense, sparse, none])
    [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """
    grads = [parameter.grad for parameter in parameters]
    return [float(grad is not None and grad.is_sparse == sparse) for grad in grads for sparse in (False, True)]


def _sum_of_sparse(parameter: nn.Parameter) -> Tensor:
    """The sum of the processes' sparse gradients: their rows one after another, those of one place added up."""
    if parameter.grad is None:
        places = torch.zeros((0, 1), dtype=torch.int64, device=parameter.device)
        values = parameter.detach().new_zeros((0, *parameter.shape[1:]))
    else:
        grad = parameter.grad.coalesce()
        places, values = grad.indices().T.contiguous(), grad.values()
    where, what = torch.cat(_rows(places)), torch.cat(_rows(values))
    return torch.sparse_coo_tensor(where.T, what, parameter.shape, check_invariants=False).coalesce()
