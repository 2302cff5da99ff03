"""A verdict, its picture, and the catalogue of the questions: id, chapter, and the theorem behind each."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from course_lib import checking

Answer = Literal["fault", "noted", "fine", "cannot tell"]  # noted: so it is, and no fault by itself
ANSWERS: tuple[Answer, ...] = ("fault", "noted", "fine", "cannot tell")
Number = float | int | None


@dataclass(frozen=True)
class Question:
    """One question of the audit: its title, the page of the book on it, and the label of the theorem behind it."""

    title: str
    chapter: str
    theorem: str


CATALOGUE: dict[str, Question] = {
    "mismatched-rows": Question("Do the rows belong to the pairs?", "geometry/gauge-freedom", "prop-gauge-freedom"),
    "popularity-lengths": Question(
        "Do lengths follow popularity?", "geometry/popularity-norm-coupling-further", "thm-coupling-corrected"
    ),
    "popularity-direction": Question(
        "Is there a direction of popularity?", "debiasing/popularity-direction-further", "prop-double-dipping"
    ),
    "shifted-centre": Question(
        "Where is the centre of the items?", "debiasing/popularity-direction-further", "thm-bpr-conservation"
    ),
    "free-gauge": Question("Does cosine mean anything?", "geometry/gauge-freedom", "prop-cosine-gauge"),
    "in-batch-bias": Question("What did the batches optimise?", "sampling/in-batch-bias", "thm-in-batch-expectation"),
    "collapsed-rank": Question("Are all dimensions used?", "sampling/gramian-estimators", "thm-gramian-form"),
    "duplicated-rows": Question("Are there equal rows?", "geometry/gauge-freedom-further", "thm-linear-gauge"),
    "dead-rows": Question("Are there rows without a direction?", "geometry/cosine-orthogonality-further", "prop-clamp"),
    "hubs": Question("Are some items everybody's neighbour?", "geometry/gauge-freedom-further", "cor-neighbours"),
    "leaked-test-pairs": Question("Are held-out pairs held out?", "sampling/in-batch-bias", "def-pair-popularity"),
    "ddc-gain": Question("Would a correction of each user help?", "debiasing/ddc-further", "thm-ddc-minimiser"),
}


CHANGES: dict[str, Question] = {  # of two snapshots
    "neighbours-changed": Question(
        "Are items still near the same items?", "geometry/gauge-freedom-further", "cor-neighbours"
    ),
    "lists-changed": Question("Do users still get the same items?", "geometry/gauge-freedom", "prop-gauge-freedom"),
    "lengths-drifted": Question(
        "Did the lengths drift?", "geometry/popularity-norm-coupling-further", "thm-coupling-corrected"
    ),
    "centre-moved": Question("Did the centre move?", "debiasing/popularity-direction-further", "thm-bpr-conservation"),
    "quality-dropped": Question("Are held-out pairs ranked as well?", "geometry/gauge-freedom", "prop-gauge-freedom"),
    "new-faults": Question("Does the audit find new faults?", "geometry/gauge-freedom", "prop-cosine-gauge"),
}
FURTHER: dict[str, Question] = {  # what is described, and never a fault
    "exposure": Question("Which items do the lists show?", "practice/negatives", "thm-which-slot"),
    "calibration": Question("Are the scores log probabilities?", "practice/negatives", "thm-which-slot"),
    "temperature": Question("What can the temperature express?", "practice/negatives", "prop-temperature-floor"),
    "time": Question("Are the held-out pairs later?", "practice/negatives", "prop-batches-in-time"),
    "index": Question("What does an index lose?", "practice/serving", "prop-one-more-coordinate"),
}
QUESTIONS = CATALOGUE | CHANGES | FURTHER
OF_TRIPLES = Question(  # in-batch-bias, of a loss of triples
    "What did the negatives do?", "debiasing/popularity-direction-further", "prop-laws-of-negatives"
)


@dataclass(frozen=True)
class Picture:
    """One drawing and its numbers. kind: "line" or "points".

    x, y: what stands on the axes, with units; columns: {name: values}, the first is on the x axis, every other is a
    series of which a drawing shows the first two; log_x: a logarithmic x axis.
    """

    title: str
    kind: Literal["line", "points"]
    x: str
    y: str
    columns: Mapping[str, Sequence[Any]]
    log_x: bool = False


@dataclass(frozen=True)
class Verdict:
    """The answer to one question: "fault", "noted", "fine" or "cannot tell", never without its support.

    support: what was measured, in a sentence; figures: the numbers; advice: what to do about it; pictures: drawings;
    asked: the question, where it is another than that of QUESTIONS.
    """

    id: str
    verdict: Answer
    support: str
    figures: dict[str, Number] = field(default_factory=dict)
    advice: str = ""
    pictures: tuple[Picture, ...] = ()
    asked: Question | None = None

    def __post_init__(self) -> None:
        checking.choice(self.id, "id", QUESTIONS)
        checking.choice(self.verdict, "verdict", ANSWERS)
        if not self.support:
            raise ValueError(f"the verdict on {self.id} has no support; expected a sentence")

    @property
    def question(self) -> Question:
        """What it answers: `asked`, or its entry of QUESTIONS."""
        return self.asked or QUESTIONS[self.id]

    @property
    def lead(self) -> str:
        """The first sentence of the support."""
        return re.split(r"(?<=[.?!]) (?=[A-Z])", self.support, maxsplit=1)[0]

    def text(self, width: int = 76) -> str:
        """Id, answer, support and advice, wrapped."""
        said = f"{self.id}: {self.verdict.upper()}. {self.support} {self.advice}".strip()
        return wrapped(said, width)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "id": self.id,
            "title": self.question.title,
            "chapter": self.question.chapter,
            "verdict": self.verdict,
            "support": self.support,
            "figures": self.figures,
            "advice": self.advice,
            "theorem": self.question.theorem,
        }


def wrapped(text: str, width: int, indent: str = "  ") -> str:
    """The text in lines, the second and all further ones indented; no word is broken at its hyphen."""
    return textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)


def cannot_tell(
    name: str,
    why: str,
    needed: str,
    figures: dict[str, Number] | None = None,
    pictures: tuple[Picture, ...] = (),
    asked: Question | None = None,
) -> Verdict:
    """The verdict where something is missing. needed: what would settle it; pictures, asked: as in `Verdict`."""
    return Verdict(name, "cannot tell", why, figures or {}, needed, pictures, asked)


def percent(share: float | None) -> str:
    """A share in words: with a digit more below a tenth."""
    if share is None:
        return "unknown"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def counted(verdicts: Sequence[Verdict]) -> str:
    """How many there are of each answer: "2 faults, 1 noted, 9 fine, 0 cannot tell"; "noted" where there is one."""
    answers = [verdict.verdict for verdict in verdicts]
    shown = [(answers.count(answer), answer) for answer in ANSWERS if answer != "noted" or answer in answers]
    return ", ".join(f"{n} {answer}{'s' * (answer == 'fault' and n != 1)}" for n, answer in shown)


def decided(
    name: str, fault: bool, support: str, figures: dict[str, Number], advice: str, *pictures: Picture
) -> Verdict:
    """A fault with its advice, or fine."""
    return Verdict(name, judged(fault), support, figures, advice if fault else "", pictures)


def judged(fault: bool) -> Answer:
    """ "fault" or "fine"."""
    return "fault" if fault else "fine"
