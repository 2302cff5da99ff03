"""Puts the JavaScript modules of this folder together, with no tool but Python.

A module imports its neighbours by lines of the form `import { a, b } from "./name.js";` and exports functions,
constants and classes by name, or one `export default { render }`. Two forms are made of that:
`module(name)`: one ES module without imports, as anywidget wants it;
`static_files()`: one classic script for the website (no import, so it runs from file:// and from any folder).
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
WIDGETS = ("in_batch_weights", "quiz", "norm_growth", "cosine_motion", "stretched_axes", "tower_motion", "gramian_tracker", "folding")
HOST = "afm_host"

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|class) )", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_COMMENTS = re.compile(r"^[ \t]*(?://.*|/\*.*?\*/[ \t]*)\n", re.MULTILINE)  # lines that hold nothing else
_BLOCKS = re.compile(r"^[ \t]*/\*\*?\n.*?\*/[ \t]*\n", re.MULTILINE | re.DOTALL)


def stylesheet() -> str:
    """The style sheet of all interactives."""
    return (FOLDER / "course_widgets.css").read_text(encoding="utf-8")


def module(name: str) -> str:
    """The ES module `name` with everything it imports, as one text without imports."""
    return "\n".join(_plain(_source(part)) for part in _names_in_order(name, set()))


def static_files() -> dict[str, str]:
    """File name -> content of what the website serves: one classic script (load it with `defer`) and one style sheet."""
    return {"course-widgets.js": _classic_script(), "course-widgets.css": stylesheet()}


def _source(name: str) -> str:
    path = FOLDER / f"{name}.js"
    if not path.is_file():
        raise ValueError(f"name={name!r}: no such module; there are {sorted(p.stem for p in FOLDER.glob('*.js'))}")
    return path.read_text(encoding="utf-8")


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


def _classic_script() -> str:
    """What two interactives need stands once, above them; the rest of each in a scope of its own."""
    needed = {name: _names_in_order(name, set()) for name in (*WIDGETS, HOST)}
    every = [name for names in needed.values() for name in names]
    shared = [name for name in dict.fromkeys(every) if every.count(name) > 1]
    parts = [
        "// Interactives of the course, put together by course_lib.widgets.bundle. Sources, with comments: course_lib/widgets/*.js.",
        '(() => {\n"use strict";\nconst widgets = {};',
        *(_uncommented(_plain(_source(name))) for name in shared),
    ]
    for name in WIDGETS:
        own = "\n".join(_plain(_source(part)) for part in needed[name] if part not in shared)
        parts.append(f'widgets["{name}"] = (() => {{\n{_uncommented(_DEFAULT.sub("const widget = ", own))}return widget;\n}})();')
    own = (_plain(_source(part)) for part in needed[HOST] if part not in shared)
    return "\n".join([*parts, *map(_uncommented, own), "mountAll(widgets);\n})();\n"])


def _uncommented(source: str) -> str:
    """A source without its comment lines: a quarter of what every page would have to load."""
    return _COMMENTS.sub("", _BLOCKS.sub("", source))
