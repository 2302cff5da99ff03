"""The report as one page of HTML (no script, no request, dark and light, print, 360 px), and in Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from course_lib import __version__, checking
from course_lib.audit.actions import RULE, UNMEASURED, Action, named, numbered, passed_over
from course_lib.audit.cosines import Cosines
from course_lib.audit.drawings import drawing
from course_lib.audit.questions.rules import NOTED
from course_lib.audit.questions.searched import NAME as INDEX
from course_lib.audit.remedies import LATELY, POPULAR, RANDOM, Change, Effect
from course_lib.audit.smaller import GROUPS, Smaller
from course_lib.audit.verdicts import ANSWERS, FURTHER, Picture, Verdict, counted

SITE = "https://two-tower-course.github.io/two-tower-course/book"  # tools/address.py
STYLE = Path(__file__).with_name("page.css")
CARDS = f"{SITE}/practice/decisions.html"
FOLDED = ("fine", "cannot tell")
SIGNS = {"fault": "✗", "noted": "·", "fine": "✓", "cannot tell": "?"}
LISTS = (POPULAR, LATELY, RANDOM)
FIRST = "mismatched-rows"  # the verdict on which all others rest, which stands above them


class Answers:
    """What the reports on one model and on two have in common, and the page shows; rules: {id: when it is a fault}."""

    verdicts: tuple[Verdict, ...]
    remedies: tuple[Effect, ...]
    baselines: tuple[Effect, ...]
    cosines: Cosines | None
    smaller: tuple[Smaller, ...]
    notes: tuple[str, ...]
    rules: ClassVar[Mapping[str, str]]
    kind: ClassVar[str]

    @property
    def title(self) -> str:
        """What was audited."""
        raise NotImplementedError

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was looked at: {name: value}, in nested dictionaries."""
        raise NotImplementedError

    @property
    def headline(self) -> str:
        """The report in one sentence; of one model alone, as all that follows."""
        return ""

    @property
    def actions(self) -> list[Action]:
        """What to do."""
        return []

    @property
    def further(self) -> tuple[Verdict, ...]:
        """What is described and never a fault."""
        return ()

    def quality(self) -> str:
        """The sentence on NDCG."""
        return ""

    def above(self) -> list[str]:
        """The sentences that stand above the headline."""
        return []

    def __getitem__(self, name: str) -> Verdict:
        """The verdict, or the further answer, with this id."""
        checking.choice(name, "id", self.rules)
        return next(each for each in (self.further if name in FURTHER else self.verdicts) if each.id == name)

    def ids(self, answer: str) -> list[str]:
        """The ids of the questions with this answer: "fault", "noted", "fine" or "cannot tell"."""
        checking.choice(answer, "answer", ANSWERS)
        return [verdict.id for verdict in self.verdicts if verdict.verdict == answer]

    def markdown(self) -> str:
        """A summary for CI (`summary`)."""
        return summary(self)

    def html(self) -> str:
        """One page of HTML that needs nothing else."""
        return page(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, in a frame of its own, so that neither style reaches the other."""
        return framed(self)


def head(version: str) -> dict[str, Any]:
    """How every JSON begins."""
    return {"schema_version": version, "tool": {"name": "two-tower-audit", "version": __version__}}


def page(shown: Answers) -> str:
    """The whole page."""
    title = f"Two-tower audit: {shown.title}"
    body = "\n".join(
        [
            f"<header><h1>{_text(title)}</h1>{_summary(shown)}</header>",
            "<main>",
            _actions(shown),
            _verdicts(shown, "verdicts", f"Verdicts: {counted(shown.verdicts)}", shown.verdicts),
            _verdicts(shown, "further", "What else was looked at", shown.further),
            *_appendix(shown),
            "</main>",
            f"<footer><p>two-tower-audit {__version__}. A verdict is about these tables; what a table cannot show, "
            "such as how it was trained, no verdict says.</p></footer>",
        ]
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" '
        f'content="light dark">\n<title>{_text(title)}</title>\n<style>\n{STYLE.read_text(encoding="utf-8")}</style>\n'
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def framed(shown: Answers) -> str:
    """The page inside a frame that may run no script, for notebooks; the book opens beside it."""
    inside = page(shown).replace('<a href="https://', '<a target="_blank" rel="noopener" href="https://')
    style = "width:100%;height:40em;border:1px solid"
    source = html.escape(inside, quote=True)
    return f'<iframe title="Audit" sandbox="allow-same-origin allow-popups" style="{style}" srcdoc="{source}"></iframe>'


def _summary(shown: Answers) -> str:
    """What was read, whether it belongs together, and the headline."""
    read = "".join(f"<li>{_text(each)}</li>" for each in shown.above())
    read = f'<ul class="read">{read}</ul>' if read else ""
    first = next((verdict for verdict in shown.verdicts if verdict.id == FIRST), None)
    rows = "" if first is None else f"<p>{_text(first.question.title)} {_badge(first)} {_text(first.lead)}</p>"
    headline = f'<p class="headline">{_text(shown.headline)}</p>' if shown.headline else ""
    quality = f'<p class="quality">{_text(shown.quality())}</p>' if shown.quality() else ""
    return f"{read}{rows}{headline}{quality}"


def _actions(shown: Answers) -> str:
    """What was measured, the repairs, and, folded, why no other change is advised."""
    found, (others, why) = shown.actions, passed_over(shown.remedies)
    parts, repairs = [], [action for action in found if action.unmeasured]
    measured = found[: len(found) - len(repairs)]
    if measured:
        parts.append(_listed(measured, 1))
    if repairs:
        parts += [f"<h3>{UNMEASURED}</h3>", _listed(repairs, 1 + len(measured))]
    if shown.remedies:
        inside = f"<p>{_text(f'{why} {RULE} Gains do not add up.'.strip())}</p>"
        parts.append(_details(_text(others or "When a change of the tables is advised"), inside))
    return f'<section id="actions"><h2>What to do</h2>{"".join(parts)}</section>' if parts else ""


def _listed(found: Sequence[Action], start: int) -> str:
    each = (
        f"<li><strong>{_text(action.title)}</strong> {_text(action.said)}"
        + _details(
            "Code, and the decision",
            f"<pre tabindex='0'><code>{_text(chr(10).join(action.code))}</code></pre>"
            f"<p>{_text(named([action]))} "
            f'<a href="{CARDS}#decision-{action.decision}">The decision, in the book</a></p>',
        )
        for action in found
    )
    return f'<ol start="{start}">{"</li>".join(each)}</li></ol>'


def _verdicts(shown: Answers, name: str, title: str, verdicts: Sequence[Verdict]) -> str:
    """Faults, what is noted, and two folds: those that cannot be told, and the fine ones."""
    told, parts = {action.of for action in shown.actions if action.of != INDEX}, []  # whose action tells the advice
    for answer in ANSWERS:
        some = [verdict for verdict in verdicts if verdict.verdict == answer]
        each = "".join(_section(verdict, shown.rules[verdict.id], verdict.id in told) for verdict in some)
        if some and answer in FOLDED:
            each = _details(f"{_badge(some[0])} {', '.join(verdict.id for verdict in some)}", each)
        parts.append(each)
    return f'<section id="{name}"><h2>{title}</h2>{"".join(parts)}</section>' if verdicts else ""


def _section(verdict: Verdict, rule: str, told: bool) -> str:
    """The answer in a line that opens its evidence; its first sentence is in sight, if no action has told it."""
    question = verdict.question
    link = f"{SITE}/{question.chapter}.html#{question.theorem}"
    advice = f'<p class="advice"><strong>What to do.</strong> {_text(verdict.advice)}</p>' if verdict.advice else ""
    pictures = "".join(_figure(picture, f"{verdict.id}-{at}") for at, picture in enumerate(verdict.pictures))
    figures: dict[str, list[Any]] = {
        "figure": [_words(name) for name in verdict.figures],
        "value": list(verdict.figures.values()),
    }
    table = _details("Figures", _table(figures, f"Figures of {verdict.id}")) if verdict.figures else ""
    answer = "Noted" if verdict.id in (*NOTED, *FURTHER) else "A fault"
    source = (
        f'<p class="source">{answer} where {_text(rule)}. '
        f'<a href="{link}">The theorem, in the book</a> ({_text(verdict.id)})</p>'
    )
    lead = "" if told or verdict.verdict in FOLDED else verdict.lead
    answered = f"<h3>{_badge(verdict)} {_text(question.title)}</h3>"
    answered += f'<span class="lead">{_text(lead)}</span>' if lead else ""
    rest = _text(verdict.support.removeprefix(lead).strip())  # the lead stays in sight when its evidence is opened
    evidence = _details(answered, f"{f'<p>{rest}</p>' if rest else ''}{advice}{pictures}{table}{source}")
    return f'<section id="{verdict.id}" class="{verdict.verdict.replace(" ", "-")}">{evidence}</section>'


def _appendix(shown: Answers) -> Iterator[str]:
    """Each part with a heading of its own, folded."""
    parts = {
        "remedies": ("What each change of the tables does", _remedies(shown)),
        "smaller": ("What smaller vectors find of the exact lists", _smaller(shown.smaller)),
        "cosines": ("What the cosines mean", _cosines(shown.cosines)),
        "inputs": ("What was looked at", _facts(shown.facts, shown.notes)),
    }
    for name, (title, inside) in parts.items():
        if inside:
            yield f'<section id="{name}">{_details(f"<h2>{title}</h2>", inside)}</section>'


def _figure(picture: Picture, salt: str) -> str:
    numbers = _details("The numbers", _table(picture.columns, picture.title))
    return f"<figure>{drawing(picture, salt)}<figcaption>{_text(picture.title)}</figcaption>{numbers}</figure>"


def _remedies(shown: Answers) -> str:
    found = [*shown.remedies, *shown.baselines]
    if not found:
        return ""
    columns: dict[str, list[Any]] = {
        "remedy": [effect.remedy for effect in found],
        "NDCG": [f"{effect.after:.4f}" for effect in found],
        "difference": [_interval(effect) for effect in found],
    }
    for name in found[0].beyond:
        columns[f"over {name}"] = [_interval(effect.beyond.get(name)) for effect in found]
    columns |= {
        "popularity": [f"{effect.popularity_after:.1f}" for effect in found],
        "overlap": [_places(effect.overlap_after, 2) for effect in found],
        "coverage": [_places(effect.coverage_after, 3) for effect in found],
        "Gini": [_places(effect.gini_after, 2) for effect in found],
        "advised": ["yes" if effect.advisable and effect.remedy not in LISTS else "no" for effect in found],
    }
    before = found[0]
    added = next(
        (
            f"; so are the half-life of recent hits ({effect.chosen['half_life']:g} days) and their weight "
            f"({effect.chosen['weight']:g})"
            for effect in found
            if effect.chosen
        ),
        "",
    )
    note = (
        f"{shown.quality()} Each row is a change of the finished tables, judged on held-out pairs against the tables "
        f"as they are (NDCG {before.before:.4f}, popularity {before.popularity_before:.1f}, overlap "
        f"{_places(before.overlap_before, 2)}, coverage {_places(before.coverage_before, 3)}, Gini "
        f"{_places(before.gini_before, 2)}). Popularity: mean count of what is shown; overlap: share of a list that "
        "stands in that of the most popular items; coverage: share of the items that the lists show together; Gini: 0 "
        f"where all items are shown as often. {RULE} The shift is the best of several on half of the users, judged on "
        f"the others{added}. The last rows are no changes of the tables but lists that need none."
    )
    return f"<p>{_text(note)}</p>{_table(columns, 'Remedies')}"


def _smaller(found: Sequence[Smaller]) -> str:
    if not found:
        return ""
    columns: dict[str, list[Any]] = {
        "items as": [each.kind for each in found],
        "megabytes": [f"{each.megabytes:.3g} of {each.exact_megabytes:.3g}" for each in found],
        "recall": [f"{each.recall:.3f}" for each in found],
    }
    for name in GROUPS:
        columns[f"recall, {name}"] = [_places(each.by_group[name], 3) for each in found]
    for name in found[0].by_length:
        columns[f"recall, {name}"] = [_places(each.by_length[name], 3) for each in found]
    columns["NDCG"] = [_interval(each.change) for each in found]
    note = (
        "Recall: share of the exact lists that is found, of the most popular tenth of the items (head), up to a half "
        "(middle) and the rest (tail), and so by length. Fewer dimensions are the best ones for all scores."
    )
    card = f'<p><a href="{CARDS}#decision-index">The decision, in the book</a></p>'
    return f"<p>{_text(note)}</p>{_table(columns, 'Smaller vectors')}{card}"


def _interval(change: Change | Effect | None) -> str:
    return "–" if change is None else f"{change.difference:+.4f} ({change.low:+.4f} to {change.high:+.4f})"


def _cosines(cosines: Cosines | None) -> str:
    if cosines is None:
        return ""
    return f"<ul>{''.join(f'<li>{_text(sentence)}</li>' for sentence in cosines.sentences())}</ul>"


def _facts(facts: Mapping[str, Any], notes: Sequence[str]) -> str:
    flat = dict(_flat(facts))
    said = "".join(f"<p>{_text(note)}</p>" for note in notes)
    return said + _table({"input": [_words(name) for name in flat], "value": list(flat.values())}, "Inputs")


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in values.items():
        name = key if prefix == f"{key} " else f"{prefix}{key}"  # no "pairs pairs"
        found += _flat(value, f"{name} ") if isinstance(value, dict) else [(name, value)]
    return found


def _table(columns: Mapping[str, Sequence[Any]], caption: str) -> str:
    head = "".join(f'<th scope="col">{_text(_words(name))}</th>' for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(_shown(value))}</td>" for value in row) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(caption)}"><table>'
        f"<caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _details(summary: str, inside: str) -> str:
    return f"<details><summary>{summary}</summary>{inside}</details>"


def _badge(verdict: Verdict) -> str:
    kind = verdict.verdict.replace(" ", "-")
    return f'<span class="badge {kind}">{SIGNS[verdict.verdict]} {verdict.verdict}</span>'


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _places(value: Any, digits: int) -> Any:
    """A float with so many digits after its point; anything else as it is shown."""
    return f"{value:.{digits}f}" if isinstance(value, float) else _shown(value)


def _text(value: str) -> str:
    return html.escape(str(value), quote=True)


# ---- in Markdown


def summary(shown: Answers) -> str:
    """The report in Markdown, for the summary of a run in CI: headline, actions, and the answers that are not fine.

    Of fine verdicts the ids alone; of the others, faults first, the support too.
    """
    said = map(_plain, (" ".join(shown.above()), shown.headline, shown.quality()))
    parts = [f"## {_plain(f'{shown.kind} {shown.title}')}", *said, *_to_do(shown.actions)]
    parts.append(f"**{counted(shown.verdicts)}**")
    answers = (*shown.verdicts, *shown.further)
    listed = [each for answer in ("fault", "noted") for each in answers if each.verdict == answer]
    if listed:
        rows = (f"| {SIGNS[each.verdict]} {each.verdict} | {each.id} | {_cell(each.lead)} |" for each in listed)
        parts.append("\n".join(["| | question | |", "|---|---|---|", *rows]))
    for each in listed:
        inside = f"{_plain(each.support)} {_plain(each.advice)}".strip()
        parts.append(f"<details><summary>{each.id}</summary>\n\n{inside}\n\n</details>")
    parts += [f"{answer}: {', '.join(ids)}" for answer in ("fine", "cannot tell") if (ids := shown.ids(answer))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _to_do(actions: Sequence[Action]) -> Iterator[str]:
    for at, heading, action in numbered(actions):
        if heading:
            yield f"**{heading}**"
        code = "\n".join(f"   {line}" for line in action.code)
        card = f"[the decision]({CARDS}#decision-{action.decision})"
        yield f"{at}. **{_plain(action.title)}** {_plain(action.said)} ({card})\n\n   ```python\n{code}\n   ```"
    if actions:
        yield _plain(named(actions))


def _plain(text: str) -> str:
    """A text whose signs are no marks of Markdown: a file may be called <b>.npy."""
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", text)


def _cell(text: str) -> str:
    return _plain(text).replace("|", r"\|").replace("\n", " ")
