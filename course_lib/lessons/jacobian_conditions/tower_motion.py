"""The interactive of the chapter on Jacobians: choose tower, optimiser and loss, and watch the embeddings move."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from course_lib.lessons.jacobian_conditions import small_towers
from course_lib.lessons.shared.widgets.base import MOST_SEED, Count, CourseWidget, Number, Word
from course_lib.lessons.shared.widgets.drawing import COLOURS, Plane, nice_reach, sheet
from course_lib.lessons.shared.widgets.words import fine, list_of, number
from course_lib.maths import geometry

TOWER_NAMES = {
    "lookup": "a lookup, q = Eᵤ",
    "one_hot": "a linear layer on one-hot inputs",
    "dense": "a linear layer on features, q = W xᵤ",
    "two_layers": "an embedding and a linear layer, q = B Eᵤ",
    "bias": "a lookup with a shared bias, q = Eᵤ + b",
    "scale": "a lookup with a shared scale, q = s Eᵤ",
}
OPTIMISER_NAMES = {
    "sgd": "SGD",
    "momentum": "SGD with momentum",
    "decay": "SGD with weight decay",
    "lazy_decay": "SGD with lazy decay",
    "row_adagrad": "row-wise Adagrad",
    "adam": "Adam",
}
LOSS_NAMES = {"infonce": "InfoNCE on cosines", "cosine_squared": "(1 − cos)²", "infonce_dot": "InfoNCE on dot products"}

# Which premise of Theorem 2.1 of P0 a choice leaves open.
REASONS = {
    "dense": "the inputs of the tower are not orthogonal",
    "two_layers": "the tower is not linear in its parameters",
    "bias": "all users share the bias",
    "scale": "the tower is not linear in its parameters",
    "momentum": "the optimiser has momentum",
    "decay": "the optimiser decays the weights",
    "lazy_decay": "the optimiser decays the weights",
    "row_adagrad": "the optimiser is not plain SGD",
    "adam": "the optimiser is not plain SGD",
    "infonce_dot": "the loss sees more than cosines",
}
NEAR = 10  # degrees on both sides of 90
NULL_SHARE = 2 * NEAR / 180  # a direction of the plane drawn uniformly is that near to 90 degrees this often
PETALS = 27  # an odd number, so that 90 degrees is in the middle of one
MOST_STEPS = 300
SMALLEST_BATCH = 4


class TowerMotion(CourseWidget):
    """A small training of 24 users in the plane, and the angle at which every embedding moved.

    tower       one of small_towers.TOWERS: "lookup", "one_hot", "dense", "two_layers", "bias", "scale"
    optimiser   one of small_towers.OPTIMISERS: "sgd", "momentum", "decay", "lazy_decay", "row_adagrad", "adam"
    loss        one of small_towers.LOSSES: "infonce", "cosine_squared", "infonce_dot"
    batch_size  pairs in a batch, 4 to 24
    lr          learning rate, 0.01 to 10
    steps       steps of training, 0 to 300
    follow      the user whose path is drawn thick, 1 to 24
    seed        of the start and of the batches

    All eight are traits: read, set and observe them. Raises ValueError for values out of range.
    """

    module_name: ClassVar[str] = "tower_motion"
    caption: ClassVar[str] = (
        "Left: the paths of all users (thin) and of one (thick), with the circle on which it started (dashed) and the "
        "one on which it is. Right: how often a move made each angle with its embedding, as the area of a petal; "
        "straight up is perpendicular, to the right is outward. Dotted half circle: directions drawn uniformly. Dashed"
        " lines: 90 ± 10 degrees. With JavaScript this picture is interactive."
    )

    tower = Word("lookup", small_towers.TOWERS)
    optimiser = Word("sgd", small_towers.OPTIMISERS)
    loss = Word("infonce", small_towers.LOSSES)
    batch_size = Count(8, SMALLEST_BATCH, small_towers.USERS)
    lr = Number(0.5, 0.01, 10)
    steps = Count(60, 0, MOST_STEPS)
    follow = Count(1, 1, small_towers.USERS)
    seed = Count(0, 0, MOST_SEED)

    # ---- what Python can ask

    def run(self) -> small_towers.Run:
        """The whole training: path, norms, losses, and the angle of every move."""
        state: dict[str, Any] = {name: value for name, value in self.state().items() if name != "follow"}
        return small_towers.train(**state)

    @property
    def reasons(self) -> list[str]:
        """The premises of Theorem 2.1 that this choice leaves open, in words; none if the theorem applies."""
        return [REASONS[name] for name in (self.tower, self.optimiser, self.loss) if name in REASONS]

    @property
    def share_near_tangent(self) -> float:
        """The share of all moves within 90 +- 10 degrees; NaN if nobody moved."""
        angles = self.run().moves[:, 2]
        return float((np.abs(angles - 90) <= NEAR).mean()) if len(angles) else math.nan

    # ---- words, picture, table

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        run = self.run()
        return " ".join(
            [self._opening(), _about_angles(run.moves[:, 2]), self._about_theorem(), _about_norms(run.norms)]
        )

    def _opening(self) -> str:
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        return (
            f"Users: {TOWER_NAMES[self.tower]}. {OPTIMISER_NAMES[self.optimiser]}, {LOSS_NAMES[self.loss]}, "
            f"batches of {self.batch_size}, learning rate {number(self.lr)}, {steps}."
        )

    def _about_theorem(self) -> str:
        if not self.reasons:
            return "Theorem 2.1 covers this choice."
        return f"Theorem 2.1 does not cover this choice: {list_of(self.reasons)}."

    def picture(self) -> str:
        return _picture(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        angles = self.run().moves[:, 2]
        shares = _shares(angles, 9)
        rows = [[f"{20 * i}° to {20 * i + 20}°", _percent(share), _percent(1 / 9)] for i, share in enumerate(shares)]
        return ["Angle of the move to q", "Share of the moves", "Uniform directions"], rows if len(angles) else []


# ---- sentences, the same as in tower_motion_text.js


def _percent(share: float) -> str:
    return f"{number(100 * share)} %"


def _about_angles(angles: np.ndarray) -> str:
    if not len(angles):
        return "Nothing has moved yet."
    count = "1 move" if len(angles) == 1 else f"{len(angles)} moves"
    worst = float(np.abs(angles - 90).max())
    if worst < 1e-3:
        return (
            f"All of {count} stood perpendicular to their embeddings, to a thousandth of a degree (uniform "
            f"directions within 90 ± {NEAR}°: {_percent(NULL_SHARE)})."
        )
    share = float((np.abs(angles - 90) <= NEAR).mean())
    return (
        f"Of {count}, {_percent(share)} stood within 90 ± {NEAR}° to their embeddings (uniform directions: "
        f"{_percent(NULL_SHARE)}); the farthest stood {fine(worst)}° away from 90°."
    )


def _about_norms(norms: np.ndarray) -> str:
    first, last = norms[0].mean(), norms[-1].mean()
    steps = len(norms) - 1
    if not steps:
        return f"The mean length is {number(first)}."
    shrank = int((np.diff(norms, axis=0) < -1e-9 * norms[:-1]).any(0).sum())
    never = (
        "No embedding ever became shorter"
        if not shrank
        else f"{shrank} of {norms.shape[1]} embeddings became shorter at some step"
    )
    return f"The mean length went from {number(first)} to {number(last)}. {never}."


def _shares(angles: np.ndarray, count: int) -> np.ndarray:
    """The share of the angles in each of `count` equal parts of 0 to 180 degrees."""
    parts = np.minimum((angles * count / 180).astype(int), count - 1)
    return np.bincount(parts, minlength=count) / max(len(angles), 1)


# ---- the picture for a page without JavaScript


def _picture(shown: TowerMotion) -> str:
    run = shown.run()
    plane = Plane(nice_reach(1.05 * float(run.norms.max())))
    followed = run.path[:, shown.follow - 1]
    paths = [
        plane.path(run.path[:, user], "line", width=0.8)
        for user in range(small_towers.USERS)
        if user != shown.follow - 1
    ]
    circles = [
        plane.circle(float(geometry.norm(followed[0])), "q", width=1.2, dash="6 4"),
        plane.circle(float(geometry.norm(followed[-1])), "q", width=1.4),
    ]
    thick = [plane.path(followed, "q", width=2.6), plane.dot(followed[-1], "q", 5)]
    left = "".join([plane.axes(), *paths, *circles, *thick])
    right = "".join(_rose(run.moves[:, 2]))
    return sheet(shown.summary(), 840, 400, left, f'<g transform="translate(430 80)">{right}</g>')


def _rose(angles: np.ndarray, radius: float = 200.0) -> list[str]:
    """Petals over a half circle of `radius`: the area of a petal is in proportion to the share of its angles."""
    centre, base = radius, radius + 20

    def place(degrees: float, length: float) -> str:
        angle = math.radians(degrees)
        return f"{centre + length * math.cos(angle):.2f} {base - length * math.sin(angle):.2f}"

    parts, shares = [], _shares(angles, PETALS)
    most = max(2 / PETALS, float(shares.max()))  # what fills the half circle
    for i, share in enumerate(shares):
        length, (low, high) = radius * math.sqrt(share / most), (180 * i / PETALS, 180 * (i + 1) / PETALS)
        if length:
            shape = f"M{centre} {base}L{place(low, length)}A{length:.2f} {length:.2f} 0 0 0 {place(high, length)}Z"
            parts.append(f'<path d="{shape}" fill="{COLOURS["push"]}"/>')
    null = radius * math.sqrt(1 / PETALS / most)
    line = f'fill="none" stroke="{COLOURS["line"]}"'
    parts.append(
        f'<path d="M{place(0, null)}A{null:.2f} {null:.2f} 0 0 0 {place(180, null)}" {line} stroke-width="1.6" '
        'stroke-dasharray="2 3"/>'
    )
    parts.append(f'<path d="M{place(0, radius)}A{radius:g} {radius:g} 0 0 0 {place(180, radius)}Z" {line}/>')
    parts += [
        f'<path d="M{centre} {base}L{place(90 + side * NEAR, radius)}" {line} stroke-dasharray="6 4"/>'
        for side in (-1, 1)
    ]
    words = [
        (8, 0, "90°, perpendicular", "middle", radius),
        (base + 18, radius, "0°, outward", "end", radius),
        (base + 18, -radius, "180°, inward", "start", radius),
    ]
    parts += [
        f'<text x="{middle + shift:g}" y="{y:g}" font-size="14" text-anchor="{anchor}" '
        f'fill="currentColor">{text}</text>'
        for y, shift, text, anchor, middle in words
    ]
    return parts
