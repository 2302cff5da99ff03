"""What the conclusions of a page rest on: a sentence with a number or a comparison names its source.

A conclusion is a sentence of a box "What to remember", or of the last paragraph of a section before the exercises.
Where it has a decimal number, a percentage, "2 of 3" or "larger than", and in the box also where it says all, none,
every, never or always, it needs one of

    {finding}`name`                     a finding (tools/findings.py)
    {prf:ref}`label`, {eq}`label`       a statement or an equation of the book
    {glue:text}`name`                   a number that code published
    [P1-3.3](#claim-p1-3-3)             a row of the claims; or a {cite}

The build warns of each sentence of any page that has none (tools/evidence.py).
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

EVIDENCE = re.compile(r"\{(finding|prf:ref|eq|glue:text|ref|cite(:\w+)?)\}`|\(\S*#claim-[\w-]+\)")
# what is no number of ours: formulas, code, links, versions
ASIDE = re.compile(r"\$[^$]*\$|`[^`]*`|\[[^\]]*\]\([^)]*\)|\b(PyTorch|Python|Section|Theorem|Appendix|Lemma) \w?[\d.]+")
MEASURED = re.compile(
    r"\d\.\d|\d ?%|\d of \d|\b(?!rather|other)(\w+er|more|less|worse) than\b|\b(twice|half) as\b", re.I
)
SWEEPING = re.compile(r"\b(all|none|every|never|always)\b", re.I)
BOX = re.compile(
    r"^(?P<fence>:{3,}|`{3,})\{admonition\}[^\n]*\n:class:[^\n]*\bremember\b[^\n]*\n(?P<body>.*?)\n(?P=fence)",
    re.S | re.M,
)
OTHER_BOX = re.compile(r"^(?P<fence>:{3,}|`{3,})\{.*?^(?P=fence)\s*$", re.S | re.M)
DISPLAY = re.compile(r"^\$\$.*?\$\$[^\n]*$", re.S | re.M)
HEADING = re.compile(r"^#{2,3} (?P<title>.*)$", re.M)
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.M)
# a sentence ends at . ? or !, with what closes it, before a space and a capital or an opening sign
END = re.compile(r"(?<!\b[A-Z])(?<!e\.g)(?<!i\.e)[.?!][\"”’)*_]*(?=\s+[A-Z\[({$*_“\"]|\s*$)")
WITHOUT_CONCLUSIONS = ("Exercises", "Test yourself", "Further reading", "What to remember")


def sentences(text: str) -> list[str]:
    """The sentences of prose; each item of a list is a paragraph of its own."""
    found = []
    for block in re.split(r"\n\s*\n", LIST_ITEM.sub("\n\n", text)):
        line, start = " ".join(block.split()), 0
        for match in END.finditer(line):
            found.append(line[start : match.end()].strip())
            start = match.end()
        found.append(line[start:].strip())
    return [sentence for sentence in found if re.search(r"\w", re.sub(r"<!--.*?-->", "", sentence))]


def in_boxes(text: str) -> Iterator[str]:
    """The sentences of a page's boxes "What to remember"."""
    for box in BOX.finditer(text):
        yield from sentences(box["body"])


def at_ends(text: str) -> Iterator[str]:
    """The sentences of the last paragraph of each section of a page, up to its exercises."""
    parts = HEADING.split(DISPLAY.sub("", OTHER_BOX.sub("", text)))
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title.strip() == "Exercises":
            return
        if title.strip() not in WITHOUT_CONCLUSIONS:
            yield from sentences(_last_paragraph(body))


def _last_paragraph(body: str) -> str:
    """The last paragraph of prose: no table, no heading, no picture."""
    blocks = [block.strip() for block in re.split(r"\n\s*\n", body)]
    skipped = re.compile(r"[|#!]|```|:::|<!--[^>]*-->$|\([\w-]+\)=$|$")
    prose = [block for block in blocks if not skipped.match(block)]
    return prose[-1] if prose else ""


def unsupported(text: str) -> list[str]:
    """The conclusions of a page that claim something about data and name nothing that they rest on."""
    boxes = [one for one in in_boxes(text) if MEASURED.search(plain := ASIDE.sub(" ", one)) or SWEEPING.search(plain)]
    ends = [one for one in at_ends(text) if MEASURED.search(ASIDE.sub(" ", one))]
    return [one for one in [*boxes, *ends] if not EVIDENCE.search(one) and not one.endswith(("?", ":"))]


def text_of(path: Path) -> str:
    """The Markdown of a page, the cells of a notebook one after the other."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return source
    cells = json.loads(source)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
