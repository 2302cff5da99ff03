"""Findings: sentences about data, each with the cases that it is said of and a difference whose sign decides.

A theorem holds or not. A sentence such as "β moves popularity more than α does" holds on some data sets, models and
settings, and perhaps not on others. A *finding* writes down which. It stands in the `findings.py` of its lesson:

    @finding("α raises the popularity of the lists", case="model")
    def alpha_raises_popularity(models):
        return {name: Difference.paired(with_alpha, plain) for name, ... in models.items()}

and the page says: α raises the popularity of the lists ({finding}`alpha-raises-popularity`). The build puts the
*support* there, such as "4 of 6 models, 3 seeds each: +0.02 to +0.31". The rules, which the build enforces:

- A case is a data set, a model or a setting. Seeds, splits and people are never cases: they are the repetitions inside
  a case, and give its interval (Student's; wider where the repetitions are splits of the same data, `resplit`).
- The comparisons of one table are one *family*. A difference is said where its interval lies above 0 and it survives
  Holm's correction for the number of comparisons in the family; "4 of 6" counts those.
- A finding is claimed of all its cases, or of those that `claimed` names; the build stops where one of these is not
  said. With `claimed=()` the question is undecided, and the build stops where a case decides it.
- Where a bound in the sentence ("at least a quarter longer") was chosen when its numbers were known, `bound_after=True`
  says so, and with it the page of findings: the sentence describes these runs, and is no test of an expectation.

The family of a finding on stored results is all that its lesson asks of these results, unless `family` names a
narrower one: those of its findings that read the same column. The family of a finding on a page's own run is its own
cases. A finding with `rests_on` is computed from stored results, by whoever needs it; one without by the page's own
cell, `show(alpha_raises_popularity, models)`.
"""

from __future__ import annotations

import html
import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from course_lib import checking
from course_lib.lessons.shared import scalars

PREFIX = "finding-"  # of the name under which a page's own cell publishes a finding's support
LEVEL = 0.05  # of a family: the chance that one of its differences is said where none is there
# what may not be a case, nor stand with a number in the name of one
REPETITION = re.compile(r"\b(seed|split|fold|run|repetition|person|user)\b")
NUMBERED = re.compile(r"\b(seed|split|fold|run|repetition|person|user) ?\d")


class FindingError(AssertionError):
    """A finding fails where it is claimed, or breaks a rule of `findings`. The message names finding and cases."""


@dataclass(frozen=True)
class Difference:
    """A difference that a sentence rests on, positive where the sentence holds, with its interval.

    value: the difference (of two means, of a mean and a bound, ...). half: half of its 95 % interval; None for a number
    that has none. n: how many repetitions it is a mean of. over: what is repeated, "seeds", "users". df: the degrees of
    freedom behind the interval (None: n - 1). least: the least of the repetitions, where the sentence is about each of
    them. room: the number is what is left of an interval, a distance inside it; so it has none of its own.
    """

    value: float
    half: float | None = None
    n: int = 1
    over: str = "seeds"
    df: float | None = None
    least: float | None = None
    room: bool = False

    def __post_init__(self) -> None:
        checking.real(self.value, "value")
        if self.half is not None:
            checking.real(self.half, "half", least=0)
        checking.whole(self.n, "n")

    @property
    def holds(self) -> bool:
        """Whether the whole interval lies above 0 and, where the sentence is about each repetition, they all do."""
        return bool(self.value > (self.half or 0) and (self.least is None or self.least > 0))

    @property
    def p(self) -> float | None:
        """Student's two-sided p of no difference, read off the interval; None where there is none, or no spread."""
        df = self.n - 1 if self.df is None else self.df
        if not self.half or not df:
            return None
        return float(2 * stats.t.sf(abs(self.value) / self.half * stats.t.ppf(0.975, df), df))

    @property
    def lacks_interval(self) -> bool:
        """Whether it is a mean of several repetitions and hides how far they lie apart."""
        return self.n > 1 and self.half is None and not self.room

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
        half = float(stats.t.ppf(0.975, n - 1) * change.std(ddof=1) / np.sqrt(n)) if n > 1 else None
        return cls(float(change.mean()), half, n, over)

    @classmethod
    def above(cls, values: ArrayLike, bound: float = 0.0, *, over: str = "seeds") -> Difference:
        """mean(values) - bound, with the interval of `paired`."""
        return cls.paired(values, np.full(np.shape(values), bound), over=over)

    @classmethod
    def below(cls, values: ArrayLike, bound: float, *, over: str = "seeds") -> Difference:
        """bound - mean(values), with the interval of `paired`."""
        return cls.paired(np.full(np.shape(values), bound), values, over=over)

    @classmethod
    def each(cls, values: ArrayLike, bound: float = 0.0, *, over: str = "seeds") -> Difference:
        """`above`, for a sentence about each repetition: it holds where also the least of the values is above."""
        return replace(cls.above(values, bound, over=over), least=float(np.min(values)) - bound)

    def resplit(self, test_over_train: float) -> Difference:
        """The same where each repetition is another random split of one data set (Nadeau and Bengio, 2003).

        Such training parts overlap, so the repetitions are less different than n trials would be: the half width has
        sqrt(1/n + test/train) in place of sqrt(1/n).

        >>> plain = Difference.above([1.0, 2.0, 3.0])
        >>> round(plain.resplit(1 / 9).half / plain.half, 4)
        1.1547
        """
        checking.real(test_over_train, "test_over_train", least=0)
        if not self.half or self.df is not None or self.over != "seeds":
            return self
        return replace(self, half=self.half * float(np.sqrt(1 + self.n * test_over_train)))

    def __neg__(self) -> Difference:
        """The same for the opposite sentence."""
        return replace(self, value=-self.value, least=None if self.least is None else -self.least)

    def __str__(self) -> str:
        if not self.half:
            return signed(self.value)
        low, high = (signed(end, self.half) for end in (self.value - self.half, self.value + self.half))
        return f"{signed(self.value, self.half)} [{low}, {high}]"


def signed(value: float, half: float | None = None) -> str:
    """A number with its sign, to three digits, or to two digits of the half width of its interval."""
    decimals = 1 - math.floor(math.log10(half)) if half else 99
    text = f"{value:+.{max(decimals, 0)}f}" if decimals < 5 else f"{value:+.3g}"
    return text.replace("-", "−")


@dataclass(frozen=True)
class Finding:
    """A sentence about data; see the head of this module.

    function: gives the differences; the first paragraph of its docstring tells the reader what they are. case: what one
    case is, in the singular ("model", "data set"). claimed: the cases in which the sentence is said to hold (None: all
    of them; none: undecided). rests_on: names of stored results, "P1-T5-laptop", which `function` is given. family: of
    the comparisons that are corrected together. splits: where each seed has another random split of one data set, the
    pairs tested over the pairs trained on (`Difference.resplit`). bound_after: a bound in the sentence was chosen after
    the runs.
    """

    function: Callable[..., Mapping[str, Difference]]
    sentence: str
    case: str
    claimed: frozenset[str] | None = None
    rests_on: tuple[str, ...] = ()
    family: str = ""
    splits: float = 0.0
    bound_after: bool = False

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

    @property
    def relatives(self) -> list[Finding]:
        """The findings of its family, this one among them."""
        others = of_lesson(self.lesson).values() if self.rests_on else []
        return [self] + [
            other
            for other in others
            if (other.rests_on, other.family) == (self.rests_on, self.family) and other.name != self.name
        ]

    def cases(self, *given: Any) -> dict[str, Difference]:
        """The differences, from what the function is given."""
        cases = dict(self.function(*given))
        strange = sorted(name for name, case in cases.items() if not isinstance(case, Difference))
        if strange:
            raise TypeError(f"finding {self.name}: the cases {strange} are no Difference; expected one for each case")
        return {name: case.resplit(self.splits) for name, case in cases.items()}

    def evidence(self, *given: Any) -> Evidence:
        """The cases, from what the function is given; FindingError where a claimed one fails, or a rule is broken."""
        family = (case for other in self.relatives[1:] for case in other.cases(*given).values())
        return self.judged(self.cases(*given), family)

    def judged(self, cases: Mapping[str, Difference], family: Iterable[Difference] = ()) -> Evidence:
        """The evidence of known cases, beside the other comparisons of their family; FindingError as `evidence`."""
        found = Evidence(self, cases, tuple(family))
        found.insist()
        return found


@dataclass(frozen=True)
class Evidence:
    """The cases of a finding, and in how many of them it is said. family: the comparisons of other findings in it."""

    finding: Finding
    cases: Mapping[str, Difference] = field(default_factory=dict)
    family: tuple[Difference, ...] = ()

    @property
    def support(self) -> str:
        """In words: "4 of 6 models, 3 seeds each: +0.1 to +0.3", "one data set, 3 seeds: +0.04 [+0.01, +0.07]"."""
        total, word = len(self.cases), self.finding.case
        many = _plural(word)
        if total == 1:
            text = f"one {word}"
        elif len(self.said) == total or not self.said:
            text = f"both {many}" if total == 2 else f"all {total} {many}"
        else:
            text = f"{len(self.said)} of {total} {many}"
        effect = self._effect()
        text = ", ".join([text, self._repetitions()]) + (f": {effect}" if effect else "")
        if self.said:
            return text
        against = len(replace(self, cases={name: -case for name, case in self.cases.items()}).said)
        return f"{against} of {total} the other way, {text}" if against else f"undecided in {text}"

    @cached_property
    def said(self) -> list[str]:
        """The cases that hold and survive the correction; one with neither interval nor spread has nothing to survive.

        Its number is one run's, and the support says so.
        """
        p = self.corrected
        return [name for name, case in self.cases.items() if case.holds and p.get(name, 0) < LEVEL]

    @property
    def comparisons(self) -> int:
        """How many different comparisons the family has that have an interval; turned round, one is the same."""
        return len({*self._distinct(self.cases.values()), *self._distinct(self.family)})

    @cached_property
    def corrected(self) -> dict[str, float]:
        """The p of each case that has an interval, by Holm's correction for the comparisons of the family."""
        distinct = self._distinct(self.cases.values()) | self._distinct(self.family)
        found = dict(zip(distinct, holm(list(distinct.values())), strict=True))
        return {name: found[_key(case)] for name, case in self.cases.items() if case.p is not None}

    @staticmethod
    def _distinct(cases: Iterable[Difference]) -> dict[tuple[float, float | None, int], float]:
        return {_key(case): case.p for case in cases if case.p is not None}

    def _effect(self) -> str:
        """The one difference with its interval, or the range of those that are said (of all, where none is).

        Nothing where they are only distances from a bound that every repetition keeps, or from the end of an interval.
        """
        chosen = [self.cases[name] for name in self.said or self.cases]
        if any(case.room or case.least is not None for case in chosen):
            return ""
        if len(self.cases) == 1:
            return str(chosen[0])
        low, high = (signed(pick(case.value for case in chosen)) for pick in (min, max))
        return low if low == high else f"{low} to {high}"

    def _repetitions(self) -> str:
        """ "3 seeds each", "one seed each, interval over users"."""
        over = {case.over for case in self.cases.values()}
        counts = [case.n for case in self.cases.values()]
        each = " each" if len(self.cases) > 1 else ""
        if over != {"seeds"}:
            kinds = " and ".join(sorted(over))
            alone = "" if any("seeds" in kind for kind in over) else f"one seed{each}, "
            return f"{alone}interval over {kinds}" if max(counts) > 1 else f"{kinds}{each}"
        fewest, most = min(counts), max(counts)
        if most > 1 and all(case.least is not None for case in self.cases.values()):
            return f"in each of {fewest if fewest == most else f'{fewest} to {most}'} seeds"
        if fewest != most:
            return f"{fewest} to {most} seeds{each}"
        return f"{most} seeds{each}" if most > 1 else f"one seed{each}"

    def insist(self) -> None:
        """FindingError unless the rules at the head of this module are kept and all claimed cases are said."""
        name = f"finding {self.finding.lesson}.{self.finding.name}"
        if not self.cases:
            raise FindingError(f"{name}: rests on no case; expected at least one {self.finding.case}")
        told = (
            [self.finding.case] if REPETITION.search(self.finding.case) else list(filter(NUMBERED.search, self.cases))
        )
        if told:
            raise FindingError(
                f"{name}: has a case {told[0]!r}, but seeds, splits and people are repetitions inside a case; expected "
                "a data set, a model or a setting, with `Difference.paired`, `above` or `each` over its repetitions"
            )
        if bare := [case for case, found in self.cases.items() if found.lacks_interval]:
            raise FindingError(
                f"{name}: {bare} have several repetitions and no interval; expected `Difference.paired`, `above` or "
                "`each` of one number a repetition"
            )
        claimed = self.finding.claimed if self.finding.claimed is not None else frozenset(self.cases)
        if missing := sorted(claimed - set(self.cases)):
            raise FindingError(f"{name}: claimed of {missing}, but its cases are {sorted(self.cases)}")
        if not claimed and self.said:
            raise FindingError(f"{name}: is called undecided, but {self.said} decide it; expected them in `claimed`")
        if failing := [f"{case} ({self._why(case)})" for case in self.cases if case in claimed - set(self.said)]:
            raise FindingError(
                f"{name}: “{self.finding.sentence}” fails in {'; '.join(failing)}; expected a difference whose whole "
                "95 % interval is positive, also after Holm's correction for its family. Change the sentence, or name "
                "in `claimed` the cases in which it holds; `claimed=()` calls it undecided"
            )

    def _why(self, case: str) -> str:
        p, found = self.corrected.get(case), self.cases[case]
        if p is None or not found.holds:
            return str(found)
        return f"{found}, p {p:.2g} after Holm's correction for {self.comparisons} comparisons"

    def rows(self) -> list[list[str]]:
        """[case, difference with its interval, p after the correction, "yes" or "no"] for each case."""
        p = self.corrected
        return [
            [name, str(case), f"{p[name]:.2g}" if name in p else "–", "yes" if name in self.said else "no"]
            for name, case in self.cases.items()
        ]

    @property
    def heads(self) -> list[str]:
        """The heads of `rows`: effect and interval first, verdict last."""
        family = f"p, Holm over {self.comparisons}" if self.comparisons else "p"
        return [self.finding.case, "difference [95 % interval]", family, "said"]

    def _repr_html_(self) -> str:
        caption = f"{self.finding.sentence}: {self.support}. The difference: {self.finding.difference}."
        table = scalars.Table(caption, self.heads, self.rows())
        return f"<details><summary>Evidence: {html.escape(self.support)}</summary>{table._repr_html_()}</details>"

    def __repr__(self) -> str:
        lines = [f"{name}: {difference}" for name, difference in self.cases.items()]
        return "\n".join([f"{self.finding.sentence} ({self.support})", *lines])


def _key(case: Difference) -> tuple[float, float | None, int]:
    """What two comparisons share that are one, perhaps turned round."""
    return abs(case.value), case.half, case.n


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
    cases: str | Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    claimed: Collection[str] | None = None,
    rests_on: Iterable[str] = (),
    family: str = "",
    splits: float = 0.0,
    bound_after: bool = False,
) -> Callable[[Callable[..., Any]], Finding]:
    """Makes a finding of a function that returns {name of the case: Difference}; see `Finding` for the arguments.

    With `cases`, the name of the only case, the function returns its Difference. With {name of a case: what the
    function is told of it, last}, or what gives that from the stored results, it returns the Difference of that one
    case, or None where there is no such case.
    """
    if isinstance(claimed, str):
        raise ValueError(f"claimed: got {claimed!r}, expected several names, such as {{{claimed!r}}}")

    def made(function: Callable[..., Any]) -> Finding:
        if not function.__doc__:
            raise ValueError(f"{function.__name__}: got no docstring, expected one that tells what the difference is")

        @wraps(function)
        def of_each(*given: Any) -> dict[str, Difference]:
            if isinstance(cases, str):
                return {cases: function(*given)}
            each = cases(*given) if callable(cases) else cases or {}
            found = {name: function(*given, told) for name, told in each.items()}
            return {name: difference for name, difference in found.items() if difference is not None}

        whole = function if cases is None else of_each
        said = None if claimed is None else frozenset(claimed)
        return Finding(whole, sentence, case, said, tuple(rests_on), family, splits, bound_after)

    return made


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
