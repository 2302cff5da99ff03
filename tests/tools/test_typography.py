"""A minus is a minus; no line begins with the % of a number, or with the comma behind a formula."""

from __future__ import annotations

import re

import pytest
from docutils import nodes, utils

from tools import typography

SPACE = "\u00a0"


def page(*parts: nodes.Node) -> nodes.paragraph:
    """A paragraph, after the extension has seen it."""
    document, paragraph = utils.new_document("page"), nodes.paragraph("", "", *parts)
    document += paragraph
    typography.keep(None, document, "page")
    return paragraph


def glued(text: str) -> nodes.inline:
    return nodes.inline(text, text, classes=["pasted-text"])


def test_a_number_keeps_its_percent_sign_and_the_space_of_the_house() -> None:
    words = map(nodes.Text, ("From 49 % to 94%, ", " % and ", " of 5 %s"))
    kept = page(next(words), glued("3.3"), next(words), glued("82%"), next(words))
    assert kept.astext() == f"From 49{SPACE}% to 94{SPACE}%, 3.3{SPACE}% and 82{SPACE}% of 5 %s"
    assert page(nodes.math("2.2", "2.2"), nodes.Text(" %.")).astext() == f"2.2{SPACE}%."
    assert page(nodes.literal("", "5 % 3"), nodes.Text(" %")).astext() == f"5 % 3{SPACE}%"


def test_a_short_formula_keeps_the_punctuation_behind_it() -> None:
    formulas = zip(("h=0.04", "k", "n"), (", which", " (see ", ")."), strict=True)
    kept = page(*(part for formula, words in formulas for part in (nodes.math("", formula), nodes.Text(words))))
    assert [one.astext() for one in kept.findall(nodes.inline)] == ["h=0.04,", "n)."]
    assert kept.astext() == "h=0.04, whichk (see n)." and len(list(kept.findall(nodes.math))) == 3
    norms = nodes.math("", r"\lVert q\rVert^2 = \lVert\Delta q\rVert^{2}")
    assert list(page(norms, nodes.Text(".")).findall(nodes.inline))
    assert not list(page(nodes.math("", "x + " * 20), nodes.Text(".")).findall(nodes.inline))


def test_a_minus_is_no_hyphen() -> None:
    rest = nodes.Text(" to (-.5, -1), 5-10 of P1-3, ")
    kept = page(nodes.Text("from "), glued("-0.64"), rest, nodes.literal("", "x = -1"))
    assert kept.astext() == "from −0.64 to (−.5, −1), 5-10 of P1-3, x = -1"
    assert page(nodes.math("", "n"), nodes.Text("-1")).astext() == "n-1"


def test_a_minus_in_the_table_of_a_notebook_is_one_too() -> None:
    document = utils.new_document("page")
    table = '<table data-x="-1"><tr><td>-0.7 <small>±&nbsp;2</small></td><th>-1</th></tr></table>'
    document += [nodes.raw("", table, format="html"), nodes.raw("", f"<script>-1</script>{table}", format="html")]
    typography.keep(None, document, "page")
    found, scripted = (raw.astext() for raw in document.findall(nodes.raw))
    assert found == table.replace(">-", ">−") and scripted.endswith(table)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("ratio 1e-05, at 1e-3.", "ratio 10<sup>−5</sup>, at 10<sup>−3</sup>."),
        ("-2.1e-16 and 8.0e+07", f"−2.1{SPACE}·{SPACE}10<sup>−16</sup> and 8.0{SPACE}·{SPACE}10<sup>7</sup>"),
        ("8.0e+00", "8.0"),
        ("a1e-05, 1e-05b, v1.1e-05.json, 2e5", "a1e-05, 1e-05b, v1.1e-05.json, 2e5"),
    ],
)
def test_a_power_of_ten_is_no_code(written: str, shown: str) -> None:
    assert page(nodes.Text(written)).astext() == re.sub("</?sup>", "", shown)
    assert len(list(page(nodes.Text(written)).findall(nodes.superscript))) == shown.count("<sup>")
    assert page(nodes.literal("", written)).astext() == written
    found = nodes.raw("", f"<table><tr><td>{written}</td></tr></table><svg><text>1e-05</text></svg>", format="html")
    document = utils.new_document("page")
    document += found
    typography.keep(None, document, "page")
    assert found.astext().startswith(f"<table><tr><td>{shown}</td>")
    assert '<text>10<tspan dy="-4" font-size="9">−5</tspan><tspan dy="4">' in found.astext()


def test_no_line_of_a_heading_ends_in_the_middle_of_a_word() -> None:
    document, title = utils.new_document("page"), nodes.title("", "The bias of in-batch sampling, 8-10")
    document += nodes.section("", title)
    typography.keep(None, document, "page")
    assert [node.astext() for node in title.findall(nodes.inline)] == ["in-batch"]
    assert title.astext() == "The bias of in-batch sampling, 8-10"
