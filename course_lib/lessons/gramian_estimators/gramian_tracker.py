"""The interactive of the chapter: one entry of a Gramian that moves, and three estimates that follow it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, CourseWidget, Number, Word
from course_lib.lessons.shared.widgets.chance import uniforms
from course_lib.lessons.shared.widgets.drawing import sheet, text_at
from course_lib.lessons.shared.widgets.words import number
from course_lib.maths import gramians

# The world of the interactive, the same as WORLD in gramian_tracker_math.js.
EXAMPLES, STEPS, EVERY, START, SLOWER, RATES = 256, 400, 5, 3.0, 1 / 80, 97
LOWEST_RATE = 0.001
DRIFTS = {"straight": "coherent", "random walk": "random_walk", "settling": None}  # -> the law of gramians.rates
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

    def errors(self, steps: int) -> dict[str, float]:
        """Root mean square errors over the second half of the first `steps` steps."""
        half = slice(steps // 2, steps)
        return {
            name: float(np.sqrt(np.mean((getattr(self, name)[half] - self.entry[half]) ** 2)))
            for name in ("sampling", "sogram", "sagram")
        }


@dataclass(frozen=True)
class Expected:
    """What to expect of SOGram at one step, over all batches (and all walks): squared bias, and variance."""

    square: Any
    variance: Any

    @property
    def total(self) -> Any:
        return self.square + self.variance


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
    """The first `steps` steps of the run of these settings, by the estimators of course_lib.maths.gramians.

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


def expected(alpha: Any, *, moves: np.ndarray, batch_size: int, walk: bool, correct_start: bool) -> Expected:
    """Bias^2 and variance of SOGram after the steps `moves` (t,), for rates alpha (...).

    A move that is i steps old has come through but for q^i of it (with the start corrected: (q^i - q^t)/(1 - q^t)), q =
    1 - alpha. Moves of one direction add up, those of a walk add their squares; the start at zero leaves q^t of the
    entry. Long after the start: `coherent_error` and `random_walk_error` of course_lib.maths.gramians.
    """
    q = (1 - np.asarray(alpha, dtype=float))[..., None]
    steps = len(moves)
    kept = q ** np.arange(steps, 0, -1)  # (..., t)
    start = q[..., 0] ** steps
    if correct_start:
        kept, start = (kept - start[..., None]) / (1 - start[..., None]), 0 * start
    if walk:
        square = (kept**2 * moves**2).sum(-1) + (start * START) ** 2
    else:
        square = ((kept * moves).sum(-1) + start * START) ** 2
    variance = gramians.sogram_variance(alpha, sigma=batch_size**-0.5, steps=steps, corrected=correct_start)
    return Expected(square, variance)


def rates() -> np.ndarray:
    """The rates of the second picture: evenly spread by ratio, from 0.001 to 1."""
    return LOWEST_RATE ** (1 - np.arange(RATES) / (RATES - 1))


@functools.lru_cache(maxsize=32)
def _followed(**settings: Any) -> Paths:
    return follow(**settings)


class GramianTracker(CourseWidget):
    """One entry of a Gramian that moves while a model is trained; batch sampling, SOGram and SAGram follow it.

    alpha          rate of SOGram
    batch_size     examples in a batch, of 256
    drift          how the entry moves: "straight", "random walk" or "settling"
    size           how far, in each step (of "settling": in the first one); one draw has standard deviation 1
    correct_start  whether SOGram's start at zero is corrected
    beta           of SAGram: "1" or "b/n"
    step           how many of the 400 steps to show, a multiple of 5
    seed           of the batches and the walk

    All are traits: read, set and observe them. `paths()` is the run behind the picture, `expected()` what to expect of
    SOGram. Raises ValueError for values out of range.
    """

    module_name: ClassVar[str] = "gramian_tracker"
    caption: ClassVar[str] = (
        "Above: one entry of a Gramian (thick line) and its estimates after each step: batch sampling (dots), "
        "SOGram (line), SAGram (dashed). Below: SOGram's expected mean square error at the last step against its rate, "
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

    # ---- what Python can ask

    def paths(self) -> Paths:
        """The run, over all 400 steps."""
        return _followed(
            alpha=self.alpha,
            batch_size=self.batch_size,
            drift=self.drift,
            size=self.size,
            correct_start=self.correct_start,
            beta=self.beta,
            seed=self.seed,
        )

    def expected(self, alpha: Any = None, *, step: int | None = None) -> Expected:
        """Bias^2 and variance of SOGram at `step`, for the chosen rate or for other ones."""
        moves = self.paths().moves[: self.step if step is None else step]
        return expected(
            self.alpha if alpha is None else alpha,
            moves=moves,
            batch_size=self.batch_size,
            walk=self.drift == "random walk",
            correct_start=self.correct_start,
        )

    @property
    def best_alpha(self) -> float:
        """The rate with the least expected error at `step`, of those in the picture."""
        return float(rates()[self.expected(rates()).total.argmin()])

    @property
    def long_run_alpha(self) -> float:
        """`optimal_alpha` for this drift; NaN where the drift settles."""
        law = DRIFTS[self.drift]
        return float(gramians.optimal_alpha(self.size, self.batch_size**-0.5, law)) if law else math.nan

    def long_run_error(self, alpha: Any) -> Any:
        """Mean square error in the long run, for rates alpha; NaN where the drift settles."""
        laws = {"straight": gramians.coherent_error, "random walk": gramians.random_walk_error}
        if self.drift not in laws:
            return np.full(np.shape(alpha), math.nan)
        return laws[self.drift](alpha, delta=self.size, sigma=self.batch_size**-0.5)

    @property
    def bias_bound(self) -> float:
        """What Proposition 5 allows as bias at `step`."""
        steps = None if self.correct_start else self.step
        entry = float(abs(self.paths().entry[self.step - 1]))
        return float(gramians.sogram_bias_bound(self.alpha, delta=self.size, norm=entry, steps=steps))

    # ---- words, picture, table

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        return f"{self._settings()} {self._about_paths()} {self._about_errors()}"

    def _settings(self) -> str:
        drift = {
            "straight": f"a straight drift of {figures(self.size)} a step",
            "random walk": f"a random walk with steps of ±{figures(self.size)}",
            "settling": f"a drift of {figures(self.size)} in the first step that settles",
        }[self.drift]
        start = "corrected for the start at zero" if self.correct_start else "started at zero"
        return (
            f"SOGram with rate α = {figures(self.alpha)}, {start}; "
            f"batches of {self.batch_size} of {EXAMPLES} examples; {drift if self.size else 'no drift'}."
        )

    def _about_paths(self) -> str:
        paths, last = self.paths(), self.step - 1
        off = paths.errors(self.step)
        return (
            f"After {self.step} steps the entry of the Gramian is {number(paths.entry[last])}; batch sampling says "
            f"{number(paths.sampling[last])}, SOGram {number(paths.sogram[last])}, "
            f"SAGram (β = {self.beta}) {number(paths.sagram[last])}. "
            f"Over the second half of these steps they were off by {figures(off['sampling'])}, "
            f"{figures(off['sogram'])} and {figures(off['sagram'])} (root mean square)."
        )

    def _about_errors(self) -> str:
        now, best = self.expected(), self.best_alpha
        walks = " on average over walks" if self.drift == "random walk" else ""
        return (
            f"What to expect of SOGram at this step: bias {figures(math.sqrt(now.square))}{walks} "
            f"(Proposition 5 allows {figures(self.bias_bound)}), "
            f"standard deviation {figures(math.sqrt(now.variance))}, mean square error {figures(now.total)}. "
            f"The least error, {figures(self.expected(best).total)}, is at α = {figures(best)}. "
            f"{self._about_the_long_run()}"
        )

    def _about_the_long_run(self) -> str:
        if not self.size:
            return "In the long run there is no best rate: nothing moves, and the smaller α, the better."
        if math.isnan(self.long_run_alpha):
            return "In the long run there is no best rate: the drift dies out, and α had better fall with it."
        best = self.long_run_alpha
        return f"In the long run the best rate is {figures(best)}, with error {figures(self.long_run_error(best))}."

    def picture(self) -> str:
        return _picture(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Ten steps, the last of them the one that is shown."""
        heads = ["Step", "Gramian", "Sampling", "SOGram", "SAGram", "Expected bias of SOGram", "Its standard deviation"]
        paths, rows = self.paths(), []
        for step in table_steps(self.step):
            values = [number(path[step - 1]) for path in (paths.entry, paths.sampling, paths.sogram, paths.sagram)]
            now = self.expected(step=step)
            rows.append([str(step), *values, figures(math.sqrt(now.square)), figures(math.sqrt(now.variance))])
        return heads, rows


def figures(value: float) -> str:
    """Three significant figures, no exponent: 0.0312, 1.5, 249. Same rule as `figures` of gramian_tracker_math.js."""
    clean = float(f"{float(value):.12g}")
    if abs(clean) < 1e-7:
        return "0" if abs(clean) < 1e-12 else "less than 0.0000001"
    exact = Decimal(clean)
    text = format(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), rounding=ROUND_HALF_UP), "f")
    short = text.rstrip("0").rstrip(".") if "." in text else text
    return short.replace("-", "−")


def table_steps(last: int) -> list[int]:
    """Up to ten steps, about evenly spread, the last one last."""
    return sorted({math.floor(last * part / 10 + 0.5) for part in range(1, 11)} - {0})


# ---- the picture for a page without JavaScript: middle tones, legible on light and on dark

_text = functools.partial(text_at, size=11, places=".1f")
_INK, _SOGRAM, _SAGRAM, _LINE = "currentColor", "#3b82c4", "#d9772b", "#8a94a0"
_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _BOTTOM = 400, 305, 44, 12, 24, 42


def _picture(shown: GramianTracker) -> str:
    return sheet(
        shown.summary(),
        _WIDE,
        2 * _HIGH,
        _paths_svg(shown),
        f'<g transform="translate(0 {_HIGH})">{_errors_svg(shown)}</g>',
        width=f"{1.15 * _WIDE:.0f}",
    )


def _paths_svg(shown: GramianTracker) -> str:
    paths = shown.paths()
    low, high = path_range(paths)

    def x(step: float) -> float:
        return _LEFT + step / STEPS * (_WIDE - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (_HIGH - _TOP - _BOTTOM)

    def line(values: np.ndarray, colour: str, more: str) -> str:
        kept = range(1, shown.step, 2) if shown.step > 100 else range(shown.step)
        points = " ".join(f"{x(k + 1):.1f},{y(values[k]):.1f}" for k in kept)
        return f'<polyline points="{points}" fill="none" stroke="{colour}" {more}/>'

    dots = "".join(f"M{x(k + 1):.1f} {y(paths.sampling[k]):.1f}h0" for k in range(EVERY - 1, shown.step, EVERY))
    ticks = [_text(x(step), _HIGH - _BOTTOM + 15, str(step)) for step in range(0, STEPS + 1, 100)]
    ticks += [_text(_LEFT - 6, y(value) + 4, number(value), anchor="end") for value in even_numbers(low, high)]
    return "".join(
        (
            _frame(),
            *ticks,
            _text((_LEFT + _WIDE) / 2, _HIGH - 8, "step"),
            _text(_LEFT - 6, _TOP - 12, "entry of the Gramian", anchor="start"),
            f'<path d="{dots}" stroke="{_LINE}" stroke-width="3.4" stroke-linecap="round"/>',
            line(paths.entry, _INK, 'stroke-width="5" stroke-opacity="0.4"'),
            line(paths.sogram, _SOGRAM, 'stroke-width="2"'),
            line(paths.sagram, _SAGRAM, 'stroke-width="1.8" stroke-dasharray="6 4"'),
        )
    )


def _errors_svg(shown: GramianTracker) -> str:
    alphas = rates()
    found = shown.expected(alphas)
    low, high = error_range(found.total)

    def x(alpha: float) -> float:
        return _LEFT + math.log(alpha / LOWEST_RATE) / math.log(1 / LOWEST_RATE) * (_WIDE - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + math.log(high / value) / math.log(high / low) * (_HIGH - _TOP - _BOTTOM)

    def line(values: np.ndarray, colour: str, more: str) -> str:
        points = " ".join(f"{x(a):.1f},{y(v):.1f}" for a, v in zip(alphas, values, strict=True) if low <= v <= high)
        return f'<polyline points="{points}" fill="none" stroke="{colour}" {more}/>' if points else ""

    best, now = shown.best_alpha, shown.expected()
    ticks = [_text(x(value), _HIGH - _BOTTOM + 15, figures(value)) for value in (0.001, 0.01, 0.1, 1)]
    ticks += [_text(_LEFT - 6, y(value) + 4, figures(value), anchor="end") for value in powers(low, high)]
    bx, by = x(best), y(float(shown.expected(best).total))
    return "".join(
        (
            _frame(),
            *ticks,
            _text((_LEFT + _WIDE) / 2, _HIGH - 8, "rate α"),
            _text(_LEFT - 6, _TOP - 12, "mean square error", anchor="start"),
            line(shown.long_run_error(alphas), _LINE, 'stroke-width="1.2" stroke-dasharray="2 3"'),
            line(found.square, _SAGRAM, 'stroke-width="1.8" stroke-dasharray="6 4"'),
            line(found.variance, _SOGRAM, 'stroke-width="1.8" stroke-dasharray="1.5 3"'),
            line(found.total, _INK, 'stroke-width="2.2"'),
            f'<path d="M{bx:.1f} {by - 6:.1f}l6 6l-6 6l-6 -6z" fill="{_SAGRAM}"/>',
            f'<circle cx="{x(shown.alpha):.1f}" cy="{y(float(now.total)):.1f}" r="7" fill="none" stroke="{_SOGRAM}" '
            'stroke-width="2.4"/>',
        )
    )


def path_range(paths: Paths) -> tuple[float, float]:
    """Of the first picture's vertical axis: the same at every step, so that a run can be played."""
    values = np.concatenate([paths.entry, paths.sampling, paths.sogram, paths.sagram])
    margin = 0.04 * (values.max() - values.min())
    return float(values.min() - margin), float(values.max() + margin)


def error_range(total: np.ndarray) -> tuple[float, float]:
    """Of the second picture's vertical axis."""
    return float(total.min() / 8), float(total.max() * 1.6)


def even_numbers(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten: at most seven in the range."""
    power = 10 ** math.floor(math.log10(high - low))
    unit = next(step for step in (power * factor for factor in (0.1, 0.2, 0.5, 1, 2)) if (high - low) / step <= 7)
    return [unit * k for k in range(math.ceil(low / unit), math.floor(high / unit) + 1)]


def powers(low: float, high: float) -> list[float]:
    """Powers of ten in the range."""
    return [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def _frame() -> str:
    return f'<path d="M{_LEFT} {_TOP}V{_HIGH - _BOTTOM}H{_WIDE - _RIGHT}" fill="none" stroke="{_LINE}"/>'
