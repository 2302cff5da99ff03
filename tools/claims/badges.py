"""Under each statement of a lesson: what of it a machine checked.

A row of `book/claims/*.yml` that names the statement and has the field `machine` gives a folded line, "Checked by
machine: for some sizes". Unfolded it says what exactly, and leads to the row. Several rows that say the same share a
line; a statement without such a row gets nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from html import escape
from itertools import groupby

from docutils import nodes
from sphinx import addnodes
from sphinx_proof.nodes import NODE_TYPES

from tools.claims import rows
from tools.claims.pages import claims_page, pieces_of

SUMMARIES = {
    "every size": "for every size",
    "some sizes": "for some sizes",
    "one direction": "in one direction",
    "pieces": "the computations of the proof",
}


def badge(claims: Sequence[rows.Claim], *, pages: Collection[str] = ()) -> list[nodes.Node]:
    """The folded line for the rows of one statement; nothing where none has `machine`.

    `pages` are the pages that the build knows: a row is a link where its page is among them.
    """
    checked = [(claim.machine, claim) for claim in claims if claim.machine]
    if not checked:
        return []
    checked.sort(key=lambda pair: (list(SUMMARIES).index(pair[0].scope), pair[0].what))
    same = [(machine, [claim for _, claim in some]) for machine, some in groupby(checked, key=lambda pair: pair[0])]
    scopes = list(dict.fromkeys(SUMMARIES[machine.scope] for machine, _ in same))
    opening = f'<details class="machine-badge"><summary>Checked by machine: {escape("; ".join(scopes))}</summary>'
    lines = [_line(machine, some, named=len(scopes) > 1, pages=pages) for machine, some in same]
    return [_raw(opening), *lines, _raw("</details>")]


def _line(machine: rows.Machine, claims: list[rows.Claim], *, named: bool, pages: Collection[str]) -> nodes.paragraph:
    """One paragraph: the scope where the badge has several, what was checked, and the rows that say so."""
    text = f"{SUMMARIES[machine.scope]}: {machine.what}" if named else _capital(machine.what)
    line = nodes.paragraph("", "", *_inline(text))
    line += nodes.Text(" (")
    for number, claim in enumerate(claims):
        line += nodes.Text(", " if number else "")
        line += _link(claim) if claims_page(claim) in pages else nodes.Text(claim.id)
    line += nodes.Text(")")
    return line


def _capital(text: str) -> str:
    """A sentence with a capital: "all sizes" -> "All sizes"; a symbol, as in "k = 2", stays."""
    return re.sub(r"\A[a-z](?=[a-z])", lambda match: match[0].upper(), text)


def _inline(text: str) -> list[nodes.Node]:
    """The nodes of a sentence with formulas in dollars and code in backticks."""
    kinds = {"$": nodes.math, "`": nodes.literal}
    return [kinds[part[0]]("", part[1:-1]) if marked else nodes.Text(part) for part, marked in pieces_of(text) if part]


def _link(claim: rows.Claim) -> nodes.Node:
    """A link to the row on its page of claims, which Sphinx resolves when it has read that page."""
    words = nodes.inline("", claim.id)
    return addnodes.pending_xref(
        "", words, refdomain="std", reftype="ref", reftarget=claim.anchor, refexplicit=True, refwarn=True
    )


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def statements(doctree: nodes.document) -> list[nodes.Element]:
    """The theorems, lemmas, definitions of a page that have a label."""
    return [node for kind in set(NODE_TYPES.values()) for node in doctree.findall(kind) if node.get("label")]


def add_badges(doctree: nodes.document, claims: Sequence[rows.Claim], *, pages: Collection[str] = ()) -> set[str]:
    """Put a badge under each statement of a page that has one; the names of the claims files that were used."""
    used: set[str] = set()
    for statement in statements(doctree):
        mine = [claim for claim in claims if claim.theorem == statement["label"]]
        made = badge(mine, pages=pages)
        place = statement.parent.index(statement) + 1
        statement.parent.insert(place, made)
        used |= {claim.file for claim in mine}
    return used
