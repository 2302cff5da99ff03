"""`audit`: every question asked of one model, and the `Report` that holds the answers.

The JSON (`Report.to_dict`), schema_version "2":

    schema_version: "2"; it changes when a key changes its meaning or goes, not when one is added
    tool: {name, version}
    inputs: {items: {rows, width, dtype, source, zero_rows}, users: the same or null, pairs, held_out: {pairs, repeated,
      of_zero_rows, shared} or null, counts: "given", "of the pairs" or null, training: {...}}; a table or pairs from a
      file also have `read`: how much of it was read, and what as what; and `schema`: {id, dimensions, ignored} of a
      table, {user, item, time, rating, ignored} of pairs
    options: {k, seed}; the report comes again with --seed SEED; null where the generator was used before, or was made
      of no whole number
    headline: the report in one sentence
    actions: [{title, why, decision, code: [two lines], gain: number or null, of, unmeasured}], at most five: by their
      gain on held-out pairs (in parts of NDCG) remedies, and a list of hits that ranks better; then repairs of faults,
      whose unmeasured says what was not measured, and else is ""; decision: a card of the page practice/decisions; of:
      a remedy, a list or a verdict's id
    cold: {items_without_pair, held_out_users_without_training, held_out_pairs_of_such_users,
      held_out_pairs_of_items_without_pair}, those that could be counted
    verdicts: [{id, title, chapter, verdict: "fault" | "noted" | "fine" | "cannot tell", support, figures: {name: number
      or null; of an item, its id}, advice, theorem}], in the order of `verdicts.CATALOGUE`; chapter is a page of the
      book, theorem a label on it. "noted": so it is, and no fault by itself; `questions.rules.NOTED` are never a fault.
      A fault of mismatched-rows, the first, leaves all others "cannot tell", and nothing is measured
    baselines: [what remedies hold but advisable, for remedy "most popular", "popular lately" where the training pairs
      have times, and "random": the tables before, that list after]
    remedies: [{remedy, before, after, difference, low, high, popularity_before, popularity_after, users,
      overlap_before, overlap_after, coverage_before, coverage_after, gini_before, gini_after: number or null, beyond:
      {name of a list: {difference, low, high}}, chosen: {half_life, weight} or {}, overlap_recent: number or null,
      advisable}]; overlap: share of a list that stands in that of the most popular items; beyond: NDCG after, less that
      of the list; advisable: it was measured to help and stays personal (`remedies`). Of "recent hits at serving",
      there where the pairs are split by time, chosen: the half-life, in days, and the weight that half of the users
      chose; overlap_recent: share of a list that stands in that of the recent hits
    cosines: what `cosines.Cosines` holds; null where the rows do not belong to the pairs
    further: [the same for `verdicts.FURTHER`]: what is described, and never is a fault
    smaller: [{kind, megabytes, exact_megabytes, recall, by_group: {head, middle, tail: number or null}, change:
      {difference, low, high}, by_length: {long, medium, short} or {}}]: items in int8 and in fewer dimensions; recall
      of the exact lists, and what NDCG on held-out pairs changes by (`smaller`)
    notes: [sentences]

With an index, `further` holds milliseconds, and these alone differ when a report is made again.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator
from scipy import stats
from tqdm import tqdm

from course_lib import checking
from course_lib.audit import remedies
from course_lib.audit.actions import MOST, Action, actions, headline, named, numbered, passed_over
from course_lib.audit.cosines import Cosines, free_gauge, look
from course_lib.audit.evidence import FEWEST_ITEMS, Evidence
from course_lib.audit.page import CARDS, Answers, head
from course_lib.audit.pairs import Found, pairs_of
from course_lib.audit.questions.batch import in_batch_bias
from course_lib.audit.questions.belonging import NAME as ROWS
from course_lib.audit.questions.belonging import mismatched_rows
from course_lib.audit.questions.direction import ddc_gain, popularity_direction, shifted_centre
from course_lib.audit.questions.exposed import exposure, in_time, leaked_test_pairs
from course_lib.audit.questions.lengths import popularity_lengths
from course_lib.audit.questions.rows import collapsed_rank, dead_rows, duplicated_rows, hubs
from course_lib.audit.questions.rules import FURTHER_RULES, RULES
from course_lib.audit.questions.scores import calibration, temperature
from course_lib.audit.questions.searched import EXPECTED, searched
from course_lib.audit.remedies import BACK, LOGQ, POPULAR, Bench, Effect, Tables, beside
from course_lib.audit.smaller import Smaller, smaller
from course_lib.audit.sources import refuse_file
from course_lib.audit.tables import Table, table_of
from course_lib.audit.training import Training
from course_lib.audit.verdicts import CATALOGUE, Verdict, cannot_tell, counted, wrapped

SCHEMA_VERSION = "2"
STEPS = 5  # of the progress bar
PAIRS = {"pairs": "training pairs", "held_out": "held-out pairs"}
FEWEST_LISTS = 20  # users with held-out pairs, without whom nothing is measured on them
# Rank correlation of given counts with those of the pairs, on items with so many pairs, from which on nothing is said
AGREE, OFTEN = 0.2, 5


@dataclass(frozen=True, repr=False)
class Report(Answers):
    """The answers: verdicts, one for each entry of the catalogue; baselines: lists that need no tables, against theirs;
    remedies; smaller: what smaller vectors find of the lists; what cosines mean (`cosines.Cosines`). Where the rows do
    not belong to the pairs, only that is said. index: what is asked of an index (`audit`). `ids` and `html` are
    those of `page.Answers`.
    """

    verdicts: tuple[Verdict, ...]
    baselines: tuple[Effect, ...]
    remedies: tuple[Effect, ...]
    cosines: Cosines | None
    inputs: dict[str, Any]
    options: dict[str, Any]
    notes: tuple[str, ...] = ()
    smaller: tuple[Smaller, ...] = ()
    evidence: Evidence | None = field(default=None, compare=False)
    bench: Bench | None = field(default=None, compare=False)
    index: str | None = field(default=None, compare=False)
    rules, kind = RULES | FURTHER_RULES, "Audit of"

    def __repr__(self) -> str:
        return f"Report({self.title}: {counted(self.verdicts)})"

    @property
    def title(self) -> str:
        """The source of the items."""
        return str(self.inputs["items"]["source"])

    @property
    def facts(self) -> dict[str, Any]:
        """The inputs, and the options."""
        return self.inputs | self.options

    @cached_property
    def further(self) -> tuple[Verdict, ...]:
        """What is described and never a fault: exposure, calibration, temperature, time and the index."""
        evidence = self.evidence
        if evidence is None or self.cosines is None:  # the rows do not belong to the pairs
            return ()
        found = (exposure(self.bench), calibration(self.bench), temperature(evidence), in_time(evidence, self.bench))
        return (*found, searched(evidence, self.index))

    def remedied(self, remedy: str) -> Tables:
        """The new tables (users, items) of one of `remedies`, by its name, for all users.

        A large model is measured on a sample of its users. They keep the rows that were measured, and all others are
        changed by the same rule: see `remedies.remedied`.
        """
        checking.choice(remedy, "remedy", [effect.remedy for effect in self.remedies])
        assert self.evidence is not None
        return remedies.remedied(remedy, self.bench or Bench(self.evidence))

    def text(self, width: int = 76) -> str:
        """What was read, the headline, what to do, and then the verdicts, the remedies and the cosines; plain text."""
        blocks = [verdict.text(width) for verdict in self.verdicts]
        described = [each.text(width) for each in self.further]
        described = ["", "What else was looked at", *described] if described else []
        notes = [wrapped(f"Note: {note}", width) for note in self.notes]
        measured = [line for effect in (*self.remedies, *self.baselines) for line in _measured_lines(effect)]
        if measured:
            said = f"{self.quality()} What changes it, with 95 % intervals:"
            measured = ["", "What each change of the tables does", wrapped(said, width, ""), *measured]
        fewer = [wrapped(each.text(), width) for each in self.smaller]
        fewer = ["", "What smaller vectors find of the exact lists", *fewer] if fewer else []
        cosines = [] if self.cosines is None else ["", self.cosines.text(width)]
        read = [wrapped(line, width) for line in self.read()]
        rows = self[ROWS]
        belonging = wrapped(f"{rows.question.title} {rows.verdict.upper()}. {rows.lead}", width, "")
        above = [*read, belonging, "", wrapped(self.headline, width, ""), *self._to_do(width), "", "Verdicts"]
        return "\n".join([*above, *blocks, *notes, *described, *measured, *fewer, *cosines])

    def _to_do(self, width: int) -> Iterator[str]:
        for at, heading, action in numbered(self.actions):
            yield from [f"{heading}:"] if heading else []
            yield wrapped(f"{at}. {action.title} {action.said}", width, "   ")
            yield from (f"     {line}" for line in action.code)
            yield f"   {CARDS}#decision-{action.decision}"
        if self.actions:
            yield wrapped(named(self.actions), width, "")
        if others := " ".join(passed_over(self.remedies)).strip():
            yield wrapped(others, width, "")

    def read(self) -> list[str]:
        """What was looked at, and what no training pair supports: one sentence each."""
        return [*read_lines(self.inputs), *looked_at(self.inputs), *cold_lines(self.evidence)]

    above = read

    @property
    def headline(self) -> str:
        """The report in one sentence."""
        return headline(self.verdicts, self.remedies, self.baselines, k=self.options["k"])

    @property
    def actions(self) -> list[Action]:
        """What to do, at most five: what was measured on held-out pairs, by its gain, and then repairs of faults."""
        known = {"k": self.options["k"], "temperature": self.inputs["training"]["temperature"]}
        verdicts = (*self.verdicts, *self.further)
        return actions(verdicts, self.remedies, self.baselines, **known)[:MOST]

    def quality(self) -> str:
        """NDCG of the tables, of the most popular items, and of random ones; "" where it could not be measured."""
        if not self.baselines:
            return ""
        before = self.baselines[0].before
        return f"NDCG@{self.options['k']} on held-out pairs is {before:.4f}. {beside(self.baselines)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: the module's docstring says which."""
        return {
            **head(SCHEMA_VERSION),
            "inputs": self.inputs,
            "options": self.options,
            "headline": self.headline,
            "actions": [action.to_dict() for action in self.actions],
            "cold": {} if self.evidence is None else self.evidence.cold,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "baselines": [asdict(effect) for effect in self.baselines],
            "remedies": [asdict(effect) | {"advisable": effect.advisable} for effect in self.remedies],
            "cosines": None if self.cosines is None else self.cosines.to_dict(),
            "further": [verdict.to_dict() for verdict in self.further],
            "smaller": [each.to_dict() for each in self.smaller],
            "notes": list(self.notes),
        }


def audit(
    items: Any,
    users: Any = None,
    counts: Any = None,
    *,
    pairs: Any = None,
    held_out: Any = None,
    training: Training | None = None,
    k: int = 10,
    draws: int = 3,
    rng: Generator,
    wide: bool = False,
    drop_zero_rows: bool = False,
    index: str | None = None,
    progress: bool = False,
) -> Report:
    """The report on an item table (n, d), with whatever else is known of the model.

    items, users: arrays, tensors on any device, `nn.Embedding`, or `tables.Table`; counts (n,): how often each item was
    seen in training, by default those of the pairs; pairs, held_out: `Interactions`, two arrays (N,), or one (N, 2), of
    row numbers (or of the tables' ids); training: what is known of it. They need users.
    k: neighbours looked at, and length of the lists; draws, wide: `cosines.look`; drop_zero_rows: leave out rows that
    are zero, with their counts and pairs; index: "" to build IVF, HNSW, PQ and int8 with faiss, or the file of an
    index that is asked as well (`questions.searched`); progress: show a bar.
    Raises ValueError for what does not fit, is not finite, or has fewer than k + 2 items.
    """
    seed, given_seed = drawn_seed(rng)
    k = checking.whole(k, "k")
    checking.whole(draws, "draws")
    item_table = table_of(items, "items", drop_zero_rows=drop_zero_rows)
    user_table = None if users is None else table_of(users, "users", drop_zero_rows=drop_zero_rows)
    items_name = _called("items", item_table)
    if len(item_table.rows) < k + 2:
        raise ValueError(
            f"{items_name} has {len(item_table.rows)} rows; expected at least {k + 2}, as each has {k} neighbours"
        )
    if user_table is not None:
        checking.same_width(user_table.rows, item_table.rows, _called("users", user_table), items_name)
    if not isinstance(training, Training | None):
        raise checking.refuse(training, "training", "an audit.Training, such as Training(loss='bpr')")
    if not isinstance(index, str | PathLike | None):
        raise checking.refuse(index, "index", f'"" for those that are built, or the file of {EXPECTED}')
    if index and not Path(index).is_file():
        raise refuse_file("index", Path(index), "there is no file of this name", EXPECTED)
    given = {"pairs": pairs, "held_out": held_out}
    found = {name: found_in(values, name, user_table, item_table) for name, values in given.items()}
    known = {"training": training or Training(), "k": k, "seed": seed}
    evidence = _evidence(item_table, user_table, counts, found, **known)
    inputs = _inputs(item_table, user_table, counts, found, evidence)
    options = {"k": k, "seed": given_seed}
    with tqdm(total=STEPS, disable=not progress, leave=False) as bar:
        return _report(evidence, inputs, options, found, draws, wide, index, bar)


def _report(
    evidence: Evidence,
    inputs: dict[str, Any],
    options: dict[str, Any],
    found: dict[str, Found | None],
    draws: int,
    wide: bool,
    index: str | None,
    bar: tqdm[Any],
) -> Report:
    """What `audit` says, a step of the bar at a time."""

    def step(name: str) -> None:
        bar.set_description(name)
        bar.update()

    said = [*_notes(evidence, found, given=inputs["counts"] == "given")]
    belonging = mismatched_rows(evidence)
    if belonging.verdict == "fault":
        return Report((belonging, *_not_judged()), (), (), None, inputs, options, tuple(said), (), evidence)
    step("cosines")
    cosines = look(evidence, draws=draws, wide=wide)
    bench = bench_of(evidence)
    step("rows")
    fewer = () if bench is None else tuple(smaller(bench))
    rows = [collapsed_rank(evidence, fewer), *(question(evidence) for question in (duplicated_rows, dead_rows, hubs))]
    step("remedies")
    beside_them = [] if bench is None else remedies.baselines(bench)
    shown = [] if bench is None else remedies.effects(bench)
    shift, notes = _measured(remedies.global_shift, bench, "A shift of all users")
    along = [] if shift is None else [shift]
    step("popularity")
    popular = [popularity_lengths(evidence, shown), popularity_direction(evidence, along), shifted_centre(evidence)]
    step("corrections")
    recent, of_recent = _measured(remedies.recent_hits, bench, "The sum with recent hits")
    correction, more_notes = _measured(remedies.ddc, bench, "DDC")
    served = {effect.remedy: effect for effect in (*shown, *beside_them) if effect.remedy in (BACK, LOGQ, POPULAR)}
    shown += along + ([] if recent is None else [recent])
    last = [
        in_batch_bias(evidence, served),
        leaked_test_pairs(evidence),
        ddc_gain(evidence, correction, shown, beside_them),
    ]
    by_id = {verdict.id: verdict for verdict in (belonging, *rows, *popular, free_gauge(cosines), *last)}
    verdicts = tuple(by_id[name] for name in CATALOGUE)
    if correction is not None:
        shown = [*shown, correction.effect]
    said += [*notes, *of_recent, *more_notes]
    measured = (tuple(beside_them), tuple(shown), cosines)
    return Report(verdicts, *measured, inputs, options, tuple(said), fewer, evidence, bench, index)


def _not_judged() -> Iterator[Verdict]:
    """All other questions, where the rows do not belong to the pairs."""
    for name in CATALOGUE:
        if name != ROWS:
            yield cannot_tell(
                name, "Not judged: the rows of the tables do not belong to the pairs.", "Mend these first."
            )


# ---- arguments


def drawn_seed(rng: Generator) -> tuple[int, int | None]:
    """(the seed that is drawn from rng, n), with n such that default_rng(n) draws the same, or None."""
    drawn = int(checking.generator(rng).integers(2**32))
    entropy = getattr(rng.bit_generator.seed_seq, "entropy", None)
    again = isinstance(entropy, int) and int(np.random.default_rng(entropy).integers(2**32)) == drawn
    return drawn, entropy if again else None


def found_in(values: Any, name: str, users: Table | None, items: Table) -> Found | None:
    """The pairs over the rows of two tables; None where there are none. Raises ValueError without users."""
    if values is None or isinstance(values, Found):
        return values
    if users is None:
        raise ValueError(f"{name} was given without users; expected the user table, whose rows the pairs name")
    return pairs_of(values, name, users, items)


def _called(name: str, table: Table) -> str:
    """What a message calls a table: with its file, where it has one."""
    return name if table.source == "memory" else f"{name} ({table.source})"


def _evidence(items: Table, users: Table | None, counts: Any, found: dict[str, Found | None], **more: Any) -> Evidence:
    pairs, held_out = (None if each is None else each.pairs for each in found.values())
    if counts is not None:
        counts = items.aligned(checking.counts(counts, "counts", items.size))
    elif pairs is not None:
        counts = pairs.col_counts.astype(np.float64)
    shared = offered = 0
    if pairs is not None and held_out is not None:
        offered = len(held_out)
        known = pairs.contains(held_out.users, held_out.items)
        shared, held_out = int(known.sum()), held_out.select(~known)
    return Evidence(
        items.rows,
        None if users is None else users.rows,
        counts,
        pairs,
        held_out,
        zero_items=len(items.zero_rows),
        zero_users=0 if users is None else len(users.zero_rows),
        shared=shared,
        offered=offered,
        places=items.kept if items.moved else None,
        item_ids=None if items.ids is None else items.aligned(items.ids),
        user_places=None if users is None or not users.moved else users.kept,
        **more,
    )


def _inputs(
    items: Table, users: Table | None, counts: Any, found: dict[str, Found | None], evidence: Evidence
) -> dict[str, Any]:
    def of_table(table: Table | None) -> dict[str, Any] | None:
        if table is None:
            return None
        rows, width = table.rows.shape
        facts = {"rows": rows, "width": width, "dtype": str(table.rows.dtype), "source": table.source}
        facts |= {"zero_rows": len(table.zero_rows)}
        return facts | ({"read": table.read, "schema": table.schema} if table.read else {})

    def of_pairs(each: Found | None) -> dict[str, Any] | None:
        if each is None:
            return None
        facts = {"pairs": len(each.pairs), "repeated": each.repeated, "of_zero_rows": each.lost}
        return facts | ({"read": each.read, "schema": each.schema} if each.read else {})

    given = "given" if counts is not None else None if evidence.counts is None else "of the pairs"
    tables = {"items": of_table(items), "users": of_table(users), "counts": given}
    training = asdict(evidence.training)
    return tables | {name: of_pairs(each) for name, each in found.items()} | {"training": training}


def read_lines(inputs: dict[str, Any]) -> Iterator[str]:
    """For each input from a file, how much of it was read, and what as what."""
    for name, facts in inputs.items():
        if isinstance(facts, dict) and facts.get("read"):
            yield f"{name.replace('_', '-')}: {facts['read']}."


def looked_at(inputs: dict[str, Any]) -> Iterator[str]:
    """The sizes of the tables and of the pairs, in a sentence."""
    items, users = inputs["items"], inputs["users"]
    both = f"{items['rows']:,} items" + ("" if users is None else f" and {users['rows']:,} users")
    pairs = [f"{inputs[name]['pairs']:,} {what}" for name, what in PAIRS.items() if inputs[name] is not None]
    yield f"{both} of width {items['width']}{''.join(f'; {each}' for each in pairs)}."


def cold_lines(evidence: Evidence | None) -> Iterator[str]:
    """What no training pair supports."""
    cold = {} if evidence is None else evidence.cold
    if items := cold.get("items_without_pair"):
        pairs = cold.get("held_out_pairs_of_items_without_pair", 0)
        yield f"Items without a training pair: {items:,}" + (f" (held-out pairs on them: {pairs:,})." if pairs else ".")
    if users := cold.get("held_out_users_without_training"):
        pairs = cold["held_out_pairs_of_such_users"]
        yield f"Users without a training pair, on whom nothing is measured: {users:,} (held-out pairs: {pairs:,})."


def _notes(evidence: Evidence, found: dict[str, Found | None], *, given: bool) -> Iterator[str]:
    """given: whether the counts are those of a file, and not of the pairs."""
    for rows, what in ((evidence.zero_items, "item"), (evidence.zero_users, "user")):
        if rows:
            yield f"Zero {what} rows that were left out, with their counts and their pairs: {rows:,}."
    for name, each in zip(("pairs", "held-out"), found.values(), strict=True):
        if each is not None and each.repeated:
            yield f"{name}: pairs that came again, each of which counts once: {each.repeated:,}."
        if each is not None and each.lost:
            yield f"{name}: pairs of zero rows that were left out: {each.lost:,}."
        if each is not None and each.unit:
            yield f"{name}: the times look like {each.unit} since 1970, and were taken as such."
    if given and evidence.pairs is not None and evidence.counts is not None:
        often = evidence.pairs.col_counts >= OFTEN
        both = evidence.counts[often], evidence.pairs.col_counts[often]
        able = often.sum() >= FEWEST_ITEMS and min(map(np.ptp, both)) > 0
        alike = float(stats.spearmanr(*both).statistic) if able else 1.0
        if alike < AGREE:
            yield (
                f"counts: they do not rank the items as the training pairs do (rank correlation {alike:.2f}): are they "
                "in the order of the rows in the file?"
            )


def _measured_lines(effect: Effect) -> Iterator[str]:
    yield f"{effect.remedy:42}{effect.difference:+8.4f} ({effect.low:+.4f} to {effect.high:+.4f})"
    if effect.overlap_after is not None and effect.coverage_after is not None and effect.gini_after is not None:
        shown = (
            f"overlap {effect.overlap_after:.2f}, coverage {effect.coverage_after:.3f}, Gini {effect.gini_after:.2f}"
        )
        beyond = "".join(f", over {name} {change.difference:+.4f}" for name, change in effect.beyond.items())
        yield from textwrap.wrap(f"{shown}{beyond}", 72, initial_indent="    ", subsequent_indent="    ")


# ---- measurements that several questions need


def bench_of(evidence: Evidence) -> Bench | None:
    """None for fewer than FEWEST_LISTS users with a training and a held-out pair, and with items of one count alone."""
    if evidence.users is None or evidence.pairs is None or evidence.held_out is None or not evidence.counts_vary:
        return None
    able = (evidence.held_out.row_counts > 0) & (evidence.pairs.row_counts > 0)
    return Bench(evidence) if able.sum() >= FEWEST_LISTS else None


Measured = TypeVar("Measured")


def _measured(remedy: Callable[[Bench], Measured], bench: Bench | None, name: str) -> tuple[Measured | None, list[str]]:
    if bench is None:
        return None, []
    try:
        return remedy(bench), []
    except ValueError as problem:  # head and tail with one mean, items of a user that sum to zero
        return None, [f"{name} could not be set up: {problem}."]
