"""Tables that no process holds whole: each has a shard of the rows, and TorchRec carries rows and gradients.

    fabric = launched(Fabric(accelerator="cpu", devices=2, strategy="ddp"))
    tables = ShardedTables({"users": m, "items": n}, d, fabric=fabric, optimizer="sgd", lr=1.0, seed=0)

    def step(module, batch):
        q, k = tables.rows(users=batch[0], items=batch[1])  # (B, d) each, from the processes that have them
        everyone = tables.processes.gathered(k)  # (P B, d)
        ...

    fit(module, optimizer, step=step, sharded=True, plan=Plan(3, remainder="drop"), fabric=fabric,
        checkpoint="run.pt", stateful={"tables": tables}, ...)

`module` is what each process holds whole (a temperature, say), and what `fit` trains and checks. The rows are no part
of it: the backward pass changes them where they lie, by a fused optimiser, with the sum of the gradients of all
processes. `fit` has weighed each loss before, so this is its weighted mean; in a loop of your own divide the loss by
the number of processes. A checkpoint has a file for each process with its shard of the rows and of what the optimiser
remembers. Another number of processes may go on from it: each reads the rows that are its own now.

Needs the extra [scale], which has an environment of its own: `make test-scale` sets it up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from course_lib import checking
from course_lib.training.processes import FabricProcesses, Team

if TYPE_CHECKING:
    from lightning_fabric import Fabric

OPTIMIZERS = ("sgd", "row-wise adagrad")
BLOCK = 8192  # rows that are drawn together


class ShardedTables:
    """Spread tables over the processes: each holds a shard of the rows, and TorchRec carries rows and gradients.

    Parameters
    ----------
    rows : mapping of str to int
        The number n of rows of each table, by name.
    d : int
        The width, the same for all tables.
    fabric : Fabric
        A run of ``strategy="ddp"`` whose processes have been launched.
    optimizer : str
        "sgd", ``row -= lr g``, or "row-wise adagrad", as ``course_lib.optimisers.RowWiseAdagrad``.
    lr : float
        The learning rate.
    seed : int
        The seed of the start, ``start_rows``.

    Raises
    ------
    course_lib.training.Disagreement
        In all processes, where they make their tables with different words.
    ValueError
        For a fabric whose processes have not been launched, or are not those of ``strategy="ddp"``, and for values out
        of range.
    ModuleNotFoundError
        Without TorchRec.

    Notes
    -----
    The tables (n, d) are float32, in shards of ceil(n / P) rows.
    """

    def __init__(
        self, rows: Mapping[str, int], d: int, *, fabric: Fabric, optimizer: str, lr: float, seed: int
    ) -> None:
        for name, count in checking.some(rows.items(), "rows"):
            checking.whole(count, f"rows[{name!r}]")
        checking.whole(d, "d")
        checking.choice(optimizer, "optimizer", OPTIMIZERS)
        checking.real(lr, "lr", least=0)
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            raise checking.refuse(fabric, "fabric", 'one of strategy="ddp" that has been launched')
        self.sizes, self.d, self.processes = dict(sorted(rows.items())), d, FabricProcesses(fabric)
        with Team(fabric) as team:
            self._words = {f"table {name}": f"({count}, {d})" for name, count in rows.items()}
            self._words["optimizer"] = optimizer
            team.same(self._words | {"lr": repr(lr), "seed": repr(seed)})
            self._engine = _engine(self.sizes, d, optimizer, lr, fabric.device)
        for name in self.sizes:
            first, shard = self.shard(name)
            write_start(shard, name, first, seed=seed)

    def rows(self, **ids: Tensor) -> list[Tensor]:
        """The rows (B, d) of each table, ids (B,) int64 by its name; the tables may differ in B.

        All processes ask at the same time. What is wrong in one of them raises ValueError, by name, in all.
        """
        from torchrec import KeyedJaggedTensor

        self._refuse_together(self._wrong(ids))
        lengths = torch.tensor([len(ids[name]) for name in self.sizes], device=next(iter(ids.values())).device)
        asked = KeyedJaggedTensor(list(self.sizes), torch.cat([ids[name] for name in self.sizes]), lengths=lengths)
        found = self._engine(asked).wait()
        return [found[name].values() for name in ids]

    def shard(self, name: str) -> tuple[int, Tensor]:
        """(the first row's number, the rows (about n / P, d) of this process): a view, to be read or written."""
        checking.choice(name, "name", self.sizes)
        [own] = self._engine.state_dict()[f"embeddings.table {name}.weight"].local_shards()
        return own.metadata.shard_offsets[0], own.tensor.detach()

    def whole(self, name: str) -> Tensor:
        """The whole table (n, d), in all processes: for tables that fit into one."""
        return self.processes.concatenated(self.shard(name)[1])

    def part(self) -> dict[str, Any]:
        """What a checkpoint keeps of this process: its shards, and what the optimiser remembers of each row."""
        tables = {name: {"first": self.shard(name)[0]} | self._of_rows(name) for name in self.sizes}
        return {"words": self._words, "tables": tables}

    def load_parts(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Takes its rows from the parts of any number of processes, all of the run before, in any order.

        ValueError, before a row is changed, where a part is of other tables, and where rows are missing or come twice.
        """
        for at, part in enumerate(checking.some(parts, "parts")):
            if part.get("words") != self._words:
                raise ValueError(f"parts[{at}]: the checkpoint is of {part.get('words')}; expected {self._words}")
        stored = {name: self._of_all_rows(name, parts) for name in self.sizes}
        for name in self.sizes:
            first, shard = self.shard(name)
            for begin, end, held in stored[name]:
                low, high = max(first, begin), min(first + len(shard), end)
                for key, own in self._of_rows(name).items():
                    if low < high:
                        own[low - first : high - first] = held[key][low - begin : high - begin]

    def _of_all_rows(self, name: str, parts: Sequence[Mapping[str, Any]]) -> list[tuple[int, int, Mapping[str, Any]]]:
        """(first row, last row + 1, what is held of them) in each part that has rows of the table, by the first row."""
        tables = [part.get("tables", {}).get(name, {}) for part in parts]
        held = sorted((one for one in tables if len(one.get("rows", ()))), key=lambda one: int(one["first"]))
        found = [(one["first"], one["first"] + len(one["rows"]), one) for one in held]
        begins, ends = [begin for begin, _, _ in found], [end for _, end, _ in found]
        if [*begins, self.sizes[name]] != [0, *ends]:
            rows = ", ".join(f"{begin} to {end - 1}" for begin, end, _ in found) or "none"
            raise ValueError(
                f"parts hold of table {name} the rows {rows}; expected 0 to {self.sizes[name] - 1}, each once"
            )
        for key, own in self._of_rows(name).items():
            for begin, end, one in found:
                shape = tuple(one[key].shape) if key in one else None
                if shape != (end - begin, *own.shape[1:]):
                    where = f"parts hold of table {name} from row {begin} on {key!r} of shape {shape}"
                    raise ValueError(f"{where}; expected {(end - begin, *own.shape[1:])}")
        return found

    def _of_rows(self, name: str) -> dict[str, Tensor]:
        """All that is held for the rows of this process's shard of a table, row by row."""
        remembered = self._engine.fused_optimizer.state_dict()["state"][f"embeddings.table {name}.weight"]
        shards = {key: one.local_shards()[0].tensor for key, one in remembered.items()}
        return {"rows": self.shard(name)[1]} | {key: one for key, one in shards.items() if one.numel()}

    def _wrong(self, ids: Mapping[str, Tensor]) -> str:
        """What is wrong with the ids of this process, in words."""
        if set(ids) != set(self.sizes):
            return f"ids are of the tables {sorted(ids)}; expected {sorted(self.sizes)}"
        for name, chosen in ids.items():
            if chosen.dtype != torch.int64 or chosen.ndim != 1:
                return f"{name} has shape {tuple(chosen.shape)} and dtype {chosen.dtype}; expected (B,) of torch.int64"
            outside = chosen[(chosen < 0) | (chosen >= self.sizes[name])]
            if len(outside):
                return f"{name} holds {int(outside[0])}; expected row numbers from 0 to {self.sizes[name] - 1}"
        return ""

    def _refuse_together(self, words: str) -> None:
        """ValueError in all processes where one of them has something to say; costs one number where none has."""
        flag = torch.tensor([float(bool(words))], device=self.processes.fabric.device)
        if self.processes.total(flag):
            own = f"process {self.processes.fabric.global_rank}: {words}; " if words else ""
            said = self.processes.concatenated(torch.tensor(list(own.encode()), dtype=torch.uint8, device=flag.device))
            raise ValueError(bytes(said.tolist()).decode().removesuffix("; "))


def start_rows(name: str, first: int, last: int, *, d: int, seed: int) -> Tensor:
    """Draw some rows of a table's start: normal, of deviation 1 / sqrt(d).

    Parameters
    ----------
    name : str
        The table.
    first, last : int
        The rows ``first`` to ``last - 1``.
    d : int
        The width.
    seed : int
        The seed of the start.

    Returns
    -------
    Tensor, shape (last - first, d)
        The rows.

    Examples
    --------
    A row is the same in every shard:

    >>> import torch
    >>> from course_lib.training.sharded import start_rows
    >>> torch.equal(start_rows("users", 0, 5, d=4, seed=0)[2:], start_rows("users", 2, 5, d=4, seed=0))
    True
    """
    return write_start(torch.empty(last - first, d), name, first, seed=seed)


def write_start(rows: Tensor, name: str, first: int, *, seed: int) -> Tensor:
    """Write the start of a table's rows from number ``first`` on into ``rows``, and return them.

    Parameters
    ----------
    rows : Tensor, shape (b, d)
        Where to write.
    name : str
        The table.
    first : int
        The number of the first row.
    seed : int
        The seed of the start.

    Returns
    -------
    Tensor, shape (b, d)
        The same tensor.

    Notes
    -----
    The rows are drawn by blocks, each from a generator of its own: a row is the same for any shards, no process draws
    them all, and nothing but a block is held twice.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.sharded import start_rows, write_start
    >>> rows = torch.empty(3, 4)
    >>> write_start(rows, "users", 2, seed=0) is rows
    True
    >>> torch.equal(rows, start_rows("users", 2, 5, d=4, seed=0))
    True
    """
    last, d = first + len(rows), rows.shape[1]
    for block in range(first // BLOCK, -(-last // BLOCK)):
        words = [seed, block, *name.encode()]
        generator = torch.Generator().manual_seed(int(np.random.default_rng(words).integers(2**62)))
        drawn, begin = torch.randn(BLOCK, d, generator=generator).mul_(d**-0.5), block * BLOCK
        low, high = max(first, begin), min(last, begin + BLOCK)
        rows[low - first : high - first] = drawn[low - begin : high - begin]
    return rows


def _engine(sizes: Mapping[str, int], d: int, optimizer: str, lr: float, device: torch.device) -> Any:
    """TorchRec's collection of tables with row-wise shards, and its optimiser fused into the backward pass.

    A table called "items" would hide a method of torch's ModuleDict, so TorchRec is told "table items".
    """
    try:
        import torchrec
        from torchrec.distributed.comm_ops import set_gradient_division
        from torchrec.distributed.shard import shard
        from torchrec.distributed.sharding_plan import row_wise
        from torchrec.optim import RowWiseAdagrad
    except ModuleNotFoundError as missing:
        found = f"{missing.name} is not installed"
        raise ModuleNotFoundError(f"{found}: sharded tables need the environment of `make test-scale`") from missing
    from torch.distributed.optim.apply_optimizer_in_backward import _apply_optimizer_in_backward

    configs = [
        torchrec.EmbeddingConfig(name=f"table {name}", num_embeddings=count, embedding_dim=d, feature_names=[name])
        for name, count in sizes.items()
    ]
    tables = torchrec.EmbeddingCollection(tables=configs, device=torch.device("meta"))
    kinds = {"sgd": torch.optim.SGD, "row-wise adagrad": RowWiseAdagrad}
    _apply_optimizer_in_backward(kinds[optimizer], tables.parameters(), {"lr": lr})
    set_gradient_division(False)  # TorchRec would divide sums of gradients by P, in all tables of this process
    return shard(tables, row_wise(), device=device)
