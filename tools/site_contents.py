"""The site's contents beside each page, made from the pages' titles alone.

They hold titles of pages only. For each page Sphinx copies the headings and functions of all pages and then drops them
again, which takes ten seconds for this book; here they are dropped once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


@cache
def titles(env: BuildEnvironment) -> dict[str, nodes.bullet_list]:
    """Page -> its contents with nothing but its title and the lists of pages below it, as ``titles_only`` leaves them.

    Asked for when all pages have been read.
    """
    found = {page: contents.deepcopy() for page, contents in env.tocs.items()}
    for contents in found.values():
        for entry in contents.children:
            if isinstance(entry, nodes.list_item) and len(entry) > 1:
                below = list(entry.findall(addnodes.toctree))
                entry[1:] = [nodes.bullet_list("", *below)] if below else []
    return found


def contents_of_titles(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Let the theme's ``toctree(titles_only=True)`` begin with the titles."""
    whole = context["toctree"]

    def toctree(**asked: Any) -> str:
        if not asked.get("titles_only"):
            return str(whole(**asked))
        env = app.env
        kept, env.tocs = env.tocs, titles(env)
        try:
            return str(whole(**asked))
        finally:
            env.tocs = kept

    context["toctree"] = toctree


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("html-page-context", contents_of_titles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
