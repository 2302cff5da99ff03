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
    """No data set has this name."""


class BadRow(ValueError):
    """A row of a data file does not have the documented form."""


class ChecksumMismatch(ValueError):
    """A file is not the published one."""


class TruncatedFile(ValueError):
    """A compressed file or archive ends too early or is damaged."""


class UnsafeArchive(ValueError):
    """An archive has a member that points outside its own folder."""


class DataMissing(FileNotFoundError):
    """The files are on this machine nowhere, and there is no checked download for them."""


class DownloadFailed(ConnectionError):
    """The download did not come through: no network, a refused certificate, an answer other than the file."""
