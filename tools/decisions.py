"""The cards of book/practice/decisions.yml: one directive for the end of a chapter, and the page that shows them all.

    :::{decision} normalise
    :::

A card says what to do, why (with links to theorems and findings), how to check it on one's own arrays, what it costs
and when it is useless. The page "Decisions" has them all under the anchors `decision-normalise` ...
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from course_lib.lessons.shared import schema

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "book" / "practice" / "decisions.yml"


class Card(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One decision. pages: the chapters that end in it. The other fields are Markdown; `check` is Python."""

    name: str
    title: str
    pages: list[str]
    do: str
    because: str
    check: str
    costs: str
    useless: str


@cache
def cards(source: Path = SOURCE) -> dict[str, Card]:
    """Name -> card, in the order of the page. SchemaError for a file of another form, and for a name given twice."""
    try:
        found = msgspec.convert(schema.load(source), list[Card])
    except msgspec.ValidationError as error:
        raise schema.SchemaError(f"{source.name}: {error}") from None
    named = {card.name: card for card in found}
    if len(named) < len(found):
        raise schema.SchemaError(f"{source.name}: two cards have one name; expected a name of its own for each")
    return named


def body(card: Card) -> str:
    """Markdown: what a card says, without its title."""
    return (
        f"**Do.** {card.do.strip()}\n\n**Because.** {card.because.strip()}\n\n"
        f"**Check it.**\n\n```python\n{card.check.strip()}\n```\n\n"
        f"**Costs.** {card.costs.strip()}\n\n**Useless when.** {card.useless.strip()}"
    )


def questions() -> str:
    """Markdown: the questions as a list of links, each with the first sentence of what to do."""
    return "\n".join(f"- [{card.title}](#decision-{card.name}) {_first(card.do)}" for card in cards().values())


def _first(text: str) -> str:
    return re.split(r"(?<=\.)\s", text.strip())[0]


def all_cards() -> str:
    """Markdown: each card under its own heading."""
    found = cards().values()
    sections = (f"(decision-{card.name})=\n## {card.title}\n\n{body(card)}\n\n{_chapters(card)}" for card in found)
    return "\n\n".join(sections)


def _chapters(card: Card) -> str:
    """The chapters behind a card, as links with their titles."""
    return "Chapters: " + ", ".join(f"{{doc}}`/book/{page}`" for page in card.pages) + "."


def on_a_page(name: str) -> str:
    """Markdown: a card as the box that a chapter ends in. ValueError for a name that no card has."""
    if name not in cards():
        raise ValueError(f"decision: got {name!r}, expected one of {', '.join(cards())}")
    card = cards()[name]
    others = "[All decisions](../practice/decisions.md) are on one page, below what these lines need."
    return f"**{card.title}**\n\n{body(card)}\n\n{others}"


class DecisionDirective(SphinxDirective):
    """The directive {decision}: a box with one card."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The box; a warning, which stops the build, for a name that no card has."""
        self.env.note_dependency(str(SOURCE))
        try:
            text = on_a_page(self.arguments[0])
        except ValueError as error:
            raise self.error(str(error)) from None
        box = nodes.admonition(classes=["decision"])
        box += nodes.title(text="On Monday")
        self.state.nested_parse(StringList(text.splitlines(), SOURCE.name), self.content_offset, box)
        return [box]
