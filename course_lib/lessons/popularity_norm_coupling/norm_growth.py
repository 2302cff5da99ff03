"""The interactive of the chapter on popularity and norms: a small training, and how long item embeddings get."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from course_lib import geometry, losses
from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, Number
from course_lib.lessons.shared.widgets.chance import BELL, bells, uniforms
from course_lib.lessons.shared.widgets.paper import WrittenOnce

# The world of the interactive, the same as WORLD in norm_growth_math.js.
ITEMS, USERS, TASTES, WIDTH, BATCH, STEPS, EVERY, LOYAL, LIST, TOP = 120, 300, 6, 8, 12, 800, 20, 0.8, 10, 0.1


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
    user who takes it has the same taste in 80 % of the draws and is any user else. Batches of 12 draws. The tables
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


class NormGrowth(WrittenOnce):
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
        "One mark for each item: its norm against the number of times it was drawn, both on logarithmic axes. "
        "Diamonds: the most popular tenth of the items. Line: the quartic law with one mean gradient for all, flat "
        "below n* (dashed), slope 1/4 above. With JavaScript this picture is interactive."
    )

    lr = Number(0.5, 0.001, 1000)
    start_norm = Number(1.0, 0.05, 50)
    tau = Number(0.1, 0.02, 5)
    exponent = Number(1.0, 0, 3)
    step = Count(STEPS, 0, STEPS, unit=EVERY)
    seed = Count(0, 0, MOST_SEED)

    def run(self) -> Run:
        """The training run behind the picture, up to `step`."""
        settings = {"lr": self.lr, "start_norm": self.start_norm, "tau": self.tau, "exponent": self.exponent}
        return train(**settings, seed=self.seed, steps=self.step)
