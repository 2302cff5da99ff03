"""Where the files of a data set are: the folder COURSE_DATA first, then the cache, then a checked download."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO

from course_lib import extras
from course_lib.datasets.entries import Entry, Remote
from course_lib.datasets.errors import ChecksumMismatch, DataMissing, DownloadFailed, UnsafeArchive
from course_lib.datasets.formats import find_file, open_compressed, teaching_truncation

__all__ = ["Archive", "Folder", "by_hand", "cache_folder", "course_data_folder", "locate"]

CACHE_NAME = "two-tower-course"
CHUNK = 1 << 16
GIT = "git"  # of hashes: SHA-1 of "blob", the size, a zero byte and the content
TIMEOUT = 30  # seconds without an answer
_noted: set[str] = set()


# ----------------------------------------------------------------------------------------------------------- containers
@dataclass(frozen=True)
class Folder:
    """Files side by side in a folder, each plain or as .xz, .gz or .bz2.

    Parameters
    ----------
    path : Path
        The folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     (pathlib.Path(name) / "train.txt.gz").touch()
    ...     folder = sources.Folder(pathlib.Path(name))
    ...     folder.has("train.txt"), folder.has("test.txt")
    (True, False)
    """

    path: Path

    def has(self, name: str) -> bool:
        return find_file(self.path, name) is not None

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[IO[bytes], str]]:
        """(bytes, name for messages) of a file."""
        path = find_file(self.path, name)
        if path is None:
            raise DataMissing(f"{self.path} has no {name} (nor {name}.xz, .gz, .bz2)")
        with teaching_truncation(str(path)), open_compressed(path) as stream:
            yield stream, str(path)


@dataclass(frozen=True)
class Archive:
    """Files inside a .zip or .tar.gz.

    They are read where they are; nothing is ever unpacked to disk. A member is found by its base name.

    Parameters
    ----------
    path : Path
        The archive.

    Raises
    ------
    UnsafeArchive
        When the archive is used, if any of its members points outside (an absolute name, "..", a link). The archive is
        then refused whole, because a published data set has no such member.
    TruncatedFile
        When the archive is used, if it is damaged.

    Examples
    --------
    >>> import pathlib, tempfile, zipfile
    >>> from course_lib.datasets import sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     path = pathlib.Path(name) / "ml-100k.zip"
    ...     with zipfile.ZipFile(path, "w") as packed:
    ...         packed.writestr("ml-100k/u.data", "")
    ...     sources.Archive(path).has("u.data")
    True
    """

    path: Path

    def has(self, name: str) -> bool:
        return name in self._members()

    def _members(self) -> dict[str, str]:
        with teaching_truncation(str(self.path)):
            return dict(_archive_members(self.path))

    @contextmanager
    def open(self, name: str) -> Iterator[tuple[IO[bytes], str]]:
        """(bytes, name for messages) of a member."""
        members = self._members()
        if name not in members:
            raise DataMissing(f"{self.path} has no member {name}; it has {', '.join(sorted(members)) or 'none'}")
        label = f"{self.path}:{members[name]}"
        with teaching_truncation(label):
            if self.path.suffix == ".zip":
                with zipfile.ZipFile(self.path) as archive, archive.open(members[name]) as stream:
                    yield stream, label
            else:
                with tarfile.open(self.path) as packed:
                    member = packed.extractfile(members[name])
                    assert member is not None  # a plain file: `_archive_members` refuses all else
                    with member as stream:
                        yield stream, label


def _points_outside(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or ":" in path.parts[0] if path.parts else False


def _archive_members(path: Path) -> Iterator[tuple[str, str]]:
    """(base name, full name) of the files in an archive; UnsafeArchive for a member that points outside."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            listed = [
                (info.filename, info.is_dir(), stat.S_ISLNK(info.external_attr >> 16)) for info in archive.infolist()
            ]
    else:
        with tarfile.open(path) as archive:
            listed = [(info.name, info.isdir(), not (info.isdir() or info.isfile())) for info in archive]
    for name, is_folder, is_special in listed:
        if is_special or _points_outside(name):
            kind = "is a link or a device" if is_special else "points outside the archive"
            raise UnsafeArchive(f"{path} was refused: its member {name!r} {kind}. The published file has none")
        if not is_folder:
            yield PurePosixPath(name).name, name


# --------------------------------------------------------------------------------------------------------------- search
def course_data_folder() -> Path | None:
    """Return the folder that the environment variable COURSE_DATA names.

    Returns
    -------
    Path or None
        The folder, or None where the variable is unset or empty.

    Raises
    ------
    DataMissing
        Where the variable names something that is no folder.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest import mock
    >>> from course_lib.datasets import sources
    >>> with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, COURSE_DATA=name):
    ...     str(sources.course_data_folder()) == name
    True
    """
    value = os.environ.get("COURSE_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise DataMissing(f"COURSE_DATA names {value!r}, which is not a folder. Correct it or unset it")
    return folder


def cache_folder() -> Path:
    """Return the folder of the user's cache of this course.

    It is pooch's place for it on this system, or ``~/.cache/two-tower-course`` where pooch is not installed.

    Returns
    -------
    Path
        The folder, which need not exist yet.

    Examples
    --------
    >>> from course_lib.datasets import sources
    >>> "two-tower-course" in sources.cache_folder().parts
    True
    """
    try:
        import pooch
    except ImportError:
        return Path.home() / ".cache" / CACHE_NAME
    return Path(pooch.os_cache(CACHE_NAME))


def _containers(root: Path, entry: Entry) -> Iterator[Folder | Archive]:
    """The places below `root` in which the files of an entry may lie, best first.

    Folders of folders too: an archive unpacked inside the folder of its set makes ml-1m/ml-1m/ratings.dat.
    """
    own = root / entry.name
    yield Folder(own)
    if own.is_dir():
        yield from (Folder(path) for path in sorted(own.iterdir()) if path.is_dir())
    for archive in entry.archives:
        for path in (root / entry.name / archive, root / archive):
            if path.is_file():
                yield Archive(path)


def _complete_form(container: Folder | Archive, entry: Entry) -> tuple[str, ...] | None:
    return next((form for form in entry.forms if all(container.has(name) for name in form)), None)


def locate(entry: Entry, *, roots: list[Path], cache: Path) -> tuple[Folder | Archive, tuple[str, ...]]:
    """Find the files of a data set, or download them.

    Parameters
    ----------
    entry : Entry
        The data set.
    roots : list of Path
        The folders in which the files are looked for, in order.
    cache : Path
        The folder into which they are downloaded where no root has them.

    Returns
    -------
    container : Folder or Archive
        Where the files are.
    form : tuple of str
        The names of the files in it.

    Raises
    ------
    DataMissing
        Where the files are nowhere and there is no checked download.
    DownloadFailed
        Where the download does not come through.
    ChecksumMismatch
        For an archive or a download that is not the published file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from course_lib.datasets import sources
    >>> from course_lib.datasets.catalogue import ENTRIES
    >>> with tempfile.TemporaryDirectory() as name:
    ...     root = pathlib.Path(name)
    ...     (root / "ml-100k").mkdir()
    ...     (root / "ml-100k" / "u.data").touch()
    ...     container, form = sources.locate(ENTRIES["ml-100k"], roots=[root], cache=root)
    >>> container.path.name, form
    ('ml-100k', ('u.data',))
    """
    for attempt in ("search", "after download"):
        for root in roots:
            for container in _containers(root, entry):
                if isinstance(container, Archive):
                    _check_archive(container.path, entry)
                form = _complete_form(container, entry)
                if form is not None:
                    return container, form
            if attempt == "search" and root != cache:
                _warn_of_incomplete(root / entry.name, entry)
        if attempt == "search":
            _download(entry, cache)
    raise DataMissing(f"the download of {entry.name} came, but its files are not in it. {by_hand(entry, cache)}")


def _warn_of_incomplete(folder: Path, entry: Entry) -> None:
    """Say that a folder of the right name was passed over, and what it lacks."""
    if folder.is_dir():
        lacking = [" + ".join(name for name in form if not Folder(folder).has(name)) for form in entry.forms]
        warnings.warn(f"{folder} is not used: it lacks {' or else '.join(lacking)}", stacklevel=2)


def by_hand(entry: Entry, cache: Path) -> str:
    """Return how to place a data set by hand: which files to put where, and where they come from.

    Errors about missing files contain it.

    Parameters
    ----------
    entry : Entry
        The data set.
    cache : Path
        The folder of the cache.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> import pathlib
    >>> from course_lib.datasets import sources
    >>> from course_lib.datasets.catalogue import ENTRIES
    >>> text = sources.by_hand(ENTRIES["ml-100k"], pathlib.Path("cache"))
    >>> "put ml-100k.zip or u.data into $COURSE_DATA/ml-100k/" in text
    True
    """
    alternatives = " or ".join([*entry.archives, *(" + ".join(form) for form in entry.forms)])
    folders = f"$COURSE_DATA/{entry.name}/ or {cache / entry.name}/"
    return (
        f"To place it by hand: get it from {entry.homepage} and put {alternatives} into {folders} "
        "(single files may stay packed as .xz, .gz or .bz2)"
    )


# ------------------------------------------------------------------------------------------------------------ checksums
@lru_cache(maxsize=64)
def _digest(path: Path, algorithm: str, size: int, _modified: int) -> str:
    with path.open("rb") as stream:
        if algorithm != GIT:
            return hashlib.file_digest(stream, algorithm).hexdigest()
        named = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
        while block := stream.read(CHUNK):
            named.update(block)
        return named.hexdigest()


def digest(path: Path, algorithm: str) -> str:
    """Return the hash of a file, computed again only when the file has changed.

    Parameters
    ----------
    path : Path
        The file.
    algorithm : str
        The hash function, such as "sha256" or "md5"; "git" for the name that git gives the content of a file.

    Returns
    -------
    str
        The hash, in hexadecimal digits.

    Examples
    --------
    The MD5 of an empty file:

    >>> import pathlib, tempfile
    >>> from course_lib.datasets import sources
    >>> with tempfile.TemporaryDirectory() as name:
    ...     path = pathlib.Path(name) / "empty.txt"
    ...     path.touch()
    ...     sources.digest(path, "md5")
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    state = path.stat()
    return _digest(path, algorithm, state.st_size, state.st_mtime_ns)


def _check_archive(path: Path, entry: Entry) -> None:
    """An archive that carries the name of a published one must be that one."""
    for remote in entry.remotes:
        if Path(remote.file).name == path.name:
            found = digest(path, remote.algorithm)
            if found != remote.expected:
                raise ChecksumMismatch(
                    f"{path} is not the published file: its {remote.algorithm} is {found}, published is "
                    f"{remote.expected}. It was left where it is; delete it to have it downloaded, or unpack your own "
                    f"version into a folder {entry.name}/ beside it"
                )


# ------------------------------------------------------------------------------------------------------------- download
def _print_licence_note(entry: Entry) -> None:
    if entry.name not in _noted:
        _noted.add(entry.name)
        print(f"{entry.title}: {entry.licence_note} Please cite: {entry.citation}", file=sys.stderr)


def _download(entry: Entry, cache: Path) -> None:
    """Bring every file of an entry into the cache, each checked before it gets its name."""
    if not entry.remotes:
        raise DataMissing(
            f"{entry.name} is not on this machine, and no download with a published checksum is known for it, so "
            f"none is tried. {by_hand(entry, cache)}"
        )
    try:
        import pooch
    except ImportError:
        raise DataMissing(f"{entry.name} would be downloaded by pooch: {extras.advice('pooch')}") from None
    _print_licence_note(entry)
    for remote in entry.remotes:
        target = cache / remote.file
        known: str | None = f"{remote.algorithm}:{remote.expected}"
        if remote.algorithm == GIT:  # unknown to pooch: `_fetch` checks what comes, and here is checked what is there
            known = None
            if target.exists() and digest(target, GIT) != remote.expected:
                target.unlink()
        pooch.retrieve(
            remote.url,
            known_hash=known,
            fname=target.name,
            path=target.parent,
            downloader=lambda url, output, _, remote=remote, target=target: _fetch(
                remote, Path(output), target.with_name(f"{target.name}.part"), by_hand(entry, cache)
            ),
        )


def _fetch(remote: Remote, output: Path, part: Path, advice: str) -> None:
    """Download into `output`, going on from what an earlier attempt left in `part`, and check it.

    `output` is a name of this process alone. Whatever interrupts the download, what has come stays behind as `part`,
    never under the name of the finished file.
    """
    if part.exists():
        os.replace(part, output)
    try:
        with _teaching_connection(remote.url, advice):
            _receive(remote.url, output)
    except BaseException:  # Ctrl-C too
        if output.exists() and output.stat().st_size:
            os.replace(output, part)
        raise
    found = digest(output, remote.algorithm)
    if found != remote.expected:
        output.unlink()
        raise ChecksumMismatch(
            f"{remote.url} gave another file than the published one: its {remote.algorithm} is {found}, expected "
            f"{remote.expected}. The file was removed. {advice}"
        )


@contextmanager
def _teaching_connection(url: str, advice: str) -> Iterator[None]:
    """Turn what requests raises into DownloadFailed, which says what to do."""
    from requests import exceptions

    try:
        yield
    except exceptions.SSLError as error:
        state = "has expired" if "expired" in str(error) else "was refused"
        raise DownloadFailed(
            f"the TLS certificate of {url} {state}. GroupLens's certificate has been expired at times; it is theirs to "
            f"renew, and this course never switches the check off. Try again later. {advice}. Details: {error}"
        ) from error
    except exceptions.HTTPError as error:
        raise DownloadFailed(f"the server did not give the file: {error}. {advice}") from error
    except (exceptions.ChunkedEncodingError, exceptions.ContentDecodingError) as error:
        raise DownloadFailed(
            f"the download of {url} broke off; what has come so far is kept, so run it again to go on. {advice}. "
            f"Details: {error}"
        ) from error
    except exceptions.RequestException as error:
        raise DownloadFailed(f"no connection to {url}: is this machine online? {advice}. Details: {error}") from error


def _receive(url: str, output: Path) -> None:
    """Append to `output` the bytes that it lacks, with a progress bar; start again where the server cannot."""
    import requests
    from tqdm import tqdm

    have = output.stat().st_size if output.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
            return  # all of it is there already: the checksum decides
        answer.raise_for_status()
        resumed = answer.status_code == requests.codes.partial_content
        have = have if resumed else 0
        total = int(answer.headers.get("Content-Length", 0)) + have or None
        with (
            output.open("ab" if resumed else "wb") as stream,
            tqdm(total=total, initial=have, unit="B", unit_scale=True, desc=url.rpartition("/")[2]) as bar,
        ):
            for chunk in answer.iter_content(CHUNK):
                stream.write(chunk)
                bar.update(len(chunk))
