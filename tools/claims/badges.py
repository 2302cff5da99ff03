"""Behind each statement of a lesson: a mark that opens what of it a machine checked.

A row of a lesson's claims.yml that names the statement and has the field `machine` gives the mark, which is called
"Checked by machine: for some sizes" and opens what exactly was checked, and a link to the row. Several rows that say
the same share a line; a statement without such a row gets nothing.
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


def badge(claims: Sequence[rows.Claim], label: str, *, pages: Collection[str] = ()) -> list[nodes.Node]:
    """The mark for the rows of the statement with a label, and what it opens; nothing where no row has `machine`.

    `pages` are the pages that the build knows: a row is a link where its page is among them.
    """
    checked = [(claim.machine, claim) for claim in claims if claim.machine]
    if not checked:
        return []
    checked.sort(key=lambda pair: (list(SUMMARIES).index(pair[0].scope), pair[0].what))
    same = [(machine, [claim for _, claim in some]) for machine, some in groupby(checked, key=lambda pair: pair[0])]
    scopes = list(dict.fromkeys(SUMMARIES[machine.scope] for machine, _ in same))
    said, name = f"Checked by machine: {escape('; '.join(scopes))}", f"checked-{label}"
    opening = (
        f'&#8288;<button type="button" class="evidence machine-badge" popovertarget="{name}" aria-label="{said}">'
        f'</button><span id="{name}" class="support machine-badge" popover><b>{said}</b>'
    )
    lines = [_line(machine, some, named=len(scopes) > 1, pages=pages) for machine, some in same]
    return [_raw(opening), *lines, _raw("</span>")]


def _line(machine: rows.Machine, claims: list[rows.Claim], *, named: bool, pages: Collection[str]) -> nodes.inline:
    """One line: the scope where the badge has several, what was checked, and the rows that say so."""
    text = f"{SUMMARIES[machine.scope]}: {machine.what}" if named else _capital(machine.what)
    line = nodes.inline("", "", *_inline(text), classes=["line"])
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
    """Put a badge behind the words of each statement of a page that has one; the claims files that were used."""
    used: set[str] = set()
    for statement in statements(doctree):
        mine = [claim for claim in claims if claim.theorem == statement["label"]]
        if made := badge(mine, statement["label"], pages=pages):
            _last_paragraph(statement).extend(made)
        used |= {claim.file for claim in mine}
    return used


def _last_paragraph(statement: nodes.Element) -> nodes.Element:
    """The paragraph with which a statement ends; a new one where it ends in a formula or a list."""
    end = statement[-1]
    while isinstance(end, nodes.section):
        statement, end = end, end[-1]
    if not isinstance(end, nodes.paragraph):
        end = nodes.paragraph("", "", classes=["machine-badge"])
        statement += end
    return end
