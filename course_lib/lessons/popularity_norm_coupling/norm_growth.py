"""The interactive of the chapter on popularity and norms: a small training, and how long item embeddings get."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, CourseWidget, Number
from course_lib.lessons.shared.widgets.chance import BELL, bells, uniforms
from course_lib.lessons.shared.widgets.drawing import sheet, text_at
from course_lib.lessons.shared.widgets.words import number, whole_percent
from course_lib.maths import geometry, losses, norms, popularity

# The world of the interactive, the same as WORLD in norm_growth_math.js.
ITEMS, USERS, TASTES, WIDTH, BATCH, STEPS, EVERY, LOYAL, LIST, TOP = 120, 300, 6, 8, 32, 800, 20, 0.8, 10, 0.1


@dataclass(frozen=True)
class Run:
    """A training run, seen after its last step.

    items (n, d), users (m, d): the two tables; counts (n,): how often an item was drawn; starts (n,): the norms before;
    gradients, steps (T, n): the lengths ||h|| and ||dq|| of every item in every step, 0 where it did not move.
    """

    items: np.ndarray
    users: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    gradients: np.ndarray
    steps: np.ndarray

    @property
    def norms(self) -> np.ndarray:
        return np.asarray(geometry.norm(self.items))

    @property
    def h(self) -> float:
        """Root mean square of ||h|| over the draws: a batch that holds an item twice counts as two."""
        draws = self.counts.sum()
        return float(np.sqrt((self.gradients**2).sum() / draws)) if draws else 0.0


def train(*, lr: float, start_norm: float, tau: float, exponent: float, seed: int, steps: int = STEPS) -> Run:
    """`steps` steps of plain SGD on InfoNCE of cosines; both towers are tables.

    The world: item r (from 0) is drawn with a probability in proportion to (r + 1)^-exponent and has taste r mod 6; the
    user who takes it has the same taste in 80 % of the draws and is any user else. Batches of 32 draws. The tables
    start with normal numbers and root mean square norm start_norm. The same numbers as `train` of norm_growth_math.js.
    """
    table_size = (ITEMS + USERS) * WIDTH * BELL
    chance = uniforms(seed, table_size + steps * BATCH * 3)
    table = (bells(chance[:table_size]) * start_norm / math.sqrt(WIDTH)).reshape(-1, WIDTH)
    items, users = table[:ITEMS].copy(), table[ITEMS:].copy()  # (n, d), (m, d)
    drawn_items, drawn_users = _draws(chance[table_size:].reshape(steps, BATCH, 3), exponent)
    run = Run(
        items,
        users,
        np.bincount(drawn_items.ravel(), minlength=ITEMS),
        geometry.norm(items),
        np.zeros((steps, ITEMS)),
        np.zeros((steps, ITEMS)),
    )
    for t, (i, u) in enumerate(zip(drawn_items, drawn_users, strict=True)):
        user_gradients, item_gradients = batch_gradients(users[u], items[i], tau=tau)
        gradient = _gathered(i, item_gradients, ITEMS)
        run.gradients[t] = geometry.norm(gradient) * geometry.norm(items)
        run.steps[t] = lr * geometry.norm(gradient)
        items -= lr * gradient
        users -= lr * _gathered(u, user_gradients, USERS)
    return run


def batch_gradients(users: np.ndarray, items: np.ndarray, *, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of InfoNCE of the cosines with respect to the rows of a batch: (B, d), (B, d) -> (B, d), (B, d).

    By the chain rule: d InfoNCE / d cos_ij = (softmax_ij - [i = j]) / (B tau), times the gradient of each cosine.
    """
    scores = losses.cosine_scores(users, items)  # (B, B)
    odds = np.exp((scores - scores.max(axis=1, keepdims=True)) / tau)
    slopes = (odds / odds.sum(axis=1, keepdims=True) - np.eye(len(scores))) / (len(scores) * tau)
    left, right = users[:, None], items[None]  # (B, 1, d), (1, B, d)
    return (
        (slopes[..., None] * geometry.cosine_gradient(left, right)).sum(1),
        (slopes[..., None] * geometry.cosine_gradient(right, left)).sum(0),
    )


def recommend(run: Run, *, by_cosine: bool) -> np.ndarray:
    """(users, 10) the best items of every user, by dot product or by cosine."""
    scores = (losses.cosine_scores if by_cosine else losses.dot_scores)(run.users, run.items)
    return np.argsort(-scores, axis=1, kind="stable")[:, :LIST]


def taste_share(lists: np.ndarray) -> float:
    """The part of the recommended items that has the taste of the user."""
    return float((lists % TASTES == (np.arange(USERS) % TASTES)[:, None]).mean())


def _draws(chance: np.ndarray, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """(T, B, 3) uniform numbers -> the items and the users of all batches, (T, B) each."""
    ladder = np.cumsum((np.arange(ITEMS) + 1.0) ** -exponent)
    items = np.minimum(np.searchsorted(ladder / ladder[-1], chance[..., 0], side="right"), ITEMS - 1)
    loyal = np.floor(chance[..., 2] * (USERS / TASTES)).astype(int) * TASTES + items % TASTES
    return items, np.where(chance[..., 1] < LOYAL, loyal, np.floor(chance[..., 2] * USERS).astype(int))


def _gathered(rows: np.ndarray, gradients: np.ndarray, size: int) -> np.ndarray:
    """The gradients of a batch (B, d) added up on the rows of a table: (size, d)."""
    total = np.zeros((size, gradients.shape[1]))
    np.add.at(total, rows, gradients)
    return total


@functools.lru_cache(maxsize=8)
def _trained(lr: float, start_norm: float, tau: float, exponent: float, seed: int, steps: int) -> Run:
    return train(lr=lr, start_norm=start_norm, tau=tau, exponent=exponent, seed=seed, steps=steps)


class NormGrowth(CourseWidget):
    """A small two-tower model trained on cosines: norm against count, the predicted line, and what the lists show.

    lr          learning rate of plain SGD
    start_norm  root mean square norm of the embeddings before the first step
    tau         temperature of InfoNCE
    exponent    of the power law of popularity; 0: all items alike
    step        how many of the 800 steps to show, a multiple of 20
    seed        of the tables and the batches

    All six are traits: read, set and observe them. `run()` is the training run behind the picture. Raises ValueError
    for values out of range.
    """

    module_name: ClassVar[str] = "norm_growth"
    caption: ClassVar[str] = (
        "One mark per item: its norm against the number of times it was drawn, both on logarithmic axes. Diamonds: the"
        " most popular tenth of the items. Line: the quartic law with one mean gradient for all, flat below n* "
        "(dashed), slope 1/4 above. With JavaScript this picture is interactive."
    )

    lr = Number(1.0, 0.001, 1000)
    start_norm = Number(1.0, 0.05, 50)
    tau = Number(0.1, 0.02, 5)
    exponent = Number(1.0, 0, 3)
    step = Count(STEPS, 0, STEPS, unit=EVERY)
    seed = Count(0, 0, MOST_SEED)

    # ---- what Python can ask

    def run(self) -> Run:
        """The training run up to `step`."""
        return _trained(self.lr, self.start_norm, self.tau, self.exponent, self.seed, self.step)

    @property
    def predicted(self) -> np.ndarray:
        """(items,) the norm that the quartic law predicts from the count alone, with the mean ||h||^2 of all draws."""
        run = self.run()
        return np.asarray(norms.predicted_norm(self.start_norm, lr=self.lr, h=run.h, updates=run.counts))

    @property
    def law(self) -> np.ndarray:
        """(items,) the norm by the exact quartic law, from each item's own start, gradients and steps."""
        run = self.run()
        return np.asarray(geometry.quartic_norm(run.starts, lr=self.lr, h=run.gradients.T, step=run.steps.T))

    @property
    def crossover(self) -> float:
        """n*, the count at which the predicted line bends; infinite before the first step."""
        h = self.run().h
        return float(norms.crossover_count(self.start_norm, lr=self.lr, h=h)) if h else math.inf

    @property
    def step_part(self) -> float:
        """The part of sum ||dq||^4 in the growth of all ||q||^4: what `predicted` leaves out."""
        run = self.run()
        steps, sideways = (run.steps**4).sum(), 2 * self.lr**2 * (run.gradients**2).sum()
        return float(steps / (steps + sideways)) if steps else 0.0

    @property
    def correlation(self) -> float:
        """Pearson's correlation of norms and counts; NaN where the counts do not differ."""
        run = self.run()
        return popularity.norm_correlation(run.norms, run.counts) if self._varied() else math.nan

    @property
    def slope(self) -> float:
        """Slope of log norm on log count over the items that were drawn; NaN where their counts do not differ."""
        run = self.run()
        drawn = run.counts > 0
        return popularity.log_log_slope(run.norms[drawn], run.counts[drawn]) if self._varied() else math.nan

    def top_share(self, *, by_cosine: bool) -> float:
        """The part of all top-10 lists that the most popular tenth of the items takes."""
        run = self.run()
        return popularity.top_share(recommend(run, by_cosine=by_cosine), run.counts, TOP)

    def _varied(self) -> bool:
        drawn = self.run().counts[self.run().counts > 0]
        return drawn.size > 0 and drawn.min() < drawn.max()

    # ---- words, picture, table

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        if self.step == 0:
            return f"{self._settings()} Before the first step: no item has been drawn, and no norm has grown."
        return f"{self._settings()} {self._about_growth()} {self._about_lists()}"

    def _settings(self) -> str:
        ratio = _small(norms.effective_learning_rate(self.lr, norm=self.start_norm))
        return (
            f"Learning rate {number(self.lr)}, initial norm {number(self.start_norm)} (their ratio lr/norm² is "
            f"{ratio}), temperature {number(self.tau)}, popularity exponent {number(self.exponent)}."
        )

    def _about_growth(self) -> str:
        run = self.run()
        order = self._order()
        drawn = order[run.counts[order] > 0]
        most, least = drawn[0], drawn[-1]
        text = (
            f"After {self.step} steps the item drawn most often ({run.counts[most]} times) has norm "
            f"{number(run.norms[most])}, the one drawn least often ({run.counts[least]}) {number(run.norms[least])}. "
            f"The predicted line bends at n* ({_small(self.crossover)} draws) and leaves out the fourth powers of "
            f"the steps, {whole_percent(self.step_part)} of the growth of norm⁴."
        )
        if not self._varied():
            return text
        return (
            f"{text} Log-log slope {number(self.slope)} (the law's limit: 0.25); "
            f"correlation of norm and count {number(self.correlation)}."
        )

    def _about_lists(self) -> str:
        run = self.run()
        head = run.counts[popularity.head_items(run.counts, TOP)].sum() / run.counts.sum()
        tastes = [taste_share(recommend(run, by_cosine=by_cosine)) for by_cosine in (True, False)]
        return (
            f"The most popular tenth of the items makes up {whole_percent(head)} of the draws, "
            f"{whole_percent(self.top_share(by_cosine=True))} of the top-10 lists ranked by cosine and "
            f"{whole_percent(self.top_share(by_cosine=False))} of those ranked by dot product. "
            f"Of the same lists, {whole_percent(tastes[0])} and {whole_percent(tastes[1])} match the user's taste."
        )

    def _order(self) -> np.ndarray:
        """Ids by falling count, equal counts by the lower id."""
        return popularity.head_items(self.run().counts, 1.0)

    def picture(self) -> str:
        return _scatter(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The items in ten groups of falling popularity."""
        run, order = self.run(), self._order()
        lists = [recommend(run, by_cosine=by_cosine) for by_cosine in (True, False)]
        heads = [
            "Items, by popularity",
            "Drawn",
            "Mean norm",
            "Predicted",
            "Exact law",
            "Share of lists, cosine",
            "Share of lists, dot",
        ]
        rows = []
        for k, group in enumerate(np.array_split(order, 10)):
            drawn = run.counts[group]
            means = [number(values[group].mean()) for values in (run.norms, self.predicted, self.law)]
            shares = [whole_percent(np.isin(some, group).mean()) for some in lists]
            low = k * len(group)
            rows.append([f"{low + 1} to {low + len(group)}", _range(drawn.min(), drawn.max()), *means, *shares])
        return heads, rows


def _small(value: float) -> str:
    return "below 0.01" if value < 0.01 else number(value)


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


# ---- the picture for a page without JavaScript: middle tones, legible on light and on dark

_text = functools.partial(text_at, size=11, places=".1f")
_WIDE, _HIGH, _LEFT, _RIGHT, _TOP, _BOTTOM = 430, 320, 40, 14, 14, 44
_MARK, _HEAD, _LINE = "#3b82c4", "#d9772b", "#8a94a0"


def _scatter(shown: NormGrowth) -> str:
    run = shown.run()
    axes = Axes.around(np.concatenate([run.norms, shown.predicted, [shown.start_norm]]), run.counts)
    head = set(popularity.head_items(run.counts, TOP).tolist())
    marks = [
        (_diamond if item in head else _dot)(axes.x(count), axes.y(norm))
        for item, (count, norm) in enumerate(zip(run.counts, run.norms, strict=True))
    ]
    return sheet(shown.summary(), _WIDE, _HIGH, axes.frame(), _predicted_line(shown, axes), *marks)


def _predicted_line(shown: NormGrowth, axes: Axes) -> str:
    run = shown.run()
    if not run.h:
        return ""
    counts = np.geomspace(1, axes.most, 41)
    predicted = norms.predicted_norm(shown.start_norm, lr=shown.lr, h=run.h, updates=counts)
    points = " ".join(f"{axes.x(n):.1f},{axes.y(norm):.1f}" for n, norm in zip(counts, predicted, strict=True))
    bend = shown.crossover
    mark = (
        f'<path d="M{axes.x(bend):.1f} {_TOP}V{_HIGH - _BOTTOM}" stroke="{_LINE}" stroke-dasharray="4 3"/>'
        if 1 <= bend <= axes.most
        else ""
    )
    return f'{mark}<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.8"/>'


@dataclass(frozen=True)
class Axes:
    """Logarithmic axes: counts from 1/2 (where 0 stands) to `most`, norms from `low` to `high`."""

    most: float
    low: float
    high: float

    @classmethod
    def around(cls, lengths: np.ndarray, counts: np.ndarray) -> Axes:
        low, high = lengths.min() / 1.15, lengths.max() * 1.15
        widen = max(1.0, math.sqrt(4 / (high / low)))  # at least a factor of 4, so that flat looks flat
        return cls(max(10.0, float(counts.max()) * 1.2), low / widen, high * widen)

    def x(self, count: float) -> float:
        return _LEFT + (math.log(max(count, 0.5) / 0.5) / math.log(self.most / 0.5)) * (_WIDE - _LEFT - _RIGHT)

    def y(self, norm: float) -> float:
        return _TOP + (math.log(self.high / norm) / math.log(self.high / self.low)) * (_HIGH - _TOP - _BOTTOM)

    def frame(self) -> str:
        bottom = _HIGH - _BOTTOM
        lines = f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDE - _RIGHT}" fill="none" stroke="{_LINE}"/>'
        across = [_text(self.x(0), bottom + 15, "0")] + [
            _text(self.x(n), bottom + 15, str(n)) for n in nice_numbers(1, self.most) if n in (1, 10, 100, 1000, 10000)
        ]
        up = [_text(_LEFT - 6, self.y(n) + 4, number(n), anchor="end") for n in nice_numbers(self.low, self.high)]
        name = _text(_LEFT + 6, _TOP + 8, "norm", anchor="start")
        names = _text((_LEFT + _WIDE) / 2, _HIGH - 8, "times drawn") + name
        return lines + "".join(across + up) + names


def nice_numbers(low: float, high: float) -> list[float]:
    """1, 2, 5 times a power of ten between two positive numbers."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [digit * 10**decade if decade >= 0 else digit / 10**-decade for decade in decades for digit in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_MARK}"/>'


def _diamond(x: float, y: float) -> str:
    return f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" fill="{_HEAD}"/>'
