"""Reads YAML files, and refuses a key given twice. What a row may hold, msgspec's structures say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
