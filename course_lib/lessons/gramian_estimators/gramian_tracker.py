"""The interactive of the chapter: one entry of a Gramian that moves, and three estimates that follow it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib import gramians
from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, Number, Word
from course_lib.lessons.shared.widgets.chance import uniforms
from course_lib.lessons.shared.widgets.paper import WrittenOnce

# The world of the interactive, the same as WORLD in gramian_tracker_math.js.
EXAMPLES, STEPS, EVERY, START, SLOWER, LOWEST_RATE = 256, 400, 5, 3.0, 1 / 80, 0.001
DRIFTS = ("straight", "random walk", "settling")
BETAS = ("1", "b/n")
LARGEST_BATCH = 64


@dataclass(frozen=True)
class Paths:
    """A run. moves (T,): the steps of the entry; the others (T,), after each step: the entry and three estimates."""

    moves: np.ndarray
    entry: np.ndarray
    sampling: np.ndarray
    sogram: np.ndarray
    sagram: np.ndarray


def steps_of(drift: str, size: float, coins: np.ndarray) -> np.ndarray:
    """(T,) how far the entry moves in each step: `size`, +-size by a coin, or `size` shrinking by 1/80 a step."""
    if drift == "random walk":
        return np.where(coins < 0.5, -size, size)
    if drift == "settling":
        return size * np.cumprod(np.full(len(coins), 1 - SLOWER)) / (1 - SLOWER)
    return np.full(len(coins), float(size))


def spread() -> np.ndarray:
    """(n,) how far each example's own entry lies from their mean: evenly spread, mean 0, variance 1."""
    places = (2 * np.arange(EXAMPLES) - EXAMPLES + 1) / EXAMPLES
    return places * math.sqrt(3 / (1 - EXAMPLES**-2))


def follow(
    *,
    alpha: float,
    batch_size: int,
    drift: str,
    size: float,
    correct_start: bool,
    beta: str,
    seed: int,
    steps: int = STEPS,
) -> Paths:
    """The first `steps` steps of the run of these settings, by the estimators of course_lib.gramians.

    The same numbers as `follow` of the page. Example i has the entry x_i(t) = G(t) + e_i, the product of two
    coordinates of its embedding: the estimators get x_i as one coordinate and 1 as its partner. Batches of
    `batch_size` examples, drawn with replacement.
    """
    chance = uniforms(seed, STEPS * (1 + batch_size))
    moves = steps_of(drift, size, chance[:STEPS])
    draws = np.floor(chance[STEPS:] * EXAMPLES).astype(int).reshape(STEPS, batch_size)
    entry, own, ones = START + np.cumsum(moves), spread(), np.ones((EXAMPLES, 1))
    sagram = gramians.SAGram(EXAMPLES, 1, 1.0 if beta == "1" else batch_size / EXAMPLES)
    sagram.start((START + own)[:, None], ones)
    followers = (gramians.BatchGramian(), gramians.SOGram(1, alpha, correct_start=correct_start), sagram)
    found = np.array(
        [
            [float(one.update(batch, (value + own[batch])[:, None], ones[:batch_size])[0, 0]) for one in followers]
            for value, batch in zip(entry[:steps], draws[:steps], strict=True)
        ]
    )
    return Paths(moves[:steps], entry[:steps], *found.T)


@functools.lru_cache(maxsize=32)
def _followed(**settings: Any) -> Paths:
    return follow(**settings)


class GramianTracker(WrittenOnce):
    """One entry of a Gramian that moves while a model is trained; batch sampling, SOGram and SAGram follow it.

    alpha          rate of SOGram
    batch_size     examples in a batch, of 256
    drift          how the entry moves: "straight", "random walk" or "settling"
    size           how far, in each step (of "settling": in the first one); one draw has standard deviation 1
    correct_start  whether SOGram's start at zero is corrected
    beta           of SAGram: "1" or "b/n"
    step           how many of the 400 steps to show, a multiple of 5
    seed           of the batches and the walk

    All are traits: read, set and observe them. `paths()` is the run behind the picture. Raises ValueError for values
    out of range.
    """

    module_name: ClassVar[str] = "gramian_tracker"
    caption: ClassVar[str] = (
        "First: one entry of a Gramian (thick line) and its estimates after each step: batch sampling (dots), "
        "SOGram (line), SAGram (dashed). Second: SOGram's expected square error at the last step against its rate, "
        "on logarithmic axes, as a sum of squared bias and variance; the diamond marks the best rate, the ring the "
        "chosen one. With JavaScript this picture is interactive."
    )

    alpha = Number(0.05, LOWEST_RATE, 1)
    batch_size = Count(16, 1, LARGEST_BATCH)
    drift = Word("straight", DRIFTS)
    size = Number(0.005, 0, 1)
    correct_start = traitlets.Bool().tag(sync=True, state=True)
    beta = Word("1", BETAS)
    step = Count(STEPS, EVERY, STEPS, unit=EVERY)
    seed = Count(0, 0, MOST_SEED)

    def paths(self) -> Paths:
        """The run, over all 400 steps."""
        return _followed(**{name: value for name, value in self.state().items() if name != "step"})
