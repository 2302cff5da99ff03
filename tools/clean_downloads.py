"""A Sphinx extension that lets the button "Download" give the notebook that Binder and Colab open.

The theme offers the source of a page. That of a notebook has markup that only the site understands; its plain copy
(tools/export_notebooks.py) runs and reads well anywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where this file is an extension of Sphinx

from tools import export_notebooks, normalise
from tools.course_index import Index


def replace(app: Sphinx, failure: Exception | None) -> None:
    """Put the plain copies in the place of the notebooks that the site offers."""
    if failure is not None or app.builder.format != "html":
        return
    sources = Path(app.outdir) / "_sources"
    offered = [path for path in sources.rglob("*.ipynb") if path.is_file()]
    if not offered:
        return
    index = Index(Path(app.srcdir))
    for path in offered:
        page = path.relative_to(sources).with_suffix("").as_posix()
        path.write_text(normalise.write_text(export_notebooks.export(index, page)), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
