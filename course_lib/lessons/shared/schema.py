"""A strict reader of rows in YAML files: whatever the schema does not allow is refused, with its place.

The schema of a row is a dataclass. `load` reads a file and refuses a key given twice; `row` holds one mapping against
the dataclass: every field known, none missing, each of its type, no text empty.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import yaml


class SchemaError(ValueError):
    """A file breaks a rule. The message names the file, the row, the field, and what was expected."""


def _without_duplicates(loader: Any, node: Any) -> dict[Any, Any]:
    keys = [key.value for key, _ in node.value]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise yaml.YAMLError(f"line {node.start_mark.line + 1}: {', '.join(twice)} given twice")
    found: dict[Any, Any] = loader.construct_mapping(node, deep=True)
    return found


# A safe loader that refuses a key given twice (PyYAML keeps the last one and says nothing).
_Loader: Any = type("_Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _without_duplicates)


def load(path: Path, *, error: type[ValueError] = SchemaError) -> Any:
    """What a YAML file holds. Raises `error`, with the file's name, for a file that is no YAML or gives a key twice."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except yaml.YAMLError as problem:
        raise error(f"{path.name}: {problem}") from None


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def row(
    kind: type, data: Any, where: str, *, given: Mapping[str, Any] | None = None, error: type[ValueError] = SchemaError
) -> dict[str, Any]:
    """The fields of a mapping, ready for the dataclass `kind`: `kind(**row(kind, data, "quiz.yml: question 3"))`.

    A field is of the type that the dataclass names: a text, true or false, a number, a list (for a tuple), or a mapping
    (for a dict or another dataclass); null only where the type allows None. The rows of a nested dataclass come back as
    they are, to be read by `row` in turn. `given`: fields that the caller adds and the file must not hold.

    Raises `error`, whose message starts with `where`, for what is no mapping, an unknown or missing field, a value of
    another type, and a text without words.
    """
    given = given or {}
    hints = _hints(kind)
    known = {one.name: one for one in fields(kind) if one.name not in given}
    if not isinstance(data, dict):
        raise error(f"{where} is a {type(data).__name__}; expected fields {', '.join(known)}")
    for name, value in data.items():
        if name not in known:
            raise error(f"{where}: unknown field {name!r}; expected {', '.join(known)}")
        if expected := _misfit(value, hints[name]):
            raise error(f"{where}: {name} is {value!r} ({type(value).__name__}); expected {expected}")
        if isinstance(value, str) and not value.strip():
            raise error(f"{where}: {name} is empty")
    needed = [one.name for one in known.values() if one.default is MISSING and one.default_factory is MISSING]
    if missing := [name for name in needed if name not in data]:
        raise error(f"{where}: {', '.join(missing)} missing")
    return {**data, **given}


def _misfit(value: Any, hint: Any) -> str:
    """What was expected of a value that is not of its type; "" for one that is."""
    if hint is Any or (value is None and type(None) in get_args(hint)):
        return ""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    if hint in (int, float):
        numbers = (int,) if hint is int else (int, float)
        fits, expected = isinstance(value, numbers) and not isinstance(value, bool), "a number"
    elif hint is str:
        fits, expected = isinstance(value, str), 'a text (numbers in quotes: "2.3")'
    elif hint is bool:
        fits, expected = isinstance(value, bool), "true or false"
    elif get_origin(hint) is tuple:
        texts = get_args(hint)[0] is str
        fits = isinstance(value, list) and not (texts and any(not isinstance(one, str) for one in value))
        expected = "a list of texts" if texts else "a list"
    else:
        fits, expected = isinstance(value, dict), "a mapping"
    return "" if fits else expected
