"""Writes a new chapter: `make chapter NAME=my-topic PART=sampling` (TITLE="My topic" is optional).

A page with the spine of a chapter, its further page and its lab, the lesson's folder in course_lib, claims, quiz,
assignment, tests, and the lines in _toc.yml. All of it works at once and is marked as a draft; CONTRIBUTING.md says
what to fill in.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import jupytext
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tools import toc

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = Path(__file__).with_name("chapter_template")
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
DRAFT = {"course": {"draft": True}, **KERNEL, "language_info": {"name": "python"}}


class ChapterError(ValueError):
    """A name or a part that cannot be used; the message says what was expected."""


@dataclass(frozen=True)
class Chapter:
    """A chapter to be: name "my-topic" of its page, part "sampling" of the book, title."""

    name: str
    part: str
    title: str

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")

    def words(self, root: Path) -> dict[str, str]:
        """What the templates may name."""
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return {
            "name": self.name,
            "module": self.module,
            "part": self.part,
            "title": self.title,
            "class": "".join(word.capitalize() for word in self.name.split("-")),
            "claim": f"X{last_claim(root) + 1}",
            "address": project["urls"]["Repository"],
        }


def last_claim(root: Path) -> int:
    """The highest number of a claim of our own, X1, X2, ..."""
    texts = (path.read_text(encoding="utf-8") for path in root.glob("course_lib/lessons/*/claims.yml"))
    return max((int(n) for text in texts for n in re.findall(r"^- id: X(\d+)", text, re.MULTILINE)), default=0)


def parts(root: Path) -> dict[str, str]:
    """Folder of each numbered part of the book -> its caption in _toc.yml."""
    return {Path(entry.page).parent.name: entry.part for entry in toc.entries(toc.tree(root)) if entry.number}


def check(chapter: Chapter, root: Path) -> None:
    """Raises ChapterError where the chapter cannot be written."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", chapter.name) or keyword.iskeyword(chapter.module):
        raise ChapterError(f"NAME={chapter.name!r}: expected lower-case words joined by -, such as my-topic")
    if chapter.part not in parts(root):
        raise ChapterError(f"PART={chapter.part!r}: expected one of {', '.join(parts(root))}")
    taken = [path for path in files(chapter) if (root / path).exists()]
    if taken:
        raise ChapterError(f"NAME={chapter.name!r}: {taken[0]} exists already")


def files(chapter: Chapter) -> dict[str, str]:
    """Every file to be written -> its template, which lies where the file will lie."""
    names = {"NAME": chapter.name, "MODULE": chapter.module, "PART": chapter.part}
    templates = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.jinja"))
    placed = re.compile("|".join(names))
    return {placed.sub(lambda found: names[found[0]], name).removesuffix(".jinja"): name for name in templates}


def write(chapter: Chapter, root: Path = ROOT) -> list[Path]:
    """Writes the files and the lines of _toc.yml; returns the paths."""
    check(chapter, root)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        variable_start_string="<<",
        variable_end_string=">>",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    words = chapter.words(root)
    written = []
    for name, template in files(chapter).items():
        text = environment.get_template(template).render(words)
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            notebook(text, graded="exercises" in name) if path.suffix == ".ipynb" else text, encoding="utf-8"
        )
        written.append(path)
    add_to_contents(chapter, root)
    return written


def notebook(text: str, *, graded: bool) -> str:
    """The JSON of a notebook written as MyST Markdown."""
    found = jupytext.reads(text, fmt="md:myst")
    found.metadata = DRAFT | (
        {"course": {"draft": True, "open_rooms": ["arrays", "interactions", "datasets"]}} if graded else {}
    )
    for cell in found.cells:
        if graded:
            cell["id"] = cell.metadata.pop("id")
        else:
            cell.pop("id", None)
    found.nbformat, found.nbformat_minor = 4, 5 if graded else 4
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def add_to_contents(chapter: Chapter, root: Path) -> None:
    """Adds the chapter's pages at the end of the part and of two references; _toc.yml stays as it is otherwise."""
    path = root / "_toc.yml"
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.strip() == f"- caption: {parts(root)[chapter.part]}")
    end = next((at for at in range(start + 1, len(lines)) if lines[at].strip().startswith("- caption:")), len(lines))
    page = f"book/{chapter.part}/{chapter.name}"
    added = [
        f"      - file: {page}",
        "        sections:",
        f"          - file: {page}-further",
        f"          - file: {page}-lab",
    ]
    lines[end:end] = added
    for reference in ("claims", "api/lessons"):  # behind the last page of each that is there
        entries = [at for at, line in enumerate(lines) if f"- file: book/reference/{reference}/" in line]
        indent = lines[entries[-1]].partition("-")[0]
        entry = [f"{indent}- file: book/reference/{reference}/{chapter.name}", f"{indent}  title: {chapter.title}"]
        lines[entries[-1] + 2 : entries[-1] + 2] = entry
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Entry point of `make chapter`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("name", help="of the page, such as my-topic")
    parser.add_argument("--part", default="sampling", help="folder of a numbered part of the book")
    parser.add_argument("--title", default="", help="the page's heading (default: the name in words)")
    given = parser.parse_args(argv)
    chapter = Chapter(given.name, given.part, given.title or given.name.replace("-", " ").capitalize())
    try:
        written = write(chapter)
    except ChapterError as error:
        print(f"make chapter: {error}", file=sys.stderr)
        return 2
    notebooks = [str(path) for path in written if path.suffix == ".ipynb" and "exercises" not in path.parts]
    subprocess.run([sys.executable, "-m", "tools.normalise", *notebooks], cwd=ROOT, check=True)
    print("Written, and named in _toc.yml:", *(f"  {path.relative_to(ROOT)}" for path in written), sep="\n")
    print("CONTRIBUTING.md, 'A new chapter', says what to fill in, in which order.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
