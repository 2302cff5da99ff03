"""The interactive of the chapter on cosine gradients: drag q and k, look at the gradient, take steps."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.lessons.shared.widgets import motion
from course_lib.lessons.shared.widgets.base import Count, CourseWidget, Number, Word
from course_lib.lessons.shared.widgets.drawing import Plane, nice_reach
from course_lib.lessons.shared.widgets.words import fine, number
from course_lib.maths import geometry

LOSS_NAMES = {
    "cosine": "1 − cos(q, k)",
    "cosine_squared": "(1 − cos(q, k))²",
    "infonce": "InfoNCE on cosines",
    "dot": "minus the dot product",
    "infonce_dot": "InfoNCE on dot products",
}
MOST_STEPS = 500
MOST_NEGATIVES = 3


class CosineMotion(CourseWidget):
    """A vector q in the plane, its positive k, its negatives, and the steps of gradient descent on q.

    q, k        pairs of numbers; the cosine needs both to be nonzero
    negatives   up to three more pairs; they count for the two InfoNCE losses
    loss        "cosine" (1 - cos), "cosine_squared", "infonce", "dot" (minus the dot product), "infonce_dot"
    lr          learning rate, 0.01 to 100
    tau         temperature of the InfoNCE losses, 0.01 to 100
    steps       how many steps q has taken from where it starts, 0 to 500

    All seven are traits: read, set and observe them. k and the negatives stay where they are; only q moves.
    Raises ValueError for values out of range.
    """

    module_name: ClassVar[str] = "cosine_motion"
    caption: ClassVar[str] = (
        "Arrows from the centre: q (thick), its positive k, and negatives, which end in a bar. The arrow at the tip of"
        " q is the next step of gradient descent; a small square marks a right angle. Solid circle: as long as q. "
        "Dashed circle: as long as q after the step. Dots: where q has been. With JavaScript this picture is "
        "interactive."
    )

    q = traitlets.List(traitlets.Float(), [1.2, 0.3]).tag(sync=True, state=True)
    k = traitlets.List(traitlets.Float(), [0.5, 1.6]).tag(sync=True, state=True)
    negatives = traitlets.List(traitlets.List(traitlets.Float()), [[1.5, -0.8]]).tag(sync=True, state=True)
    loss = Word("cosine", motion.LOSSES)
    lr = Number(1.0, 0.01, 100)
    tau = Number(0.5, 0.01, 100)
    steps = Count(0, 0, MOST_STEPS)

    # ---- what Python can ask

    @property
    def candidates(self) -> np.ndarray:
        """The positive and then the negatives that the loss uses: (r, 2)."""
        used = self.negatives if motion.LOSSES[self.loss].many else []
        return np.array([self.k, *used], dtype=float)

    @property
    def trace(self) -> np.ndarray:
        """Where q has been: (steps + 1, 2); shorter where q became zero or ran away."""
        if self._undefined():
            return np.array([self.q])
        return motion.descend(self.loss, np.array(self.q), self.candidates, lr=self.lr, tau=self.tau, steps=self.steps)

    @property
    def step(self) -> dict[str, Any]:
        """The next step: loss, gradient, step (2,), norms before and after, angle to q in degrees (None at rest)."""
        here = self.trace[-1]
        loss, gradient, scores = motion.loss_and_gradient(self.loss, here, self.candidates, self.tau)
        step = -self.lr * gradient
        before, size = float(geometry.norm(here)), float(geometry.norm(gradient))
        rest = before * size < motion.AT_REST
        return {
            "here": here,
            "loss": loss,
            "scores": scores,
            "gradient": gradient,
            "step": step,
            "before": before,
            "after": float(geometry.norm(here + step)),
            "size": size,
            "angle": None if rest else float(geometry.angle_degrees(here, step)),
            "radial": float(gradient @ here) / before,
        }

    # ---- words, picture, table

    def problem(self) -> str | None:
        """Why there is no step to compute, or None."""
        trouble = self._undefined()
        if trouble:
            return trouble
        trace = self.trace
        if not trace[-1].any():
            return (
                f"After {len(trace) - 1} steps q is the zero vector. It has no direction, so its cosine is not "
                "defined. Start over."
            )
        return None

    def _undefined(self) -> str | None:
        """Which of the vectors has no direction, or None."""
        names = ["q", "k", *(f"negative {i + 1}" for i in range(len(self.negatives)))]
        for name, point in zip(names, [self.q, self.k, *self.negatives], strict=True):
            if not any(point):
                return (
                    f"{name} is the zero vector. It has no direction, so its cosine with anything is not defined. "
                    "Move it."
                )
        return None

    def summary(self) -> str:
        """The text equivalent, word for word what the page says."""
        trouble = self.problem()
        if trouble:
            return trouble
        step, lengths = self.step, geometry.norm(self.trace)
        return " ".join(
            filter(None, [self._opening(step), _about_gradient(step), _about_step(step), _about_trace(lengths)])
        )

    def _opening(self, step: dict[str, Any]) -> str:
        many, plain = motion.LOSSES[self.loss].many, motion.LOSSES[self.loss].plain
        score = f"{'⟨q, k⟩' if plain else 'cos(q, k)'} = {number(step['scores'][0])}"
        count = len(self.candidates) - 1
        negatives = f", {count} negative{'' if count == 1 else 's'}, τ = {number(self.tau)}" if many else ""
        return (
            f"Loss: {LOSS_NAMES[self.loss]}{negatives}, learning rate {number(self.lr)}. {score}, loss "
            f"{fine(step['loss'])}."
        )

    def picture(self) -> str:
        return _picture(self)

    def table(self) -> tuple[list[str], list[list[str]]]:
        heads = ["Step", "q", "Length of q", "cos(q, k)", "Loss", "Length of the gradient", "Angle of the step to q"]
        if self.problem():
            return heads, []
        rows = []
        for t, point in enumerate(self.trace):
            loss, gradient, _ = motion.loss_and_gradient(self.loss, point, self.candidates, self.tau)
            length, size = geometry.norm(point), geometry.norm(gradient)
            angle = (
                "at rest" if length * size < motion.AT_REST else f"{number(geometry.angle_degrees(point, -gradient))}°"
            )
            where = f"({number(point[0])}, {number(point[1])})"
            cos = number(geometry.cosine(point, self.candidates[0]))
            rows.append([str(t), where, number(length), cos, fine(loss), fine(size), angle])
        return heads, rows

    # ---- values that make sense

    @traitlets.validate("q", "k")
    def _valid_point(self, proposal: dict[str, Any]) -> list[float]:
        return _point(proposal["value"], proposal["trait"].name)

    @traitlets.validate("negatives")
    def _valid_negatives(self, proposal: dict[str, Any]) -> list[list[float]]:
        if len(proposal["value"]) > MOST_NEGATIVES:
            raise ValueError(f"negatives has {len(proposal['value'])} points; expected at most {MOST_NEGATIVES}")
        return [_point(point, "negatives") for point in proposal["value"]]


def _point(point: Any, name: str) -> list[float]:
    """Two finite numbers as plain floats."""
    values = [float(value) for value in point]
    if len(values) != 2 or not all(map(math.isfinite, values)):
        raise ValueError(f"{name} has the point {values}; expected two finite numbers, x and y")
    return values


# ---- sentences, the same as in cosine_motion_text.js


def _is_perpendicular(step: dict[str, Any]) -> bool:
    return step["angle"] is not None and abs(step["radial"]) < motion.PERPENDICULAR * step["size"]


def _about_gradient(step: dict[str, Any]) -> str:
    if step["angle"] is None:
        return "The gradient is zero: q rests."
    size = f"The gradient has length {fine(step['size'])}"
    if _is_perpendicular(step):
        return f"{size} and is perpendicular to q, so the step starts along the circle on which q lies."
    way = "outward" if step["radial"] < 0 else "inward"
    return f"{size}. The step leaves at {number(step['angle'])}° to q, not at a right angle: it points {way}."


def _about_step(step: dict[str, Any]) -> str:
    if step["angle"] is None:
        return ""
    before, after, move = step["before"], step["after"], math.hypot(*step["step"])
    change = (
        f"The next step takes the length of q from {number(before)} to {number(after)} ({_percent(after / before - 1)})"
    )
    if _is_perpendicular(step):
        return f"{change}, as Pythagoras says: √({number(before)}² + {fine(move)}²)."
    return f"{change}. A step as long and perpendicular would give {number(math.hypot(before, move))}."


def _about_trace(lengths: np.ndarray) -> str:
    taken = len(lengths) - 1
    if not taken:
        return ""
    shrank = int((np.diff(lengths) < -1e-12 * lengths[:-1]).sum())
    never = "It never became shorter" if shrank == 0 else f"It became shorter in {shrank} of them"
    return (
        f"After {taken} step{'' if taken == 1 else 's'} the length went from {number(lengths[0])} to "
        f"{number(lengths[-1])}. {never}."
    )


def _percent(change: float) -> str:
    if abs(change) < 5e-5:
        return "less than 0.01 %"
    return f"{'+' if change > 0 else ''}{number(100 * change)} %"


# ---- the picture for a page without JavaScript


def _picture(shown: CosineMotion) -> str:
    many = motion.LOSSES[shown.loss].many
    negatives = [np.array(point) for point in shown.negatives] if many else []
    k, trace = np.array(shown.k), shown.trace
    here = trace[-1]
    after = here if shown.problem() else here + shown.step["step"]
    plane = Plane(nice_reach(1.12 * max(float(geometry.norm(np.array(p))) for p in [*trace, after, k, *negatives])))
    parts = [plane.axes()]
    if not shown.problem():
        if len(trace) > 1:
            parts.append(plane.circle(float(geometry.norm(trace[0])), "line", width=1, dash="1 4"))
        parts += [
            plane.circle(shown.step["before"], "line", width=1.5),
            plane.circle(shown.step["after"], "line", width=1.5, dash="6 4"),
        ]
    parts += [plane.dot(point, "q", 2.2) for point in trace[:-1]]
    parts += [plane.arrow((0, 0), point, "push", width=2, bar=True) for point in negatives]
    parts += [plane.arrow((0, 0), k, "pull", width=2), plane.arrow((0, 0), here, "q", width=3.5)]
    parts += [plane.label(point, f"n{i + 1}") for i, point in enumerate(negatives)]
    parts += [plane.label(k, "k"), plane.label(here, "q")]
    if not shown.problem() and shown.step["angle"] is not None:
        parts.append(plane.arrow(here, after, "push", width=2.5))
        if _is_perpendicular(shown.step):
            parts.append(plane.right_angle(here, shown.step["step"]))
    return plane.svg(shown.summary(), parts)
