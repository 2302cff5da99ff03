"""From MyST to plain Markdown: every construct that the book uses, on a small book of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tools import address, export_notebooks
from tools.course_index import Index, Unknown
from tools.plain_markdown import PlainMarkdown

pytestmark = pytest.mark.seconds

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = address.repository()
SITE = address.site(REPOSITORY)
RAW = REPOSITORY.replace("https://github.com/", "https://raw.githubusercontent.com/")
BIBLIOGRAPHY = f"{SITE}/book/reference/bibliography.html"
TOC = """
format: jb-book
root: book/index
parts:
  - caption: Start
    chapters: [{file: book/start}]
  - caption: One
    numbered: 1
    chapters: [{file: book/first}, {file: book/second, sections: [{file: book/lab}]}]
  - caption: Two
    numbered: 1
    chapters: [{file: book/third}]
  - caption: Reference
    chapters: [{file: book/reference/glossary}, {file: book/reference/bibliography}]
"""
THEOREM = ":::{{prf:theorem}} On {0}\n:label: thm-{0}\n\nText.\n:::"


def notebook(*cells: str | dict) -> str:
    made = [
        {"cell_type": "markdown", "metadata": {}, "source": cell}
        if isinstance(cell, str)
        else {"cell_type": "code", "execution_count": 1, "outputs": [], "metadata": {}, **cell}
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def published(**numbers: str) -> dict:
    outputs = [
        {
            "output_type": "display_data",
            "data": {"application/papermill.record/text/plain": repr(text)},
            "metadata": {"scrapbook": {"name": name}},
        }
        for name, text in numbers.items()
    ]
    return {"source": "publish()", "outputs": outputs}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A small book: three numbered chapters in two parts, a lab, a page outside the count."""
    (tmp_path / "book" / "reference").mkdir(parents=True)
    for name in ("pyproject.toml", "book/references.bib"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "book" / "picture.png").touch()
    figure = {
        "source": "plot()",
        "metadata": {"mystnb": {"figure": {"caption": "A line.", "name": "fig-a"}, "image": {"alt": "It falls."}}},
    }
    pages = {
        "_toc.yml": TOC,
        "book/index.md": "# The book\n",
        "book/start.ipynb": notebook("# Start", figure),
        "book/first.ipynb": notebook(
            "# First\n\n## Second heading",
            THEOREM.format("a"),
            ":::{prf:lemma}\nUnlabelled.\n:::",
            "$$\nx\n$$ (eq-one)",
            figure | {"metadata": {"mystnb": {"figure": {"caption": "B.", "name": "fig-b"}}}},
            ":::{exercise} Count\n:label: ex-one\n\nHow many?\n:::",
            published(ratio="0.25", pairs="39632"),
        ),
        "book/second.ipynb": notebook("# Second", THEOREM.format("b")),
        "book/lab.ipynb": notebook("# Lab", THEOREM.format("lab")),
        "book/third.ipynb": notebook("# Third", THEOREM.format("c"), "(here)=\n## A place"),
        "book/reference/glossary.md": "# Glossary\n\n```{glossary}\nlong tail\n    Many with few.\n```\n",
        "book/reference/bibliography.md": "# Bibliography\n",
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def writer(book: Path) -> PlainMarkdown:
    return PlainMarkdown(Index(book), "book/first")


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("See {prf:ref}`thm-a` and {eq}`eq-one`.", "See Theorem 1.1 and (1.1)."),
        ("{prf:ref}`thm-c`", f"[Theorem 3.1]({SITE}/book/third.html#thm-c)"),
        ("{numref}`fig-b`, {numref}`picture %s <fig-b>`", "Fig. 1.1, picture 1.1"),
        ("{numref}`fig-a`", f"[Fig. 1]({SITE}/book/start.html#fig-a)"),
        ("{cite}`p3`", f"[[Liu *et al.*, 2026a]]({BIBLIOGRAPHY})"),
        ("{cite:t}`eckart1936`", f"Eckart and Young [[1936]]({BIBLIOGRAPHY})"),
        ("{cite}`yuan2021,p4`", f"[[Yuan *et al.*, 2021, Krichene *et al.*, 2019]]({BIBLIOGRAPHY})"),
        ("{term}`long tail`", f"[long tail]({SITE}/book/reference/glossary.html#term-long-tail)"),
        ("{term}`tails <long tail>`", f"[tails]({SITE}/book/reference/glossary.html#term-long-tail)"),
        ("{doc}`second`, {doc}`more <second>`", f"[Second]({SITE}/book/second.html), [more]({SITE}/book/second.html)"),
        (
            "{py:func}`course_lib.in_batch.batch_loss`",
            f"[`course_lib.in_batch.batch_loss`]({SITE}/book/reference/api/maths.html#course_lib.in_batch.batch_loss)",
        ),
        ("{glue:text}`ratio` of {glue:text}`pairs:,.0f`", "0.25 of 39,632"),
        ("{glue:text}`first.ipynb::ratio:.1f`", "0.2"),
        (
            "[there](second.ipynb) [a [b] c](../book/third.ipynb#here)",
            f"[there]({SITE}/book/second.html) [a [b] c]({SITE}/book/third.html#here)",
        ),
        (
            "[](#here) and [later](here)",
            f"[A place]({SITE}/book/third.html#here) and [later]({SITE}/book/third.html#here)",
        ),
        ("[a {eq}`eq-one`](second.ipynb)", f"[a (1.1)]({SITE}/book/second.html)"),
        ("[row](#claim-p1-eq9)", f"[row]({SITE}/book/reference/claims/ddc.html#claim-p1-eq9)"),
        ("[up](#second-heading)", f"[up]({SITE}/book/first.html#second-heading)"),
        (
            "[out](https://example.org/a_b) <https://example.org>",
            "[out](https://example.org/a_b) <https://example.org>",
        ),
        ("[done]{.done} [x](second.md){.y}", f"done [x]({SITE}/book/second.html)"),
        ("(a-label)=\n## Head", "## Head"),
        ("Before\n% a comment\n\nAfter", "Before\n\nAfter"),
        ("$$\nx\n$$ (eq-one)", "$$\nx \\tag{1.1}\n$$"),
        ("$$ x $$", "$$\nx\n$$"),
        ("Code: `{eq}` and ``{cite}`p3` `` {eq}`eq-one`", "Code: `{eq}` and ``{cite}`p3` `` (1.1)"),
        ("```python\nx = '{eq}`eq-one`'\n```", "```python\nx = '{eq}`eq-one`'\n```"),
        ("    {eq}`indented code`", "    {eq}`indented code`"),
        ("> quoted {eq}`eq-one`\n> and {prf:ref}`thm-a`", "> quoted (1.1)\n> and Theorem 1.1"),
        ("- one {eq}`eq-one`\n  two {eq}`eq-one`\n- three", "- one (1.1)\n  two (1.1)\n- three"),
        ("| a | b |\n|---|---|\n| {eq}`eq-one` | {eq}`eq-one` |", "| a | b |\n|---|---|\n| (1.1) | (1.1) |"),
        (":::{note}\nBody {eq}`eq-one`.\n:::", "> **Note**\n>\n> Body (1.1)."),
        (
            ":::{admonition} Why {eq}`eq-one`?\n:class: question\n\nBody\n\n- a\n:::",
            "> **Why (1.1)?**\n>\n> Body\n>\n> - a",
        ),
        (":::{prf:proof}\nThree lines.\n:::", "> **Proof.** Three lines."),
        (
            ":::{admonition} Hint\n:class: dropdown\n\n$$\nx\n$$\n:::",
            "<details><summary><b>Hint</b></summary>\n\n$$\nx\n$$\n\n</details>",
        ),
        (
            ":::{solution} ex-one\n:class: dropdown\n\n```python\n1\n```\n:::",
            "<details><summary><b>Solution to Exercise 1.1 (Count)</b></summary>\n\n```python\n1\n```\n\n</details>",
        ),
        ("- item\n\n  :::{tip}\n  In it.\n  :::\n- next", "- item\n\n  > **Tip**\n  >\n  > In it.\n- next"),
        ("::::{note}\n```{prf:proof}\nInner\n```\n::::", "> **Note**\n>\n> > **Proof.** Inner"),
        ("```{math}\n:label: eq-one\nx\n```", "$$\nx \\tag{1.1}\n$$"),
        ("![alt](picture.png)", f"![alt]({RAW}/main/book/picture.png)"),
    ],
)
def test_each_construct_has_a_plain_form(writer: PlainMarkdown, source: str, plain: str) -> None:
    assert writer.convert(source) == plain


def test_a_formula_in_a_box_stays_on_one_line(writer: PlainMarkdown) -> None:
    """Jupyter takes the `>` of a quoted formula's next line for a part of the formula."""
    source = ":::{note}\nInline $a\n+b$ and\n\n$$\nx % a comment\n+ 50\\% y\n$$ (eq-one)\n:::"
    assert writer.convert(source) == "> **Note**\n>\n> Inline $a +b$ and\n>\n> $$x  + 50\\% y \\tag{1.1}$$"


def test_boxes_take_the_sites_numbers_in_order(writer: PlainMarkdown) -> None:
    assert writer.convert(THEOREM.format("a")) == "> **Theorem 1.1 (On a)**\n>\n> Text."
    assert writer.convert(":::{prf:lemma}\nUnlabelled.\n:::") == "> **Lemma 1.2**\n>\n> Unlabelled."
    assert writer.caption("B {eq}`eq-one`.", "") == "*Fig. 1.1.* B (1.1)."
    assert writer.convert(":::{exercise} Count\n:label: ex-one\n\nHow many?\n:::").startswith(
        "> **Exercise 1.1 (Count)**"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Text {strange}`x`", r"role: 'strange' .* no plain form"),
        (":::{strange}\nx\n:::", r"directive: 'strange' has no plain form"),
        (":::{note}\n:strange: 1\n\nx\n:::", r"directive: note has the option 'strange'"),
        ("{prf:ref}`thm-none`", r"label: 'thm-none' is set nowhere"),
        ("{cite}`nobody1900`", r"cite: 'nobody1900' is no key"),
        ("{term}`short tail`", r"term: 'short tail' is not in the glossary"),
        ("{glue:text}`nothing`", r"glue: 'nothing' is published by no cell of book/first.ipynb"),
        ("[x](nowhere.ipynb)", r"link: 'nowhere.ipynb' leads to 'book/nowhere'"),
        ("[x](../../out.md)", r"leads out of the repository"),
        ("![x](nothing.png)", r"picture: 'nothing.png' is no file"),
        (":::{solution} ex-none\nx\n:::", r"there is no exercise 'ex-none'"),
        ("{{ name }}", r"substitution_block"),
        ("term\n: meaning", r"'dl'"),
        ("Note.[^1]\n\n[^1]: Foot", r"footnote"),
        ("$$\n\\begin{align}x\\end{align}\n$$ (eq-one)", r"number one of"),
    ],
)
def test_what_has_no_plain_form_is_an_error_that_says_so(writer: PlainMarkdown, source: str, message: str) -> None:
    with pytest.raises(Unknown, match=message):
        writer.convert(source)


def test_an_error_names_file_and_cell(book: Path) -> None:
    path = book / "book" / "first.ipynb"
    path.write_text(notebook("# First", "Text {strange}`x`"), encoding="utf-8")
    with pytest.raises(Unknown, match=r"^book/first\.ipynb, cell 1: role: 'strange'"):
        export_notebooks.export(Index(book), "book/first")


def test_a_label_that_is_set_twice_is_an_error(book: Path) -> None:
    (book / "book" / "third.ipynb").write_text(notebook("# Third", THEOREM.format("a")), encoding="utf-8")
    with pytest.raises(Unknown, match=r"label: 'thm-a' is set on book/first and again on book/third"):
        Index(book)


def test_cells_keep_their_code_and_lose_what_only_the_site_reads(book: Path) -> None:
    cell = {
        "source": "x = {'eq': '{eq}`a`'}",
        "metadata": {
            "tags": ["hide-input", "parameters", "nbval-ignore-output"],
            "mystnb": {"image": {"alt": "Falls."}},
        },
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": "kept\n"},
            {"output_type": "display_data", "data": {"text/plain": "<Figure size 1x1 with 1 Axes>"}, "metadata": {}},
            {
                "output_type": "display_data",
                "data": {"text/html": '<div data-course-widget="x"></div>'},
                "metadata": {},
            },
        ],
    }
    (book / "book" / "third.ipynb").write_text(notebook("# Third", cell), encoding="utf-8")
    _, _, _, code, words = export_notebooks.export(Index(book), "book/third").cells
    assert code.source == cell["source"]
    assert code.metadata == {"tags": ["parameters"], "jupyter": {"source_hidden": True}}
    assert [output.get("text") for output in code.outputs] == ["kept\n"]
    assert words.source == "<details><summary>The figure in words</summary>\n\nFalls.\n\n</details>"
