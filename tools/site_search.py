"""A Sphinx extension that lets the search find a page by its main idea: book/search.yml says what readers call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[1]
SCORER = Path(__file__).with_suffix(".js")
EMPTY = "const IDEAS = {};"


def ideas() -> dict[str, list[str]]:
    """Page -> what readers call its ideas."""
    read: dict[str, dict[str, list[str]]] = yaml.safe_load((ROOT / "book" / "search.yml").read_text(encoding="utf-8"))
    return read["ideas"]


def scorer() -> str:
    """The script that ranks pages."""
    return SCORER.read_text(encoding="utf-8").replace(EMPTY, f"const IDEAS = {json.dumps(ideas())};")


def set_scorer(app: Sphinx, config: Config) -> None:
    """Write the script where Sphinx reads it."""
    path = Path(app.outdir).parent / "search_scorer.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(scorer(), encoding="utf-8")
    config.html_search_scorer = str(path)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", set_scorer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
