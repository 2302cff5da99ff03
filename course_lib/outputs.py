"""Places that a command will write to, tried before the work: a path that cannot be written costs no run.

Only a try tells: for root, or in a file system of its own kind such as /proc, permissions say nothing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path


def folder(path: str | Path, name: str) -> Path:
    """Make a folder and return it, if files can be written there.

    Parameters
    ----------
    path : str or Path
        The folder. It is made, with those above it, where there is none.
    name : str
        What the message calls it, such as the flag ``--out``.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ValueError
        Where the folder cannot be made, or takes no file.

    Examples
    --------
    >>> import tempfile
    >>> from course_lib import outputs
    >>> with tempfile.TemporaryDirectory() as here:
    ...     outputs.folder(f"{here}/a/b", "--out").is_dir()
    True
    """
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except FileExistsError:
        raise ValueError(f"{name} is {str(path)!r}; expected a folder, and this is a file") from None
    except OSError as error:
        raise ValueError(f"{name} is {str(path)!r}; expected a folder that can be written ({error.strerror})") from None
    return place


def file(path: str | Path, name: str) -> Path:
    """Return the path of a file, if it can be written. One that is there is left as it is; none is left behind.

    Parameters
    ----------
    path : str or Path
        The file, in a folder that there is.
    name : str
        What the message calls it, such as the flag ``--json``.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    ValueError
        Where the file cannot be written.

    Examples
    --------
    >>> from course_lib import outputs
    >>> outputs.file("/no/such/folder/report.html", "--out")
    Traceback (most recent call last):
    ...
    ValueError: --out is '/no/such/folder/report.html'; expected a file that can be written (No such file or directory)
    """
    place = Path(path)
    try:
        tried = place.resolve()  # a link stays, also one to a file that is not there yet
        there = place.exists()
        if there and not (place.is_file() or place.is_dir()):  # a pipe, which can be opened once
            return place
        with tried.open("a"):
            pass
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{name} is {str(path)!r}; expected a file that can be written ({reason})") from None
    if not there:
        tried.unlink()
    return place
