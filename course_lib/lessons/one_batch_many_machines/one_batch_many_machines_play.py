"""The interactive of the chapter: what P processes with B pairs each compute and send, and how long that takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import traitlets

from course_lib import processes
from course_lib.lessons.shared.widgets.base import Count, Number, Word
from course_lib.lessons.shared.widgets.paper import Hero
from course_lib.processes import GATHERS, REDUCTIONS, ROWS

PARTS = ("queries", "own items", "other items", "temperature")

# Of the model of cost: this and `processes.OPERATIONS` are WORLD in machines_math.js.
LATENCY = 2e-5  # seconds until the first byte of a message arrives, for each hop around the ring


class OneBatchManyMachines(Hero):
    """A batch spread over processes: which scores are computed, what becomes of the gradient, what a step costs.

    processes    P, 1 to 8
    batch        B, pairs of one process, 1 to 16,384
    gather       of the other processes' rows: "none", "constant" or "gradients" (`course_lib.processes`)
    rows         in the loss of a process: "own" or "all"
    reduction    of these rows: "mean" or "sum"
    times_world  whether the loss of a process is multiplied by P
    d            width of an embedding
    bandwidth    gigabytes a second that a process sends
    rate         10^12 operations a second of one process
    tower        10^6 operations for one pair in the towers, forward and backward

    All are traits: read, set and observe them. Without a gather the rows are always a process's own. Raises ValueError
    for values out of range.
    """

    module_name: ClassVar[str] = "one_batch_many_machines_play"
    caption: ClassVar[str] = (
        "The scores of all pairs of the batch, in blocks: a row of blocks for each machine's people, a column for its "
        "films. Blue: a person's own film. A block that is faded and set off pushes no film: its gradient is lost. "
        "With JavaScript this picture is interactive."
    )

    processes = Count(4, 1, 8)
    batch = Count(1024, 1, 16_384)
    gather = Word("constant", ("none", *GATHERS))
    rows = Word("own", ROWS)
    reduction = Word("mean", REDUCTIONS)
    times_world = traitlets.Bool(False).tag(sync=True, state=True)
    d = Count(128, 1, 4096)
    bandwidth = Number(1.0, 0.001, 1000)
    rate = Number(1.0, 0.001, 1000)
    tower = Number(1.0, 0.001, 1_000_000)

    @property
    def whole(self) -> bool:
        """Whether every process computes all P B rows."""
        return bool(self.rows == "all" and self.gather != "none")

    def factors(self) -> dict[str, Fraction | None]:
        """Each part of the averaged gradient, times that of one process; None: it is the gradient of another loss."""
        if self.gather == "none" and self.processes > 1:
            return dict(zip(PARTS, (None, None, Fraction(0), None), strict=True))
        found = processes.gradient_factors(
            processes=self.processes,
            rows="all" if self.whole else "own",
            gather="gradients" if self.gather == "none" else self.gather,
            reduction=self.reduction,
        ).times(self.processes if self.times_world else 1)
        return dict(zip(PARTS, (found.query, found.pull, found.far, found.direct), strict=True))

    def bytes_sent(self) -> int:
        """Bytes that each process sends in a step for the loss; the parameters' gradients come on top."""
        return processes.gathered_bytes(**self._sizes, width=self.d, **self._recipe)

    def seconds(self) -> dict[str, float]:
        """Seconds of a step by a model of cost, one part after the other: {"towers", "scores", "network"}.

        6 d operations a score: B B without a gather, B P B with one, (P B)^2 where all rows are computed. A gather has
        P - 1 hops forward and, with gradients, as many back. The parameters' gradients are left out.
        """
        scores, hops = processes.computed_scores(**self._sizes, **self._recipe), self.processes - 1
        waiting = LATENCY * processes.transfers(**self._recipe) * hops
        return {
            "towers": self.batch * self.tower * 1e6 / (self.rate * 1e12),
            "scores": processes.OPERATIONS * self.d * scores / (self.rate * 1e12),
            "network": self.bytes_sent() / (self.bandwidth * 1e9) + waiting,
        }

    @property
    def _sizes(self) -> dict[str, Any]:
        return {"processes": self.processes, "batch_size": self.batch}

    @property
    def _recipe(self) -> dict[str, Any]:
        """In the words of `course_lib.processes`."""
        gather = "local" if self.gather == "none" else self.gather
        return {"gather": gather, "rows": "all" if self.whole else "own"}
