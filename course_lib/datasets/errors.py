"""What can go wrong with a data set, one exception each, so that a caller can tell them apart."""

from __future__ import annotations

__all__ = [
    "BadRow",
    "ChecksumMismatch",
    "DataMissing",
    "DownloadFailed",
    "TruncatedFile",
    "UnknownDataset",
    "UnsafeArchive",
]


class UnknownDataset(ValueError):
    """No data set has this name.

    Examples
    --------
    >>> from course_lib import datasets
    >>> try:
    ...     datasets.load("movietweets")
    ... except datasets.UnknownDataset as error:
    ...     print(str(error).partition("; ")[2])
    did you mean 'movietweetings'?
    """


class BadRow(ValueError):
    """A row of a data file does not have the documented form.

    Examples
    --------
    >>> import io
    >>> from course_lib import datasets
    >>> from course_lib.datasets import formats
    >>> try:
    ...     formats.read_adjacency(io.BytesIO(b"0 five"), "train.txt")
    ... except datasets.BadRow as error:
    ...     print(error)
    train.txt, line 1: expected user item item ... (integers from 0), got '0 five'
    """


class ChecksumMismatch(ValueError):
    """A file is not the published one.

    Examples
    --------
    A handler for the built-in exception catches this one too:

    >>> from course_lib import datasets
    >>> issubclass(datasets.ChecksumMismatch, ValueError)
    True
    """


class TruncatedFile(ValueError):
    """A compressed file or an archive ends too early or is damaged.

    Examples
    --------
    A handler for the built-in exception catches this one too:

    >>> from course_lib import datasets
    >>> issubclass(datasets.TruncatedFile, ValueError)
    True
    """


class UnsafeArchive(ValueError):
    """An archive has a member that points outside its own folder.

    Examples
    --------
    A handler for the built-in exception catches this one too:

    >>> from course_lib import datasets
    >>> issubclass(datasets.UnsafeArchive, ValueError)
    True
    """


class DataMissing(FileNotFoundError):
    """The files are nowhere on this machine, and there is no checked download for them.

    Examples
    --------
    A handler for the built-in exception catches this one too:

    >>> from course_lib import datasets
    >>> issubclass(datasets.DataMissing, FileNotFoundError)
    True
    """


class DownloadFailed(ConnectionError):
    """The download did not come through: no network, a refused certificate, or an answer other than the file.

    Examples
    --------
    A handler for the built-in exception catches this one too:

    >>> from course_lib import datasets
    >>> issubclass(datasets.DownloadFailed, ConnectionError)
    True
    """
