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
    """Put the plain copies in the place of the notebooks that Sphinx has copied with the pages that it wrote."""
    if failure is not None or app.builder.format != "html":
        return
    sources, written = Path(app.outdir) / "_sources", Path(app.srcdir)
    copied = [
        path
        for path in sources.rglob("*.ipynb")
        if path.is_file() and path.read_bytes() == (written / path.relative_to(sources)).read_bytes()
    ]
    if not copied:
        return
    index = Index(written)
    for path in copied:
        page = path.relative_to(sources).with_suffix("").as_posix()
        path.write_text(normalise.write_text(export_notebooks.export(index, page)), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("build-finished", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
