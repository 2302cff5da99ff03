"""The mark behind a sentence that opens its support: no bracket is left around it, and nothing else is touched."""

from __future__ import annotations

import pytest
from docutils import nodes, utils

from tools import evidence


def shown(*parts: str) -> str:
    """A paragraph after the brackets were dropped; "°" is a mark, "[...]" a link."""
    paragraph = nodes.paragraph()
    for part in parts:
        mark, link = part == "°", part.startswith("[")
        paragraph += evidence.Support() if mark else nodes.reference("", part) if link else nodes.Text(part)
    page = utils.new_document("page")
    page += paragraph
    evidence.drop_brackets(None, page)  # type: ignore[arg-type]
    return "".join("°" if isinstance(node, evidence.Support) else node.astext() for node in paragraph.children)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("Cats win (", "°", "). Dogs"), "Cats win°. Dogs"),
        (("Cats win (", "°", ") (", "°", "). Dogs"), "Cats win°°. Dogs"),
        (("Cats win (", "[Theorem 1]", ") (", "°", "). Dogs"), "Cats win ([Theorem 1])°. Dogs"),
        (("Cats (of Rome) win (", "°", ") twice (or so)."), "Cats (of Rome) win° twice (or so)."),
        (("", "°"), "°"),
        (("Cats win ", "°", ""), "Cats win °"),
    ],
)
def test_brackets_around_marks_go(parts: tuple[str, ...], text: str) -> None:
    assert shown(*parts) == text
