"""Puts the JavaScript modules of the lessons together, with no tool but Python.

A module imports others by lines of the form `import { a, b } from "./name.js";`, from its own folder or from
"../shared/widgets/", and exports functions, constants and classes by name; an interactive exports one
`export default { render }`. No two modules have one name. Two forms are made of that:
`module(name)`: one ES module without imports, as anywidget wants it;
`static_files()`: classic scripts for the website (no import, so they run from file:// and from any folder): one with
what most interactives need, and one for each of them. `names_for(page)` says which of them a page has to load.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LESSONS = FOLDER.parents[1]
HOST = "afm_host"
_NOTE = "// Interactives of the course, put together by bundle.py. Sources, with comments: course_lib/lessons/**/*.js."

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\.{1,2}/(?:[\w./]+/)?(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|class) )", re.MULTILINE)
_NAMES = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\.{1,2}/(?:[\w./]+/)?(\w+)\.js";\n', re.MULTILINE)
_USED = re.compile(r'data-course-widget="(\w+)"')
_EXPORTED = re.compile(r"^export (?:const|function|class) (\w+)", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_COMMENTS = re.compile(r"^[ \t]*(?://.*|/\*.*?\*/[ \t]*)\n", re.MULTILINE)  # lines that hold nothing else
_BLOCKS = re.compile(r"^[ \t]*/\*\*?\n.*?\*/[ \t]*\n", re.MULTILINE | re.DOTALL)


@cache
def sources() -> dict[str, str]:
    """Name -> text of every JavaScript module of the lessons, in the order of their folders."""
    found: dict[str, str] = {}
    for path in sorted(LESSONS.rglob("*.js")):
        if path.stem in found:
            raise ValueError(f"{path.name} stands in two lessons; expected a name of its own for each module")
        found[path.stem] = path.read_text(encoding="utf-8")
    return found


def interactives() -> list[str]:
    """The names of the modules that are interactives: those with a default export, the host aside."""
    return [name for name, text in sources().items() if _DEFAULT.search(text) and name != HOST]


def stylesheet() -> str:
    """The style sheet of all interactives."""
    return (FOLDER / "course_widgets.css").read_text(encoding="utf-8")


def module(name: str) -> str:
    """The ES module `name` with everything it imports, as one text without imports."""
    return "\n".join(_plain(_source(part)) for part in _names_in_order(name, set()))


def static_files() -> dict[str, str]:
    """File name -> content for the website: classic scripts, to be loaded with `defer` in this order, and styles."""
    needed = {name: _names_in_order(name, set()) for name in interactives()}
    every = [name for names in needed.values() for name in names]
    shared = [name for name in dict.fromkeys(every) if every.count(name) > len(needed) / 2]
    scripts = {_script_name(name): _script_of(name, needed[name], shared) for name in interactives()}
    return {"course-widgets.css": stylesheet(), "course-widgets.js": _shared_script(shared), **scripts}


def names_for(page: str) -> list[str]:
    """Which static files the HTML of a page needs, in the order to load them; none without interactives."""
    used = [name for name in interactives() if name in _USED.findall(page)]
    return ["course-widgets.css", "course-widgets.js", *map(_script_name, used)] if _USED.search(page) else []


def _script_name(name: str) -> str:
    return f"course-widget-{name.replace('_', '-')}.js"


def _source(name: str) -> str:
    if name not in sources():
        raise ValueError(f"name={name!r}: no such module; there are {sorted(sources())}")
    return sources()[name]


def _names_in_order(name: str, seen: set[str]) -> list[str]:
    """A module's imports, each once and before those that need it, then the module itself."""
    seen.add(name)
    names = []
    for needed in _IMPORT.findall(_source(name)):
        if needed not in seen:
            names += _names_in_order(needed, seen)
    return [*names, name]


def _plain(source: str) -> str:
    """A source without its import lines and without the word `export` before its names."""
    return _EXPORT.sub("", _IMPORT.sub("", source))


def _shared_script(shared: list[str]) -> str:
    """What most interactives need, once, and the host; the others find it in `courseWidgets.shared`."""
    exported = ", ".join(name for part in shared for name in _EXPORTED.findall(_source(part)))
    parts = (_uncommented(_plain(_source(name))) for name in (*shared, HOST))
    return "\n".join(
        [_NOTE, '(() => {\n"use strict";', *parts, f"globalThis.courseWidgets = openHouse({{ {exported} }});\n}})();\n"]
    )


def _script_of(name: str, needed: list[str], shared: list[str]) -> str:
    """One interactive with all that it needs beside the shared modules."""
    own = [part for part in needed if part not in shared]
    taken = [
        word.strip()
        for part in own
        for words, source in _NAMES.findall(_source(part))
        if source in shared
        for word in words.split(",")
    ]
    parts = (_uncommented(_DEFAULT.sub("const widget = ", _plain(_source(part)))) for part in own)
    opening = (
        f'(() => {{\n"use strict";\nconst {{ {", ".join(dict.fromkeys(filter(None, taken)))} }} = courseWidgets.shared;'
    )
    return "\n".join([_NOTE, opening, *parts, f'courseWidgets.add("{name}", widget);\n}})();\n'])


def _uncommented(source: str) -> str:
    """A source without its comment lines: a quarter of what every page would have to load."""
    return _COMMENTS.sub("", _BLOCKS.sub("", source))
