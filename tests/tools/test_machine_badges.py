"""A mark behind a statement of a lesson opens what of it a machine checked, as its rows of the claims say it."""

from __future__ import annotations

import re

from docutils import nodes, utils
from sphinx import addnodes
from sphinx_proof.nodes import NODE_TYPES

from tools.claims import badges, rows

SOME = rows.Machine("some sizes", "widths $d=2$ and $3$, with the rule `a_b`.")
EVERY = rows.Machine("every size", "in inner products.")
BUILT = {"book/reference/claims/cats"}


def row(name: str, machine: rows.Machine | None, theorem: str | None = "thm-cats") -> rows.Claim:
    said = {"statement": "Cats purr.", "status": "proved", "not_claimed": "Nothing."}
    return rows.Claim(id=name, paper="X", file="cats.yml", theorem=theorem, machine=machine, **said)


def page(*labels: str) -> nodes.document:
    """A page with statements, each followed by a paragraph, as sphinx-proof makes them."""
    made = utils.new_document("page")
    section = nodes.section()
    made += section
    for label in labels:
        kind = NODE_TYPES["lemma" if label.startswith("lem") else "theorem"]
        section += kind("", nodes.paragraph("", "Cats purr."), label=label)
        section += nodes.paragraph("", "Proof.")
    return made


def html(made: list[nodes.Node]) -> str:
    return "".join(node.astext() for node in made)


def test_the_badge_stands_behind_the_words_of_its_statement_and_nowhere_else() -> None:
    made = page("lem-dogs", "thm-cats")
    assert badges.add_badges(made, [row("X1", SOME)]) == {"cats.yml"}
    assert [type(node).__name__ for node in made[0]] == ["lemma_node", "paragraph", "theorem_node", "paragraph"]
    names = [type(node).__name__ for node in made[0][2][0]]
    assert names == ["Text", "raw", "inline", "raw"] and len(made[0][0][0]) == 1


def test_a_statement_that_ends_in_a_formula_has_its_badge_in_a_line_of_its_own() -> None:
    made = page("thm-cats")
    made[0][0] += nodes.math_block("", "p = 1")
    badges.add_badges(made, [row("X1", SOME)])
    assert [type(node).__name__ for node in made[0][0]] == ["paragraph", "math_block", "paragraph"]


def test_a_statement_whose_rows_say_nothing_of_a_machine_has_no_badge() -> None:
    made = page("thm-cats", "")
    badges.add_badges(made, [row("X1", None), row("X2", SOME, theorem=None), row("X3", SOME, "thm-mice")])
    assert not list(made.findall(nodes.raw))


def test_it_opens_and_says_for_which_sizes() -> None:
    text = html(badges.badge([row("X1", SOME)], "thm-cats"))
    assert 'popovertarget="checked-thm-cats" aria-label="Checked by machine: for some sizes"></button>' in text
    assert '<span id="checked-thm-cats" class="support machine-badge" popover><b>Checked by machine' in text
    assert "</b>Widths" in text and text.count("<span") == text.count("</span>") == 1
    assert "</b>k = 2." in html(badges.badge([row("X1", rows.Machine("some sizes", "k = 2."))], "thm-cats"))


def test_formulas_and_code_are_set_as_such() -> None:
    (line,) = (node for node in badges.badge([row("X1", SOME)], "thm-cats") if isinstance(node, nodes.inline))
    assert [node.astext() for node in line.findall(nodes.math)] == ["d=2", "3"]
    assert [node.astext() for node in line.findall(nodes.literal)] == ["a_b"]
    assert "$" not in line.astext() and "`" not in line.astext()


def test_each_line_leads_to_its_row_and_rows_that_say_the_same_share_one() -> None:
    made = badges.badge([row("X1", SOME), row("X2", EVERY), row("X3", SOME)], "thm-cats", pages=BUILT)
    assert "Checked by machine: for every size; for some sizes<" in html(made)
    first, second = (node for node in made if isinstance(node, nodes.inline))
    assert first.astext() == "for every size: in inner products. (X2)"
    links = [(link.astext(), link["reftarget"]) for link in second.findall(addnodes.pending_xref)]
    assert links == [("X1", "claim-x1"), ("X3", "claim-x3")]


def test_without_the_page_of_claims_the_rows_are_named_and_not_linked() -> None:
    (line,) = (n for n in badges.badge([row("X1", SOME)], "thm-cats") if isinstance(n, nodes.inline))
    assert line.astext().endswith("(X1)") and not list(line.findall(addnodes.pending_xref))


def test_every_scope_has_words_and_every_formula_of_the_book_is_closed() -> None:
    assert set(badges.SUMMARIES) == set(rows.SCOPES)
    claims = [claim for claim in rows.load() if claim.machine]
    lines = {claim.id: html(badges.badge([claim], "thm")) for claim in claims}
    assert lines and not [name for name, text in lines.items() if re.search(r"[$`]", text)]
