"""The interactive of the further page: what a step costs if the tables of users and items are larger than a machine."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

from course_lib import checking, processes, step_cost
from course_lib.lessons.shared.widgets.base import Checked, Count, Number, Word
from course_lib.lessons.shared.widgets.paper import WrittenOnce

ID_BYTES = 8  # what names a row
STATE_BYTES = 4  # row-wise AdaGrad keeps one number of 32 bits for each row
RECIPE: dict[str, Any] = {"rows": "own", "gather": "gradients"}  # of the negatives, as in `course_lib.processes`


def state_bytes(rows: int, *, width: int, itemsize: int, optimizer: str) -> int:
    """Bytes of these rows of a table and of the optimiser's state: Adam 3 r d numbers, row-wise AdaGrad r d and r.

    Raises ValueError for another optimizer.
    """
    checking.choice(optimizer, "optimizer", ("adam", "row-wise"))
    numbers = rows * width * itemsize
    return 3 * numbers if optimizer == "adam" else numbers + rows * STATE_BYTES


def dense_bytes(rows: int, *, processes: int, width: int, itemsize: int) -> Fraction:
    """2 (P-1)/P r d numbers: what a process sends so that all have the sum of a dense gradient, in a ring."""
    return Fraction(2 * (processes - 1) * rows * width * itemsize, processes)


def exchanged_bytes(*, processes: int, batch_size: int, width: int, itemsize: int) -> Fraction:
    """What a process sends on average so that all have the rows of their pairs, and the owners of rows the gradients.

    A process needs 2 B rows, of which (P-1)/P lie elsewhere: it sends their ids and later their gradients, and as many
    rows of its own are asked for. Rows are spread evenly, and a row that two pairs need is sent twice.
    """
    return Fraction(2 * batch_size * (processes - 1) * (ID_BYTES + 2 * width * itemsize), processes)


def _prices(given: Sequence[float], name: str, _: Any) -> list[float]:
    prices = checking.vector(given, name, len(step_cost.PRICES))
    if (prices < 0).any():
        raise checking.refuse(prices.min(), name, "no negative price")
    return [float(price) for price in prices]


class ShardedStep(WrittenOnce):
    """Tables of users and items on P machines: memory, bytes sent in a step, seconds of a step, hours of an epoch.

    prices      nanoseconds of one of each of `course_lib.step_cost.PRICES`, on one core; SCALE-X5 has some, and
            each is 1 where none are given
    users, items, pairs   how many there are; an epoch visits each pair once
    width       numbers of an embedding
    batch       B, pairs of one process
    processes   P, each on a machine of its own, 1 to 4,096
    bandwidth   gigabytes a second that a process sends
    memory      gigabytes of a machine
    speed       how many times as fast as the core of the prices a process computes
    itemsize    "2" or "4" bytes of a number
    optimizer   "adam" or "row-wise" AdaGrad

    All are traits: read, set and observe them. Raises ValueError for values out of range, and for prices that are not
    four numbers, none negative.
    """

    module_name: ClassVar[str] = "sharded_step"
    caption: ClassVar[str] = (
        "First: bytes that a process sends in a step, each mark on the scale ten times the one before. Second: memory "
        "of a process, tables and optimiser state; the upright line is the memory of a machine. Third: seconds of a "
        "step, part by part. With JavaScript this picture is interactive."
    )

    prices = Checked((1.0, 1.0, 1.0, 1.0), _prices)
    users = Count(100_000_000, 1, 10**11)
    items = Count(20_000_000, 1, 10**11)
    pairs = Count(5_000_000_000, 1, 10**13)
    width = Count(128, 1, 4096)
    batch = Count(4096, 1, 65_536)
    processes = Count(16, 1, 4096)
    bandwidth = Number(12.5, 0.001, 1000)
    memory = Number(80.0, 0.001, 10_000)
    speed = Number(100.0, 0.01, 100_000)
    itemsize = Word("2", ("2", "4"))
    optimizer = Word("adam", ("adam", "row-wise"))

    def held(self) -> dict[str, int]:
        """Bytes of tables and optimiser state in one process: {"whole", "sharded"}, the latter the largest shard."""
        shard = ceil(self.users / self.processes) + ceil(self.items / self.processes)
        sizes = {"width": self.width, "itemsize": int(self.itemsize), "optimizer": self.optimizer}
        return {"whole": state_bytes(self._rows, **sizes), "sharded": state_bytes(shard, **sizes)}

    def sent(self) -> dict[str, Fraction]:
        """Bytes that a process sends in a step: {"dense", "exchanged", "gathered", "gramians"}."""
        sizes = {"processes": self.processes, "width": self.width, "itemsize": int(self.itemsize)}
        return {
            "dense": dense_bytes(self._rows, **sizes),
            "exchanged": exchanged_bytes(batch_size=self.batch, **sizes),
            "gathered": Fraction(processes.gathered_bytes(batch_size=self.batch, **RECIPE, **sizes)),
            "gramians": processes.gramian_bytes(**sizes),
        }

    def seconds(self) -> dict[str, float]:
        """Seconds of the parts of a step: {"computing", "dense", "exchanged", "gathered"}, one part after the other.

        Computing by `step_cost`, for own rows with gradients; the others are bytes divided by the bandwidth.
        """
        sizes = {"processes": self.processes, "batch_size": self.batch, "width": self.width}
        amounts = step_cost.amounts(**RECIPE, **sizes) * [1, 1, 1, int(self.itemsize) / 4]  # counted for 4 bytes
        prices = [1e-9 * price / self.speed for price in self.prices]
        computing = step_cost.seconds(prices, amounts, processes=self.processes, cores=self.processes)
        sent = {part: float(count) / (1e9 * self.bandwidth) for part, count in self.sent().items()}
        return {"computing": float(computing), **{part: sent[part] for part in ("dense", "exchanged", "gathered")}}

    def epoch(self) -> dict[str, float]:
        """{"steps", "whole", "sharded"}: steps of an epoch, and its hours with whole and with sharded tables."""
        steps, parts = ceil(self.pairs / (self.processes * self.batch)), self.seconds()
        both = parts["computing"] + parts["gathered"]
        hours = {"whole": both + parts["dense"], "sharded": both + parts["exchanged"]}
        return {"steps": steps, **{name: steps * seconds / 3600 for name, seconds in hours.items()}}

    @property
    def _rows(self) -> int:
        return int(self.users + self.items)
