"""The little markup of quiz texts: *emphasis*, `code` and $simple maths$, as nested pieces that any page can show.

No TeX and no MathJax: a quiz must read the same in the book, in JupyterLab, in Colab and without JavaScript. Inside
$...$ single letters are variables, `_` and `^` lower and raise one character or a {group}, and - is a minus sign.
"""

from __future__ import annotations

import html as escaping
import re
from typing import Any

Piece = str | list[Any]  # a text, or [tag, pieces]

_PARTS = re.compile(r"`(?P<code>[^`]+)`|\$(?P<math>[^$]+)\$|\*(?P<em>[^*$`]+)\*")
_MATH = re.compile(
    r"(?P<mark>[_^])(?:\{(?P<group>[^{}]*)\}|(?P<one>[^\s{}]))|(?P<word>[^\W\d_]+)|(?P<rest>[^\W_]|[^\w^])"
)
_RAISED = {"_": "sub", "^": "sup"}
_SHORT = 24  # formulas up to this length are not broken over two lines


def pieces(text: str) -> list[Piece]:
    """The text as a list of strings and [tag, pieces]; tags are em, code, span (maths), var, sub and sup.

    Raises ValueError for a mark that is opened and not closed, and for HTML, which would be shown as it stands.
    """
    if re.search(r"</?\w|&\w+;", text):
        raise ValueError(f"HTML in {text!r}: write *emphasis*, `code` and $maths$ instead")
    found, end = [], 0
    for part in _PARTS.finditer(text):
        found += _words(text[end : part.start()], text)
        kind = part.lastgroup or ""
        found.append(["span", _maths(part[kind])] if kind == "math" else [kind, [part[kind]]])
        end = part.end()
    return found + _words(text[end:], text)


def html(text: str) -> str:
    """The text as HTML, everything else escaped."""
    return _html(pieces(text))


def plain(text: str) -> str:
    """The text for a terminal: marks removed, maths as written."""
    return re.sub(r"[`$*]", "", text)


def _words(text: str, whole: str) -> list[Piece]:
    if stray := re.search(r"[`$*]", text):
        raise ValueError(f"{stray[0]} is opened and not closed in {whole!r}")
    return [text] if text else []


def _maths(source: str, *, raised: bool = False) -> list[Piece]:
    found: list[Piece] = []
    end = 0
    for part in _MATH.finditer(source):
        if part.start() != end:
            break
        end = part.end()
        if part["mark"]:
            found.append([_RAISED[part["mark"]], _maths(part["group"] or part["one"] or "", raised=True)])
        elif part["word"]:
            found.append(["var", [part["word"]]] if raised or len(part["word"]) == 1 else part["word"])
        else:
            space = "\N{NO-BREAK SPACE}" if len(source) <= _SHORT else " "
            found.append({"-": "\N{MINUS SIGN}", " ": space}.get(part["rest"], part["rest"]))
    if end != len(source):
        raise ValueError(f"cannot read ${source}$ from {source[end:]!r} on: _ and ^ need a character or a {{group}}")
    return _joined(found)


def _joined(found: list[Piece]) -> list[Piece]:
    """Neighbouring strings as one."""
    joined: list[Piece] = []
    for piece in found:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def _html(found: list[Piece]) -> str:
    return "".join(
        escaping.escape(piece, quote=False) if isinstance(piece, str) else f"<{piece[0]}>{_html(piece[1])}</{piece[0]}>"
        for piece in found
    )
