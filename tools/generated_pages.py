"""A Sphinx extension that fills pages from their one source: claims, findings, results, notation, API, misconceptions.

A page holds a comment of the form ``<!-- claims: table P3 -->``, ``<!-- fill: notation -->`` or ``<!-- fill: api maths
-->``; the text that stands for it is made from the lessons' claims, from ``book/notation.yml``, from the docstrings of
``course_lib``. The roles {minutes} and {hours} say how long a page takes (tools/study_time.py).
"""

import importlib
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from tools import decisions, filters, study_time, thumbnails
from tools.claims import pages

ROOT = Path(__file__).resolve().parents[1]
NOTATION = ROOT / "book" / "notation.yml"
COMMENT = re.compile(r"^<!-- fill: (?P<what>\w+)(?: (?P<of>[\w/ .-]+?))? -->$", re.MULTILINE)
API = "book/reference/api"  # the index of the library; below it one page for each group, and for each lesson
NAMES = '<div class="every-name"></div>'  # where the index lists every name, once Sphinx has read them all
GROUPS = {  # page of the library: its title, and the rooms on it
    "data": (
        "Interactions, data sets and metrics",
        ("datasets", "hits", "interactions", "intervals", "metrics", "new_items", "tables"),
    ),
    "maths": (
        "Mathematics",
        (
            *("arrays", "correction", "gauge", "geometry", "gramians", "in_batch", "losses", "norms", "popularity"),
            *("processes", "step_cost"),
        ),
    ),
    "models": ("Models", ("backbones", "debiasing", "dependence", "encoders", "index", "jacobians", "optimisers")),
    "training": ("Training", ("training",)),
    "papers": ("What the papers print", ("papers",)),
    "experiments": ("Experiments", ("experiments",)),
    "audit": ("The audit of your own embeddings", ("audit",)),
    "ground": ("What the others stand on", ("checking", "dependencies", "extras", "outputs")),
    "lessons": ("Lessons", ()),
}
OPEN = {"training", "lessons", "audit", "papers"}  # their modules are asked for one by one, not through the package
LISTED = {"function", "class", "exception", "data"}  # methods stand on the page of their class
MARKUP = re.compile(r"([\\*_|`])")


def notation_tables(groups: list[dict[str, Any]]) -> str:
    """Markdown: one table for each group of the notation."""
    return "\n\n".join(f"## {group['group']}\n\n{_notation_table(**group)}" for group in groups)


def _notation_table(rows: list[dict[str, Any]], several: list[dict[str, str]] | None = None, **_more: Any) -> str:
    """The rows of a group; of the last group, the letters with several meanings and why."""
    if several:
        return "\n".join(
            ["| symbol | why |", "|---|---|", *(f"| ${row['symbol']}$ | {row['why']} |" for row in several)]
        )
    in_code = any(row["code"] for row in rows)
    lines = [
        f"| symbol |{' in code |' if in_code else ''} shape | meaning |",
        f"|---|{'---|' if in_code else ''}---|---|",
    ]
    for row in rows:
        symbol = row["symbol"].replace("|", "\\|")
        names = ", ".join(f"`{name.strip()}`" for name in row["code"].split(",") if name)
        code = f" {names} |" if in_code else ""
        meaning = f"{row['meaning']} (in one place)" if row.get("local") else row["meaning"]
        lines.append(f"| {f'${symbol}$' if symbol else ''} |{code} {row['shape']} | {meaning} |")
    return "\n".join(lines)


def rooms() -> list[str]:
    """What course_lib holds, as "geometry" and "lessons.ddc", group after group; what no group names comes last."""
    inside = _inside("course_lib")
    named = [room for _, members in GROUPS.values() for room in members]
    others = [room for room in inside if room not in {*named, "lessons"}]
    return [*named, *others, *(f"lessons.{name}" for name in _inside("course_lib.lessons"))]


def group_of(room: str) -> str:
    """The group of a room: that of "geometry" is "maths"; of a room that no group names, "ground"."""
    top = room.partition(".")[0]
    return top if top == "lessons" else next((name for name, (_, held) in GROUPS.items() if top in held), "ground")


def _inside(package: str) -> list[str]:
    """The public modules and packages right inside a package; of a plain module, none."""
    found = pkgutil.iter_modules(getattr(importlib.import_module(package), "__path__", []))
    return [info.name for info in found if not info.name.startswith("_")]


def anchor_of(room: str) -> str:
    """The label of a room on its page of the library: "geometry" has api-geometry."""
    return f"api-{room.rpartition('.')[2]}"


def api_page(room: str) -> str:
    """The page of a room: that of its group, and for each lesson one of its own."""
    group, name = group_of(room), room.partition(".")[2]
    return f"{API}/{group}/{name.replace('_', '-')}" if group == "lessons" else f"{API}/{group}"


def api_page_of(name: str) -> str:
    """The page of a name of the library: "course_lib.losses.logistic" is on that of the mathematics.

    Raises KeyError for a name that lies in no room.
    """
    for room in rooms():
        if f"{name}.".startswith(f"course_lib.{room}."):
            return api_page(room)
    raise KeyError(f"name: {name!r} lies in no room of course_lib")


def api_sections(page: str) -> str:
    """Markdown: a filter, and one section for each room of a page ("maths", "lessons/ddc"), with all that is public."""
    mine = [room for room in rooms() if api_page(room) == f"{API}/{page}"]
    if not mine:
        raise ValueError(f"fill: got api {page!r}, expected one of {', '.join(api_pages())}")
    form = filters.form("entries", rows="article section > dl.py", groups="article section section")
    return "\n\n".join([f"```{{raw}} html\n{form}\n```", *map(_section, mine)])


def api_pages() -> list[str]:
    """The pages of the library, without their common beginning: "data", "maths", ..."""
    return list(dict.fromkeys(api_page(room).removeprefix(f"{API}/") for room in rooms()))


def modules_of(room: str) -> list[str]:
    """The modules that the section of a room shows: itself and, where they are asked for one by one, those inside."""
    inside = _inside(f"course_lib.{room}") if room.partition(".")[0] in OPEN else []
    return [f"course_lib.{room}", *(f"course_lib.{room}.{name}" for name in inside)]


def _section(room: str) -> str:
    """The section of one room."""
    shown = "\n".join(f".. automodule:: {module}\n   :members: {_face(module)}\n" for module in modules_of(room))
    return f"({anchor_of(room)})=\n## `course_lib.{room}`\n\n```{{eval-rst}}\n{shown}```"


def _face(module: str) -> str:
    """The names of a package without `__all__`: its own and those that it takes from its modules.

    Nothing where it takes none: autodoc finds what a module defines.
    """
    found = importlib.import_module(module)
    if hasattr(found, "__all__"):
        return ""
    within = f"{module}."
    homes = {name: str(getattr(thing, "__module__", "")) for name, thing in vars(found).items() if name[0] != "_"}
    if not any(home.startswith(within) for home in homes.values()):
        return ""
    return ", ".join(sorted(name for name, home in homes.items() if f"{home}.".startswith(within)))


def api_list() -> str:
    """Markdown: for each group a table of its rooms, with the first line of their docstrings; a place for all names."""
    tables = []
    for group, members in itertools.groupby(rooms(), key=group_of):
        lines = [f"## {GROUPS[group][0]}", "", "| room | holds |", "|---|---|"]
        for room in members:
            said = (importlib.import_module(f"course_lib.{room}").__doc__ or "").strip().split("\n\n")[0]
            summary = " ".join(said.split()).replace("|", "\\|") or ", ".join(_inside(f"course_lib.{room}"))
            lines.append(f"| [`{room}`](#{anchor_of(room)}) | {summary} |")
        tables.append("\n".join(lines))
    return "\n\n".join([*tables, f"## Every name\n\n```{{raw}} html\n{NAMES}\n```"])


def names_html(found: Iterable[tuple[str, str, str]]) -> str:
    """HTML: a filter, and every function and class under its module, as links; of lessons the modules alone.

    found: name, page, kind. A name, or the module that it lies in, has the id that it had when the library was one
    page, so that an old address leads on from here.
    """
    known = list(found)
    modules = {name: page for name, page, kind in known if kind == "module"}
    members: dict[str, list[str]] = {name: [] for name in sorted(modules)}
    for name, page, kind in sorted(known):
        module = name.rpartition(".")[0]
        if kind in LISTED and module in members and not module.startswith("course_lib.lessons."):
            members[module].append(_name_html(name, page))
    groups = [
        f'<section class="names" id="{escape(module)}"><h3><a href="{_from_index(modules[module])}#module-{module}">'
        f"{escape(module)}</a></h3>{_list_html(names)}</section>"
        for module, names in members.items()
    ]
    labels = "".join(
        f'<p id="{label}" hidden><a href="{_from_index(api_page(room))}#{label}">{room}</a></p>'
        for room in rooms()
        for label in [nodes.make_id(anchor_of(room))]
    )
    form = filters.form(
        "names", rows=".every-name li, .every-name section:not(:has(li))", groups=".every-name section:has(li)"
    )
    inside = "".join([form, *groups, labels, filters.forwarding()])
    return NAMES.replace("><", f" data-forwards>{inside}<")


def _list_html(names: list[str]) -> str:
    return f"<ul>{''.join(names)}</ul>" if names else ""


def _name_html(name: str, page: str) -> str:
    link = f'<a href="{_from_index(page)}#{name}"><code>{escape(name.rpartition(".")[2])}</code></a>'
    return f'<li id="{name}">{link}</li>'


def _from_index(page: str) -> str:
    """The address of a page of the library, from the index."""
    return f"{page.removeprefix(API.rpartition('/')[0] + '/')}.html"


def list_names(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Put the list of all names into the index."""
    if page == API and NAMES in context.get("body", ""):
        known = app.env.get_domain("py").get_objects()
        listed = names_html([(name, docname, kind) for name, _, kind, docname, _, _ in known])
        context["body"] = context["body"].replace(NAMES, listed)


def read_index_again(
    _app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Make the index anew with the pages that it lists."""
    below = any(page.startswith(f"{API}/") for page in added | changed | removed)
    return [API] if below and API in env.found_docs else []


def misconceptions() -> str:
    """Markdown: for each quiz a folded table of the beliefs behind its wrong answers, and what is wrong with them."""
    from course_lib.lessons.shared import quiz

    return "\n\n".join(_beliefs_of(quiz.load(name)) for name in quiz.names())


def hero() -> str:
    """The interactive of the landing page: a model that learns."""
    from course_lib.lessons.first_model.training_film import TrainingFilm

    return f"```{{raw}} html\n{TrainingFilm(person=2, moment=0).static_html()}\n```"


def _beliefs_of(quiz_of_chapter: Any) -> str:
    """A dropdown with one row for each wrong answer of a quiz, the first of a question behind the question."""
    from course_lib.lessons.shared import quiz

    lines = [f":::{{dropdown}} {quiz_of_chapter.title}", "| question | belief | why it fails |", "|---|---|---|"]
    for one in quiz_of_chapter.questions:
        asked = one.ask  # with the first of its wrong answers
        for answer in one.answers:
            if not answer.right:
                cells = (quiz.html(" ".join(text.split())) for text in (asked, answer.misconception, answer.why))
                lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
                asked = ""
    return "\n".join([*lines, ":::"])


def fill(text: str) -> str:
    """A page with what stands for its comments "fill". ValueError for a comment of another name."""
    makers: dict[str, Callable[..., str]] = {
        "notation": lambda: notation_tables(yaml.safe_load(NOTATION.read_text(encoding="utf-8"))),
        "rooms": api_list,
        "api": api_sections,
        "misconceptions": misconceptions,
        "hero": hero,
        "thumbnail": thumbnails.thumbnail,
        "decisions": decisions.all_cards,
        "questions": decisions.questions,
    }

    def made(comment: re.Match[str]) -> str:
        if comment["what"] not in makers:
            raise ValueError(f"fill: got {comment['what']!r}, expected one of {', '.join(makers)}")
        return makers[comment["what"]](*(comment["of"] or "").split())

    return COMMENT.sub(made, text)


# The first words of a comment -> the files whose change makes its page anew (autodoc notes those behind the API)
SOURCES = {
    "fill: notation": ("book/notation.yml",),
    "fill: thumbnail": ("book/*/*.ipynb",),
    "fill: misconceptions": ("course_lib/**/*.yml",),
    "fill: rooms": ("course_lib/**/__init__.py",),
    "fill: api": ("course_lib/**/__init__.py",),
    "fill: decisions": ("book/practice/decisions.yml",),
    "fill: questions": ("book/practice/decisions.yml",),
    "claims": ("course_lib/lessons/*/claims.yml",),
    "findings": ("book/results/*.json", "course_lib/lessons/*/findings.py"),
    "results": ("book/results/*.json",),
}


def fill_page(app: Sphinx, _docname: str, source: list[str]) -> None:
    """Replace the comments of a page when Sphinx has read it."""
    asked = re.findall(r"<!-- ((fill|claims|findings|results): ?\w*)", source[0])
    for start, globs in SOURCES.items():
        if any(comment.startswith(start) for comment, _ in asked):
            for path in (path for pattern in globs for path in ROOT.glob(pattern)):
                app.env.note_dependency(str(path))
    kinds = {kind for _, kind in asked}
    if "claims" in kinds:
        source[0] = pages.fill(source[0], pages=app.env.found_docs)
    for kind, maker in (("findings", "tools.findings"), ("results", "tools.results_pages")):
        if kind in kinds:  # they bring the experiments
            source[0] = importlib.import_module(maker).fill(source[0])
    source[0] = fill(source[0])


class TimeRole(SphinxRole):
    """The roles {minutes} and {hours}: a page that says the hours of another one is read again with it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The time as text."""
        if self.name == "hours":
            self.env.note_dependency(self.env.doc2path(self.text))
        return [nodes.Text(study_time.said(self.name, self.text, self.env.docname))], []


NUMPYDOC = re.compile(r"^(Parameters|Returns|Raises|Notes|Examples|Yields)\n-+$", re.MULTILINE)
ITEM = re.compile(r"[*-] (?=[\w`])")  # the first sign of a list


def keep_docstrings_as_written(
    _app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Show a docstring's paragraphs as prose, its lists as lists, and what is aligned by hand as it stands.

    These docstrings are plain text with formulas such as |O|; read as reStructuredText they would be full of errors.
    Those in numpydoc's form are reStructuredText, and napoleon's.
    """
    if NUMPYDOC.search("\n".join(lines)):
        return
    blocks = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    lines[:] = []
    for block in blocks:
        rows = [row.rstrip() for row in block.split("\n")]
        if ITEM.match(rows[0]):
            lines += [f"* {_prose([ITEM.sub('', item)])}" for item in re.split(r"\n(?=[*-] )", "\n".join(rows))] + [""]
            continue
        if len(rows) > 1 and not _is_aligned(rows[:1]) and _is_aligned(rows):  # a table starts right under a sentence
            first = next(number for number, row in enumerate(rows) if _is_aligned([row]))
            lines += [_prose(rows[:first]), ""]
            rows = rows[first:]
        lines += [*_as_written(rows), ""] if _is_aligned(rows) else [_prose(rows), ""]


def _is_aligned(rows: list[str]) -> bool:
    """Whether lines are set by hand: indented, or with columns made of spaces."""
    return any(row.startswith(" ") or "  " in row.strip() for row in rows)


def _as_written(rows: list[str]) -> list[str]:
    """The lines in a typewriter block."""
    return [".. code-block:: text", "   :class: as-written", "", *(f"   {row}" for row in rows)]


def _prose(rows: list[str]) -> str:
    """One paragraph with `names` in code type and everything else free of markup."""
    text = " ".join(" ".join(rows).split())
    parts = re.split(r"``?([^`]+)``?", text) if text.count("`") % 2 == 0 else [text]
    # "\\ " is a space that is not shown: a literal may then stand next to any letter
    return "".join(
        f"\\ ``{part.strip()}``\\ " if index % 2 else MARKUP.sub(r"\\\1", part) for index, part in enumerate(parts)
    )


def adopt(_app: Sphinx | None, doctree: nodes.document) -> None:
    """Every node of a page belongs to the page.

    What `eval-rst` parses keeps a document of its own, which holds Sphinx's whole environment: stored with the page,
    8 MB each, and read again by every build.
    """
    for node in doctree.findall():
        node.document = doctree


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-read", adopt)
    app.connect("source-read", fill_page)
    app.connect("env-get-outdated", read_index_again)
    app.add_role("minutes", TimeRole())
    app.add_role("hours", TimeRole())
    app.add_directive("decision", decisions.DecisionDirective)
    app.connect("html-page-context", list_names)
    app.connect("autodoc-process-docstring", keep_docstrings_as_written, priority=400)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
