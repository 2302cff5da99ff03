"""Texts from templates in this folder: «name» stands for a value, and everything else is jinja's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    variable_start_string="«",
    variable_end_string="»",
    trim_blocks=True,
    keep_trailing_newline=True,
    undefined=StrictUndefined,
)


def filled(template: str, **values: Any) -> str:
    """A template with its values. jinja2.UndefinedError where it names one that is not given."""
    return TEMPLATES.get_template(template).render(values)


def html_of(title: str, text: str) -> str:
    """Markdown as a page that needs no other file; formulas are MathML."""
    from exercises.engine.grading.harmless import harmless_html

    return filled("page.html", title=title, body=harmless_html(text))
