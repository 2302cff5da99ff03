"""A Sphinx extension that makes the built book self-contained: no page asks a third party for anything.

It copies the parts of MathJax that a page may request, the course's style sheet and fonts and the interactives'
JavaScript into the site; removes the inline script of sphinx-thebe; sets the repository's address from
``pyproject.toml``; runs the notebooks that must run before Sphinx reads them (tools/execution.py); and lets the search
find a page by its main idea (book/search.yml).
"""

from __future__ import annotations

import base64
import gc
import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterable
from functools import cache
from logging import Filter, LogRecord, getLogger
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout, for interactives and the API page

from course_lib.dependencies import code_hash
from course_lib.lessons.shared.widgets import bundle
from tools import address, execution, normalise

ROOT = Path(__file__).resolve().parents[1]
SEARCH = (ROOT / "tools/vendor/minisearch.min.js", ROOT / "tools/site_search.js", ROOT / "book/search.yml")
ASSETS = ROOT / "book" / "assets"

CACHE = ".jupyter_cache"

# The first paint waits for the first sheet; what is bold or italic in the text comes after it.
FONTS = {
    "course-fonts.css": ("source-serif-4 400 normal", "source-sans-3 400 normal", "source-sans-3 600 normal"),
    "course-fonts-more.css": ("source-serif-4 400 italic", "source-serif-4 600 normal"),
}
LATIN = (
    "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,"
    "U+2215"
)  # the letters that the files of ../book/assets/fonts hold

SOURCE_BRANCH, LAUNCH_BRANCH = "main", "notebooks"
# Shown on pages that are notebooks. They are links: nothing is asked of these hosts before a reader clicks.
LAUNCH = {
    "binderhub_url": "https://mybinder.org",
    "colab_url": "https://colab.research.google.com",
    "notebook_interface": "jupyterlab",
}

MATHJAX_PACKAGE = "sphinx-mathjax-offline"  # PyPI; the folder of its import package carries hyphens too
MATHJAX_PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2")


def set_repository(_app: Sphinx, config: Config) -> None:
    """Point the theme's buttons, and links such as ``[an issue](repository:issues)``, at the repository."""
    repository = address.repository()
    config.myst_url_schemes = {"http": None, "https": None, "mailto": None, "repository": f"{repository}/{{{{path}}}}"}
    config.html_theme_options.update(
        repository_url=repository,
        repository_branch=SOURCE_BRANCH,
        path_to_docs="",
        use_repository_button=True,
        use_issues_button=address.is_set(repository),
        use_edit_page_button=True,
        launch_buttons=LAUNCH,
    )


def launch_the_copies(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Let the theme's launch buttons open the copies of the notebooks on their own branch
    (tools/export_notebooks.py).
    """
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []) if group.get("label") == "launch-buttons" else ():
            for form in ("/{}?", "/blob/{}/"):  # Binder: .../main?urlpath=; Colab
                button["url"] = button["url"].replace(form.format(SOURCE_BRANCH), form.format(LAUNCH_BRANCH))


def run_notebooks(app: Sphinx, config: Config) -> None:
    """Run what must run again, store what was edited in its normal form, and let MyST-NB take the outputs."""
    config.nb_execution_cache_path = str(Path(app.outdir).parent / CACHE)
    if Path(app.srcdir) == ROOT:
        notebooks = execution.book_notebooks()
        try:
            normalise.run_and_store(notebooks, normalise.edited(notebooks))
        except execution.NotebookFailed as error:
            raise ExtensionError(f"a notebook stopped the build\n{error}") from None


def read_again_with_new_tools(_app: Sphinx, config: Config) -> None:
    """Make Sphinx read every page again when the code that makes pages has changed: a setting that it compares."""
    tools = [*(ROOT / "tools").glob("*.py"), *(ROOT / "tools" / "claims").glob("*.py")]
    config.course_tools = code_hash([*tools, *SEARCH])


def set_search_scorer(app: Sphinx, config: Config) -> None:
    """Write the script of the search, MiniSearch and the ideas of pages with it, where Sphinx reads it."""
    engine, script, words = (path.read_text(encoding="utf-8") for path in SEARCH)
    ideas = yaml.safe_load(words)["ideas"]
    alone = f";(function (define, exports, module) {{\n{engine}\n}}).call(globalThis);\n"
    path = Path(app.outdir).parent / "search_scorer.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    ranked = script.replace("const IDEAS = {};", f"const IDEAS = {json.dumps(ideas)};")
    if not path.is_file() or path.read_text(encoding="utf-8") != alone + ranked:
        path.write_text(alone + ranked, encoding="utf-8")
        # Sphinx overwrites no file of its own, and writes this one when it reads pages again (`read_again_...`)
        (Path(app.outdir) / "_static" / "language_data.js").unlink(missing_ok=True)
    config.html_search_scorer = str(path)


@cache
def titles(env: BuildEnvironment) -> dict[str, nodes.bullet_list]:
    """Page -> its contents with nothing but its title and the lists of pages below it, as ``titles_only`` leaves them.

    Asked for when all pages have been read.
    """
    found = {page: contents.deepcopy() for page, contents in env.tocs.items()}
    for entry in [one for contents in found.values() for one in contents if isinstance(one, nodes.list_item)]:
        if len(entry) > 1:
            below = list(entry.findall(addnodes.toctree))
            entry[1:] = [nodes.bullet_list("", *below)] if below else []
    return found


def contents_of_titles(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Let the theme's ``toctree(titles_only=True)`` begin with the titles.

    For each page Sphinx copies the headings and functions of all pages and then drops them again: ten seconds.
    """
    whole = context["toctree"]

    def toctree(**asked: Any) -> str:
        kept = app.env.tocs
        try:
            app.env.tocs = titles(app.env) if asked.get("titles_only") else kept
            return str(whole(**asked))
        finally:
            app.env.tocs = kept

    context["toctree"] = toctree


def note_outputs(app: Sphinx, page: str, _source: list[str]) -> None:
    """Make a page depend on the outputs of its notebook: new ones are shown also after a build that was broken off."""
    path = Path(app.env.doc2path(page))
    if path.suffix == ".ipynb":
        cache = execution.Cache(Path(app.outdir).parent / CACHE)
        app.env.note_dependency(str(cache.outputs_at(path)))


def remove_thebe(app: Sphinx) -> None:
    """Take away sphinx-thebe's handlers and style sheet: its script stands on every page, even where thebe is off."""
    for listeners in app.events.listeners.values():
        listeners[:] = [entry for entry in listeners if not entry.handler.__module__.startswith("sphinx_thebe")]
    app.registry.css_files[:] = [entry for entry in app.registry.css_files if entry[0] != "sphinx-thebe.css"]


def mathjax_folder() -> Path:
    """The folder of MathJax 3 inside the installed package sphinx-mathjax-offline."""
    spec = importlib.util.find_spec(MATHJAX_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{MATHJAX_PACKAGE} is not installed: run `make setup`")
    return Path(spec.origin).parent / "static" / "mathjax"


def copy_assets(app: Sphinx, failure: Exception | None) -> None:
    """Put MathJax, the style sheet and the interactives beside the pages; also when Sphinx finds no page to rebuild."""
    if failure is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for part in MATHJAX_PARTS:
        _copy(mathjax_folder() / part, static / "mathjax" / part)
    _copy(ASSETS, static)
    for name, text in bundle.static_files().items():
        (static / name).write_text(text, encoding="utf-8")
    for name, faces in FONTS.items():
        (static / name).write_text(fonts(faces), encoding="utf-8")


def fonts(faces: Iterable[str], folder: Path = ASSETS / "fonts") -> str:
    """The rules of some fonts, each within its rule: a browser refuses the fonts of a page opened from a folder."""
    rules = []
    for name in faces:  # source-serif-4 400 italic
        family, weight, slant = name.split()
        data = base64.b64encode((folder / f"{family}-latin-{weight}-{slant}.woff2").read_bytes()).decode()
        rules.append(
            f'@font-face{{font-family:"{family.replace("-", " ").title()}";font-weight:{weight};font-style:{slant};'
            f'unicode-range:{LATIN};src:url("data:font/woff2;base64,{data}") format("woff2")}}'
        )
    return "\n".join(rules)


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a folder, over what is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def add_widgets(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Load on each page the interactives that it holds, and no other."""
    for name in bundle.names_for(context.get("body", "")):
        app.add_css_file(name) if name.endswith(".css") else app.add_js_file(name, loading_method="defer")


# What two extensions write into every page, and what should stand there.
REPAIRS = {
    'role="doc-biblioentry"': 'role="listitem"',  # docutils: a withdrawn ARIA role inside a role="list"
    '<div class="proof admonition" id="proof">': '<div class="proof admonition in-words">',  # sphinx-proof: one id on
    ' id="proof-content"': "",  # every proof and on every theorem of the page
    ' id="exercise-content"': "",  # sphinx-exercise: the same
    ' id="solution-content"': "",
    '<th scope="col"></th>': "<td></td>",  # the corner of a table is the head of nothing
}


def repair_html(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Mend markup that is not valid, or not understood by a screen reader."""
    for wrong, right in REPAIRS.items() if "body" in context else ():
        context["body"] = context["body"].replace(wrong, right)


class WarnedPages(Filter):
    """Notes where each warning of a build lies, and makes the next build read those pages again.

    Sphinx keeps what it has read, warnings or not: a second ``make book`` would find nothing to do, and succeed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []  # "/path/of/page.md:12"; nothing where a warning names no place
        for handler in getLogger(logging.NAMESPACE).handlers:
            if isinstance(handler, logging.WarningStreamHandler):
                handler.addFilter(self)

    def filter(self, record: LogRecord) -> bool:
        """Note the place of a warning that is shown, and let it pass."""
        self.places.append(getattr(record, "location", None) or "")
        return True

    def forget(self, app: Sphinx, _failure: Exception | None) -> None:
        """Forget the pages that warned; all of them where a warning lies on no page."""
        paths = {app.env.doc2path(page): page for page in app.env.found_docs}
        warned = {paths.get(re.sub(r":\d*$", "", place)) for place in self.places}
        if None in warned or app._warncount != len(self.places):
            (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)
        for page in filter(None, warned):  # a page without its tree is read again
            (Path(app.doctreedir) / f"{page}.doctree").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; runs after sphinx-thebe's own set-up, because local extensions come last."""
    gc.set_threshold(200_000, 50, 100)  # pages have millions of nodes: to look for garbage takes a third of a build
    normalise.refuse_patterns(ROOT)
    remove_thebe(app)
    app.connect("config-inited", set_repository)
    app.add_config_value("course_tools", "", "env")
    app.connect("config-inited", run_notebooks)
    app.connect("config-inited", read_again_with_new_tools)
    app.connect("config-inited", set_search_scorer)
    app.connect("source-read", note_outputs)
    app.connect("html-page-context", contents_of_titles)
    app.connect("html-page-context", add_widgets)
    app.connect("html-page-context", repair_html)
    app.connect("html-page-context", launch_the_copies, priority=900)  # after the theme has made the buttons
    app.connect("build-finished", copy_assets)
    app.connect("build-finished", WarnedPages().forget)
    first, later = FONTS
    app.add_css_file(first, priority=890)
    app.add_css_file(later, priority=895, media="print", onload="this.media='all'")
    app.add_css_file("course.css", priority=900)
    app.add_js_file("course.js", loading_method="defer")
    app.add_js_file("cards.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
