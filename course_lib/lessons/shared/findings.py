"""Findings: sentences about data, each with the cases that it is said of and a difference whose sign decides.

A theorem holds or not. A sentence such as "β moves popularity more than α does" holds on some data sets, models and
seeds, and perhaps not on others. A *finding* writes down which. It stands in the `findings.py` of its lesson:

    @finding("α raises the popularity of the lists", case="model")
    def alpha_raises_popularity(models):
        return {name: Difference.paired(with_alpha, plain, over="users") for name, ... in models.items()}

and the page says: α raises the popularity of the lists ({finding}`alpha-raises-popularity`). The build puts the
*support* there, such as "4 of 6 models". A finding is claimed of all its cases, or of those that `claimed` names; where
the condition fails in a case that is claimed, the build stops. A case is judged alone, by its own 95 % interval; where
no case that holds survives Holm's correction for the number of cases, the support says so.

A finding with `rests_on` is computed from stored results, by whoever needs it; one without by the page's own cell,
`show(alpha_raises_popularity, models)`.
"""

from __future__ import annotations

import html
import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from course_lib import checking
from course_lib.lessons.shared import scalars

PREFIX = "finding-"  # of the name under which a page's own cell publishes a finding's support


class FindingError(AssertionError):
    """A finding fails where it is claimed, or rests on no case at all. The message names the finding and the cases."""


@dataclass(frozen=True)
class Difference:
    """A difference that a sentence rests on, positive where the sentence holds, with the bound on its sign.

    value: the difference (of two means, of a number and a bound, ...). half: half of its 95 % interval, 0 for a number
    without one. n: how many repetitions it is a mean of. over: what is repeated, "seeds" or "users".
    """

    value: float
    half: float = 0.0
    n: int = 1
    over: str = "seeds"

    def __post_init__(self) -> None:
        checking.real(self.value, "value")
        checking.real(self.half, "half", least=0)
        checking.whole(self.n, "n")

    @property
    def holds(self) -> bool:
        """Whether the whole interval lies above 0."""
        return bool(self.value > self.half)

    @property
    def p(self) -> float | None:
        """Student's two-sided p of no difference, read off the interval; None where there is none."""
        if not self.half or self.n < 2:
            return None
        error = self.half / stats.t.ppf(0.975, self.n - 1)
        return float(2 * stats.t.sf(abs(self.value) / error, self.n - 1))

    @classmethod
    def paired(cls, larger: ArrayLike, smaller: ArrayLike, *, over: str = "seeds") -> Difference:
        """mean(larger - smaller), each pair from the same seed (or user), with Student's 95 % interval of the mean.

        From one pair there is no interval.  Raises ValueError unless both are lists of the same length, 1 or more.
        """
        left, right = np.asarray(larger, dtype=float), np.asarray(smaller, dtype=float)
        if left.shape != right.shape or left.ndim != 1 or not left.size:
            raise ValueError(
                f"larger, smaller: got the shapes {left.shape} and {right.shape}, expected two lists of the same length"
            )
        change = left - right
        n = change.size
        half = stats.t.ppf(0.975, n - 1) * change.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
        return cls(float(change.mean()), float(half), n, over)

    @classmethod
    def above(cls, values: ArrayLike, bound: float = 0.0, *, over: str = "seeds") -> Difference:
        """mean(values) - bound, with the interval of `paired`."""
        return cls.paired(values, np.full(np.shape(values), bound), over=over)

    @classmethod
    def below(cls, values: ArrayLike, bound: float, *, over: str = "seeds") -> Difference:
        """bound - mean(values), with the interval of `paired`."""
        return cls.paired(np.full(np.shape(values), bound), values, over=over)

    def __neg__(self) -> Difference:
        """The same for the opposite sentence."""
        return replace(self, value=-self.value)

    def __str__(self) -> str:
        margin = f" ± {self.half:.2g}" if self.half else ""
        return f"{self.value:+.3g}{margin}"


@dataclass(frozen=True)
class Finding:
    """A sentence about data; see the head of this module.

    function: gives the differences; the first paragraph of its docstring tells the reader what they are. case: what one
    case is, in the singular ("model", "seed", "data set"). claimed: the cases in which the sentence is said to hold
    (None: all of them). rests_on: names of stored results, "P1-T5-laptop", which `function` is given.
    """

    function: Callable[..., Mapping[str, Difference]]
    sentence: str
    case: str
    claimed: frozenset[str] | None = None
    rests_on: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that pages use: "alpha-raises-popularity" for the function `alpha_raises_popularity`."""
        return str(self.function.__name__).replace("_", "-")

    @property
    def difference(self) -> str:
        """What the differences are, in words, "P@5 of the one minus that of the other, over seeds"."""
        return " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split()).rstrip(".")

    @property
    def lesson(self) -> str:
        """The lesson in whose folder the finding stands, "ddc"."""
        return ("." + str(self.function.__module__)).split(".")[-2].replace("_", "-")

    def evidence(self, *given: Any) -> Evidence:
        """The cases, from what the function is given; FindingError where a claimed one fails, or none is there."""
        cases = dict(self.function(*given))
        strange = sorted(name for name, case in cases.items() if not isinstance(case, Difference))
        if strange:
            raise TypeError(f"finding {self.name}: the cases {strange} are no Difference; expected one for each case")
        found = Evidence(self, cases)
        found.insist()
        return found


@dataclass(frozen=True)
class Evidence:
    """The cases of a finding, and in how many of them it holds."""

    finding: Finding
    cases: Mapping[str, Difference] = field(default_factory=dict)

    @property
    def support(self) -> str:
        """In words: "4 of 6 models, 3 seeds each", "one seed", "all 5 data sets, one seed each"."""
        total, holding = len(self.cases), sum(case.holds for case in self.cases.values())
        word = self.finding.case
        many = _plural(word)
        if total == 1:
            text = f"one {word}"
        elif holding == total:
            text = f"both {many}" if total == 2 else f"all {total} {many}"
        else:
            text = f"{holding} of {total} {many}"
        return ", ".join(filter(None, [text, self._repetitions()])) + self._after_correction()

    @property
    def corrected(self) -> dict[str, float]:
        """The p of each case that has an interval, by Holm's correction for as many comparisons as there are such."""
        found = {name: case.p for name, case in self.cases.items() if case.p is not None}
        return dict(zip(found, holm(list(found.values())), strict=True))

    def _after_correction(self) -> str:
        """ "; none after Holm's correction for 7 comparisons, least p 0.10" where that is so of the cases that hold."""
        found = self.corrected
        least = min((found[name] for name, case in self.cases.items() if case.holds and name in found), default=0.0)
        if len(found) < 2 or least < 0.05:
            return ""
        return f"; none after Holm's correction for {len(found)} comparisons, least p {least:.2f}"

    def _repetitions(self) -> str:
        """ "3 seeds each", "interval over users"; nothing where the cases are the seeds themselves."""
        kinds = Counter((case.over, case.n) for case in self.cases.values())
        over = {kind for kind, _ in kinds}
        each = " each" if len(self.cases) > 1 else ""
        if over != {"seeds"}:
            return f"one seed{each}, interval over {' and '.join(sorted(over))}"
        if self.finding.case == "seed":
            return ""
        fewest, most = min(n for _, n in kinds), max(n for _, n in kinds)
        if fewest != most:
            return f"{fewest} to {most} seeds{each}"
        return f"{most} seeds{each}" if most > 1 else f"one seed{each}"

    def insist(self) -> None:
        """FindingError unless there are cases, the claimed ones are among them, and they all hold."""
        name = f"finding {self.finding.lesson}.{self.finding.name}"
        if not self.cases:
            raise FindingError(f"{name}: rests on no case; expected at least one {self.finding.case}")
        claimed = self.finding.claimed if self.finding.claimed is not None else frozenset(self.cases)
        missing = sorted(claimed - set(self.cases))
        if missing:
            raise FindingError(f"{name}: claimed of {missing}, but its cases are {sorted(self.cases)}")
        failing = [
            f"{case} ({self.cases[case]})" for case in self.cases if case in claimed and not self.cases[case].holds
        ]
        if failing:
            raise FindingError(
                f"{name}: “{self.finding.sentence}” fails in {'; '.join(failing)}; expected a difference whose whole "
                "95 % interval is positive. Change the sentence, or name in `claimed` the cases in which it holds"
            )

    def rows(self) -> list[list[str]]:
        """[case, difference with its interval, "yes" or "no"] for each case."""
        return [[name, str(case), "yes" if case.holds else "no"] for name, case in self.cases.items()]

    def _repr_html_(self) -> str:
        heads = [self.finding.case, "difference", "holds"]
        caption = f"{self.finding.sentence}: {self.support}. The difference: {self.finding.difference}."
        table = scalars.Table(caption, heads, self.rows())
        return f"<details><summary>Evidence: {html.escape(self.support)}</summary>{table._repr_html_()}</details>"

    def __repr__(self) -> str:
        lines = [f"{name}: {difference}" for name, difference in self.cases.items()]
        return "\n".join([f"{self.finding.sentence} ({self.support})", *lines])


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's (1979) p: the k-th smallest of m times m - k + 1, at most 1, and never below that of a smaller one."""
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, dtype=float)[order] * np.arange(len(order), 0, -1)
    return [float(value) for value in np.minimum(np.maximum.accumulate(scaled), 1.0)[np.argsort(order)]]


def _plural(noun: str) -> str:
    """ "data sets", "cities", "losses", "pairs of backbone and data set"."""
    head, *rest = noun.split(" of ", 1)
    many = f"{head[:-1]}ies" if re.search(r"[^aeiou]y$", head) else f"{head}{'es' if head.endswith('s') else 's'}"
    return " of ".join([many, *rest])


def finding(
    sentence: str,
    *,
    case: str,
    cases: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    claimed: Collection[str] | None = None,
    rests_on: Iterable[str] = (),
) -> Callable[[Callable[..., Any]], Finding]:
    """Makes a finding of a function that returns {name of the case: Difference}; see `Finding` for the arguments.

    With `cases`, {name of a case: what the function is told of it, last} or what gives that from the stored results,
    the function returns the Difference of that one case, or None where there is no such case.
    """
    if isinstance(claimed, str):
        raise ValueError(f"claimed: got {claimed!r}, expected several names, such as {{{claimed!r}}}")
    if claimed is not None and not claimed:
        raise ValueError(
            "claimed: got no case, expected None for all, or the names of those in which the sentence holds"
        )

    def made(function: Callable[..., Any]) -> Finding:
        if not function.__doc__:
            raise ValueError(f"{function.__name__}: got no docstring, expected one that tells what the difference is")

        @wraps(function)
        def of_each(*given: Any) -> dict[str, Difference]:
            each = cases(*given) if callable(cases) else cases or {}
            found = {name: function(*given, told) for name, told in each.items()}
            return {name: difference for name, difference in found.items() if difference is not None}

        whole = function if cases is None else of_each
        return Finding(whole, sentence, case, None if claimed is None else frozenset(claimed), tuple(rests_on))

    return made


def by_seed(differences: Iterable[float]) -> dict[str, Difference]:
    """One case for each seed, without an interval."""
    return {f"seed {seed}": Difference(float(value)) for seed, value in enumerate(differences)}


def show(found: Finding, *given: Any) -> Evidence:
    """Computes a finding in a page's own cell, for its text; FindingError where it fails (`Finding.evidence`)."""
    evidence = found.evidence(*given)
    scalars.record_for_prose(f"{PREFIX}{found.name}", evidence.support)
    return evidence


def of_lesson(lesson: str) -> dict[str, Finding]:
    """Name -> finding, of the lesson "ddc"; none where the lesson has no `findings.py`."""
    module = f"course_lib.lessons.{lesson.replace('-', '_')}.findings"
    if find_spec(module.rpartition(".")[0]) is None or find_spec(module) is None:
        return {}
    return {thing.name: thing for thing in vars(import_module(module)).values() if isinstance(thing, Finding)}


def lesson_of(page: str) -> str:
    """The lesson of a page: "book/debiasing/ddc-lab" belongs to "ddc"."""
    return re.sub(r"-(lab|further)$", "", page.rpartition("/")[2])


def find(name: str, page: str) -> Finding:
    """The finding that a page calls `name`, or "lesson.name"; KeyError with the names that there are."""
    lesson, _, own = name.rpartition(".")
    known = of_lesson(lesson or lesson_of(page))
    if own not in known:
        raise KeyError(
            f"finding: {name!r} on {page} is none of {lesson or lesson_of(page)}: {', '.join(known) or 'none'}"
        )
    return known[own]
