"""What to do next, and the one sentence above it, from the verdicts and the measurements alone.

First, by gain, stands what was measured on held-out pairs: a remedy that helps and stays personal
(`remedies.Effect.advisable`), and a list of hits that ranks above the tables. Then stand the repairs of faults: none of
them was measured there, and each says what was not. Each action has a card on the book's page on decisions, and two
lines of code, whose names `named` explains.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.audit.questions.belonging import NAME as ROWS
from course_lib.audit.questions.scores import HARDLY
from course_lib.audit.questions.searched import NAME as INDEX
from course_lib.audit.remedies import (
    BACK,
    CENTRE,
    CORRECTION,
    DIVIDE,
    KEPT,
    LATELY,
    LOGQ,
    NORMALISE,
    PERSONAL,
    POPULAR,
    RANDOM,
    RECENT,
    RECENT_HITS,
    SURE,
    WORDS,
    Effect,
)
from course_lib.audit.verdicts import OF_TRIPLES, Verdict, percent
from course_lib.hits import FLOOR

MOST, MOST_REMEDIES = 5, 3  # actions of a report, and remedies among them: each is another way to serve one model
RULE = (
    f"A remedy is advised where it lifts NDCG on held-out pairs by {SURE:g} standard errors and the lists stay "
    f"personal: less than {100 * PERSONAL:.0f} % of a list are most popular items (or recent hits, where these are "
    f"added), and the lists together show at least {100 * KEPT:.0f} % of the items that they showed."
)
MODULES = ("gauge", "geometry", "hits", "index", "losses", "metrics")  # of course_lib
STORED = json.loads(Path(__file__).with_name("repairs.json").read_text(encoding="utf-8"))
NAMES: dict[str, str] = STORED["names"]  # what else the lines of code use; each after those that use it
UNMEASURED = "Repairs, not measured on held-out pairs"  # the heading above them
DOING = {  # a remedy as the subject of a sentence
    BACK: "Multiplying the scores by popularity",
    LOGQ: "Serving with logQ",
    NORMALISE: "Normalising the items",
    DIVIDE: "Dividing the items by the fourth root of their counts",
    CENTRE: "Centring and normalising the items",
    CORRECTION: "DDC",
    RECENT_HITS: "Adding recent hits when serving",
}
ORDER = ("in-batch-bias", "temperature", INDEX)  # of repairs: what they mend was measured, is a bound, or is recall
HITS = {POPULAR: "the most popular items", LATELY: "the items that were popular lately"}
DECISIONS = {
    BACK: "logq",
    LOGQ: "logq",
    RECENT_HITS: "logq",
    NORMALISE: "normalise",
    CENTRE: "normalise",
    DIVIDE: "popularity",
}
OTHER_DECISION = "popularity"  # of a shift of all users, and of DDC


@dataclass(frozen=True)
class Action:
    """One thing to do. why: what was measured; decision: the name of its card; code: two lines of Python.

    gain: of NDCG on held-out pairs, against that of the tables, or None where it was not measured; of: the remedy, the
    list that ranks better, or the id of the verdict; unmeasured: the sentence on what was not measured, "" with a gain.
    """

    title: str
    why: str
    decision: str
    code: tuple[str, str]
    gain: float | None
    of: str
    unmeasured: str = ""

    @property
    def said(self) -> str:
        """What was measured, and what was not."""
        return f"{self.why} {self.unmeasured}".strip()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        finite = self.gain is not None and math.isfinite(self.gain)
        return asdict(self) | {"code": list(self.code), "gain": self.gain if finite else None}


def actions(
    verdicts: Sequence[Verdict],
    effects: Sequence[Effect],
    baselines: Sequence[Effect],
    *,
    k: int,
    temperature: float | None = None,
) -> list[Action]:
    """All actions: what was measured on held-out pairs by its gain, then the repairs of faults, by ORDER."""
    measured = sorted([*_advised(effects), *_ahead(baselines)[:1]], key=lambda effect: -effect.gain)
    served = [False, *(effect.remedy not in HITS for effect in measured)]  # of each, and of the one above it
    of_each = [
        _of_remedy(effect, k, temperature, above) if own else _of_hits(effect, k)
        for effect, above, own in zip(measured, served, served[1:], strict=False)
    ]
    repairs = [*_of_index(verdicts), *_repairs(verdicts, effects)]
    repairs.sort(key=lambda action: ORDER.index(action.of) if action.of in ORDER else len(ORDER))
    return [*of_each, *repairs]


def numbered(found: Sequence[Action]) -> Iterator[tuple[int, str, Action]]:
    """(number from 1, the heading above it or "", action)."""
    for at, action in enumerate(found):
        first = action.unmeasured and not any(each.unmeasured for each in found[:at])
        yield at + 1, UNMEASURED if first else "", action


def named(found: Sequence[Action]) -> str:
    """The sentence on what the names in the code of these actions are."""
    trees = [ast.walk(ast.parse("\n".join(action.code))) for action in found]
    used = {each.id for tree in trees for each in tree if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    said = []
    for name in NAMES:
        if name in used:
            said.append(f"{name} is {NAMES[name]}")
            used.add(NAMES[name].partition(".")[0])  # what the explanation itself uses
    modules = [name for name in MODULES if name in used]
    return f"In the code, {'; '.join([*said, *(f'{name} is course_lib.{name}' for name in modules)])}."


def headline(verdicts: Sequence[Verdict], effects: Sequence[Effect], baselines: Sequence[Effect], *, k: int) -> str:
    """The report in one sentence: a list of hits that ranks better comes before every gain; a second one on chance."""
    rows = next(verdict for verdict in verdicts if verdict.id == ROWS)
    if rows.verdict == "fault":
        return "The rows of these tables do not belong to the pairs, and nothing else can be judged."
    number = len([*_repairs(verdicts, effects)])
    faults = [verdict.id for verdict in verdicts if verdict.verdict == "fault"]
    repairs = f"{len(faults)} fault{'s' * (len(faults) != 1)}: {', '.join(faults)}" if faults else "nothing to repair"
    repairs = f"{number} thing{'s' * (number != 1)} to repair" if number else repairs
    best, ahead = next(iter(_advised(effects)), None), _ahead(baselines)
    if rows.verdict == "cannot tell" and rows.figures:
        said = "Whether the rows belong to the pairs cannot be told, so no other number means much"
        said += f". {_beaten(ahead[0], None, k)}" if ahead else ""
    elif not baselines:
        said = "How well the model ranks was not measured"
    elif ahead:
        said = _beaten(ahead[0], best, k)
    elif best is not None:
        said = f"{_doing(best)} {_gains(best)} and stays personal"
    else:
        popular = next(effect for effect in baselines if effect.remedy == POPULAR)
        values = _two(popular.before, popular.after)
        surely = "" if popular.high < 0 else ", perhaps by chance"
        said = (
            f"The model ranks above the most popular items{surely} ({values}), and no change of its tables is advised"
        )
    chance = next((effect for effect in baselines if effect.remedy == RANDOM and effect.high >= 0), None)
    if chance and not said.startswith("Whether"):
        said += f". It is not surely above random items ({chance.after:.3f}): check the ids of its rows first"
    return f"{said}; {repairs}."


def passed_over(effects: Sequence[Effect]) -> tuple[str, str]:
    """(which remedies help and do not stay personal, by gain; how their lists look); two "" where there are none."""
    found = sorted((each for each in effects if each.helps and not each.personal), key=lambda each: -each.gain)
    if not found:
        return "", ""
    each = "; ".join(f"{effect.remedy}: {_lists(effect)}" for effect in found)
    short = ", ".join(f"{effect.remedy} ({effect.difference:+.4f})" for effect in found)
    return f"Not advised, though measured to help: {short}.", f"How their lists look: {each}."


def _lists(effect: Effect) -> str:
    return (
        f"most popular items in a list {percent(effect.overlap_after)}, before "
        f"{percent(effect.overlap_before)}{_recent(effect)}; items shown {percent(effect.coverage_after)}, before "
        f"{percent(effect.coverage_before)}"
    )


def _recent(effect: Effect) -> str:
    return "" if effect.overlap_recent is None else f"; recent hits {percent(effect.overlap_recent)}"


def _advised(effects: Sequence[Effect]) -> list[Effect]:
    """At most MOST_REMEDIES, the largest gain first."""
    found = sorted((effect for effect in effects if effect.advisable), key=lambda effect: -effect.gain)
    return found[:MOST_REMEDIES]


def _ahead(baselines: Sequence[Effect]) -> list[Effect]:
    """The lists of hits that rank better than the tables, the best first."""
    found = [effect for effect in baselines if effect.remedy in HITS and effect.after > effect.before]
    return sorted(found, key=lambda effect: -effect.after)


def _beaten(hits: Effect, best: Effect | None, k: int) -> str:
    values = _two(hits.after, hits.before)
    said = f"The list of {HITS[hits.remedy]} beats this model: {values} (NDCG@{k})"
    if not hits.low > 0:
        said = f"The list of {HITS[hits.remedy]} ranks better than this model, perhaps by chance: {values} (NDCG@{k})"
    if best is None:
        return said
    part = best.users < hits.users and hits.remedy in best.beyond  # judged on half of the users
    above = best.beyond[hits.remedy].difference > 0 if part else best.after > hits.after
    start, doing = f"from {best.before:.3f} " if part else "", _doing(best)
    doing = doing if doing.isupper() else f"{doing[:1].lower()}{doing[1:]}"  # DDC stays DDC
    lifted = f"{doing} lifts the model {start}to {best.after:.3f}{' on half of the users' * part}"
    return f"{said}; {lifted}, {'above it' if above else 'but not above it'}"


def _two(first: float, second: float) -> str:
    digits = 3 if round(first, 3) != round(second, 3) else 4
    return f"{first:.{digits}f} against {second:.{digits}f}"


def _gains(effect: Effect) -> str:
    return f"gains {100 * effect.gain:.0f} %" if math.isfinite(effect.gain) else f"lifts NDCG to {effect.after:.3f}"


def _doing(effect: Effect) -> str:
    """The remedy as the subject of a sentence; the shifts have names of their own."""
    shift = effect.remedy.replace("shift all users", "Moving all users")
    return DOING.get(effect.remedy, shift)


# ---- one action each


def _of_remedy(effect: Effect, k: int, temperature: float | None, another: bool) -> Action:
    """another: whether a remedy stands just above, to which this one is an alternative."""
    words = WORDS.get(effect.remedy, effect.remedy.replace("shift", "move"))
    over = ", ".join(f"{change.difference:+.4f} over {HITS[name]}" for name, change in effect.beyond.items())
    why = (
        f"NDCG@{k} {effect.before:.4f} to {effect.after:.4f} for {effect.users:,} users (95 % interval of the "
        f"difference {effect.low:+.4f} to {effect.high:+.4f}); {over}. Most popular items in a list: "
        f"{percent(effect.overlap_after)} (before {percent(effect.overlap_before)}){_recent(effect)}; items shown in "
        f"all: {percent(effect.coverage_after)} (before {percent(effect.coverage_before)})."
    )
    decision = DECISIONS.get(effect.remedy, OTHER_DECISION)
    code = _code(effect.remedy, k, temperature, effect.chosen)
    title = f"Or {words}." if another else f"{words[:1].upper()}{words[1:]}."
    return Action(title, why, decision, code, effect.gain, effect.remedy)


def _code(remedy: str, k: int, temperature: float | None, chosen: Mapping[str, float]) -> tuple[str, str]:
    """The new tables, as `remedies.remedied` makes them."""
    if remedy == LOGQ:
        bias = f"bias = {temperature or 1.0:g} * np.log(np.maximum(train.col_counts, 1) / len(train))"
        return bias, "users, items = np.c_[users, np.ones(len(users))], np.c_[items, bias]"
    if remedy == RECENT_HITS:
        count = f"hits.decayed_counts(train, {chosen['half_life']:g})"
        more = f"more = {chosen['weight']:g} * np.log({count} + {FLOOR:g})"
        return more, "users, items = np.c_[users, np.ones(len(users))], np.c_[items, more]"
    lines = {
        BACK: "items = items * np.maximum(train.col_counts, 1)[:, None]",
        NORMALISE: "items = geometry.normalise(items)",
        DIVIDE: "items = items / np.maximum(train.col_counts, 1)[:, None] ** 0.25",
        CENTRE: "items = geometry.normalise(items - items.mean(axis=0))",
    }
    if remedy in lines:
        return lines[remedy], f'print(metrics.evaluate(users, items, train, test, {k})["ndcg@{k}"])'
    return f'remedy = "{remedy}"', "users, items = report.remedied(remedy)"


def _of_hits(effect: Effect, k: int) -> Action:
    why = (
        f"NDCG@{k} {effect.after:.4f} against {effect.before:.4f} of the tables, on the same {effect.users:,} users "
        f"(95 % interval of the difference {effect.low:+.4f} to {effect.high:+.4f})."
    )
    lately = effect.remedy == LATELY
    counts = f"metrics.popularity_scores(train, lately={RECENT:g})" if lately else "train.col_counts"
    code = (f"shown = {counts}[:, None]", f"lists = metrics.top_k(np.ones((len(users), 1)), shown, train, {k})")
    title = f"Find out why {HITS[effect.remedy]} rank better, and keep their list beside every number."
    return Action(title, why, "evaluation", code, effect.gain, effect.remedy)


def _of_index(verdicts: Sequence[Verdict]) -> Iterator[Action]:
    """One more coordinate, where it was measured to find more."""
    for verdict in verdicts:
        if verdict.id == INDEX and verdict.verdict == "noted" and verdict.advice:
            kind = "hnsw" if "HNSW" in verdict.advice else "ivf"
            code = (
                'users, items = index.arranged(users, items, "one more coordinate")',
                f'made = index.build(items, "{kind}", space="one more coordinate")',
            )
            unmeasured = "Not measured: the NDCG of these lists on held-out pairs."
            title = "Search by distance, with one more coordinate."
            yield Action(title, verdict.advice, "index", code, None, INDEX, unmeasured)


class Repair(NamedTuple):
    """What `repairs.json` holds of one, as `Action` does."""

    title: str
    decision: str
    code: tuple[str, str]
    unmeasured: str

    def action(self, verdict: Verdict) -> Action:
        """Of a verdict, whose first sentence says what was measured."""
        return Action(self.title, verdict.lead, self.decision, self.code, None, verdict.id, self.unmeasured)


REPAIRS, TRAININGS = (  # of a verdict, by its id; by another training
    {name: Repair(**each | {"code": tuple(each["code"])}) for name, each in STORED[kind].items()}
    for kind in ("faults", "trainings")
)


def _repairs(verdicts: Sequence[Verdict], effects: Sequence[Effect]) -> Iterator[Action]:
    """Of each fault that no advised remedy repairs, and of a temperature at which hardly more than chance is learned.

    Of faults without a repair of their own, remedies are the repair.
    """
    advised = [WORDS.get(effect.remedy, effect.remedy) for effect in _advised(effects)]
    for verdict in verdicts:
        fault = verdict.verdict == "fault" or (verdict.figures.get("times_chance") or HARDLY) < HARDLY
        repair = _repair(verdict)
        if fault and repair and not any(words in verdict.advice for words in advised):
            yield repair.action(verdict)


def _repair(verdict: Verdict) -> Repair | None:
    if verdict.id == "in-batch-bias":
        triples = verdict.asked == OF_TRIPLES
        return TRAININGS["triples" if triples else "pairs" if "misled" in verdict.figures else "softmax"]
    return (REPAIRS | TRAININGS).get(verdict.id)
