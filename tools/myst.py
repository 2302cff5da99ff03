"""Reads MyST Markdown with the parser that the book is built with, and remembers where in the text each thing stands.

Markdown parsers do not say at which letter an inline element begins. `parser` wraps the rules of the elements that
plain Markdown lacks (roles, links, mathematics, attributes), so that their tokens carry `meta["start"]` and
`meta["end"]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

ROOT = Path(__file__).resolve().parents[1]
FENCES = ("fence", "colon_fence")
DIRECTIVE = re.compile(r"\{(?P<name>[\w:+.-]+)\}[ \t]*(?P<argument>.*)$")
OPTION = re.compile(r":(?P<key>[\w-]+):[ \t]*(?P<value>.*)$")
NOTED = {
    "myst_role": "myst_role",
    "math_inline": "math_inline",
    "link": "link_open",
    "image": "image",
    "span": "span_open",
}


@dataclass(frozen=True)
class Directive:
    """A directive: ``:::{name} argument``, its options, and the text inside."""

    name: str
    argument: str
    options: dict[str, str]
    body: str


@cache
def settings() -> dict[str, Any]:
    """The book's _config.yml."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return config


@cache
def parser() -> MarkdownIt:
    """The book's parser, with positions."""
    extensions = set(settings()["parse"]["myst_enable_extensions"])
    made = create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)
    made.core.ruler.disable(["attr", "wordcount"])  # "attr" would melt attributes of blocks into other tokens
    rules = {rule.name: rule for rule in made.inline.ruler.__rules__}
    for name, token in NOTED.items():
        made.inline.ruler.at(name, _noting(rules[name].fn, token), {"alt": rules[name].alt})
    made.inline.ruler.at("attr", _keeping_attributes(rules["attr"].fn), {"alt": rules["attr"].alt})
    return made


def _noting(rule: Callable[[StateInline, bool], bool], kind: str) -> Callable[[StateInline, bool], bool]:
    """The same rule, which writes its range into the token that it makes."""

    def wrapped(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        label_end = state.md.helpers.parseLinkLabel(state, start) if kind in ("link_open", "span_open") else -1
        if not rule(state, silent):
            return False
        if not silent:
            for token in state.tokens[before:]:
                if token.type == kind:
                    token.meta = {**token.meta, "start": start, "end": state.pos, "label_end": label_end}
                    break
        return True

    return wrapped


def _keeping_attributes(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The rule for ``{.class}`` behind an element, which also leaves a token with its range."""

    def wrapped(state: StateInline, silent: bool) -> bool:
        start = state.pos
        if not rule(state, silent):
            return False
        if not silent:
            state.push("attrs_inline", "", 0).meta = {"start": start, "end": state.pos}
        return True

    return wrapped


def directive(token: Token) -> Directive | None:
    """The directive that a fence is, or None for a block of code."""
    match = DIRECTIVE.match(token.info.strip()) if token.type in FENCES else None
    if match is None:
        return None
    options, lines = {}, token.content.split("\n")
    while lines and (option := OPTION.match(lines[0])):
        options[option["key"]] = option["value"].strip()
        lines.pop(0)
    return Directive(match["name"], match["argument"].strip(), options, "\n".join(lines).strip("\n"))


def walk(text: str) -> Iterator[tuple[Token, Directive | None]]:
    """Every block token of a text, and of the directives inside it, in order."""
    for token in parser().parse(text):
        found = directive(token)
        yield token, found
        if found is not None:
            yield from walk(found.body)
