"""Downloads, against servers on this machine: checked, resumed, and refused with a message that says what to do."""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import re
import socket
import ssl
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pooch
import pytest

from course_lib import datasets
from course_lib.datasets import sources
from course_lib.datasets.catalogue import ENTRIES, Entry, Remote

HERE = Path(__file__).parents[1] / "fixtures"
PAIRS = [(1, 10), (2, 10), (2, 30)]


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the bytes in server.files. Knows ranges if server.ranges; breaks off after server.cut bytes if any."""

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Range")))
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted and self.server.ranges else 0
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        self.wfile.write(body if self.server.cut is None else body[: self.server.cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    """A web server on 127.0.0.1 with settable files, ranges and cut, that notes what it was asked for."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.asked, server.ranges, server.cut = {}, [], True, None
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no COURSE_DATA, no proxy, and no licence note printed yet."""
    monkeypatch.setattr(pooch.get_logger(), "disabled", True)  # it keeps the stderr of the test that used it first
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("course_lib.datasets.cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(sources, "_noted", set())
    return tmp_path / "cache"


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    """A small ml-1m.zip in the published layout."""
    path = tmp_path / "made.zip"
    with zipfile.ZipFile(path, "w") as file:
        for member in ("ratings.dat", "movies.dat"):
            file.write(HERE / "data" / "ml-1m" / member, f"ml-1m/{member}")
    return path.read_bytes()


def entry_for(url: str, content: bytes) -> Entry:
    """The row of ml-1m with another address and the hash of `content`."""
    remote = Remote(f"{url}/ml-1m.zip", "ml-1m/ml-1m.zip", "md5", hashlib.md5(content).hexdigest())
    return dataclasses.replace(ENTRIES["ml-1m"], remotes=(remote,))


def original_ids(data) -> list[tuple[int, int]]:
    users, items = data.user_table["id"][data.users], data.item_table["id"][data.items]
    return list(zip(users.tolist(), items.tolist(), strict=True))


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


# -------------------------------------------------------------------------------------------------------------- success
def test_a_download_is_checked_cached_and_not_repeated(server, cache: Path, archive: bytes, capsys) -> None:
    server.files["/ml-1m.zip"] = archive
    entry = entry_for(server.url, archive)
    assert original_ids(datasets.load_entry(entry)) == PAIRS
    assert original_ids(datasets.load_entry(entry)) == PAIRS
    assert server.asked == [("/ml-1m.zip", None)]
    assert left_in(cache) == ["ml-1m.zip"]
    said = capsys.readouterr().err
    assert said.count("for research; no commercial use") == 1
    assert "The MovieLens Datasets: History and Context" in said
    assert "ml-1m.zip: 100%" in said  # the progress bar


def test_the_licence_note_comes_before_the_first_byte(server, cache: Path, archive: bytes, capsys) -> None:
    with pytest.raises(datasets.DownloadFailed):  # the file is not there
        datasets.load_entry(entry_for(server.url, archive))
    said = capsys.readouterr().err
    assert said.startswith("MovieLens 1M: for research;")
    server.files["/ml-1m.zip"] = archive
    datasets.load_entry(entry_for(server.url, archive))
    assert "for research" not in capsys.readouterr().err  # once


def git_name(content: bytes) -> str:
    """What `git hash-object` prints for a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def test_a_file_may_be_known_by_the_name_that_git_gives_it(server, cache: Path) -> None:
    """A set of single files, as Yelp2018: a wrong one is refused, and one left in the cache is replaced."""
    contents = {path.name: path.read_bytes() for path in sorted((HERE / "data" / "yelp2018").iterdir())}
    assert git_name(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git's name of every empty file
    known = {name: ("sha256", hashlib.sha256(content).hexdigest()) for name, content in contents.items()}
    known["train.txt"] = ("git", git_name(contents["train.txt"]))
    remotes = (Remote(f"{server.url}/{name}", f"yelp2018/{name}", *by) for name, by in known.items())
    entry = dataclasses.replace(ENTRIES["yelp2018"], remotes=tuple(remotes))
    server.files = {f"/{name}": content for name, content in contents.items()} | {"/train.txt": b"0 0\n"}
    with pytest.raises(datasets.ChecksumMismatch, match=f"its git is {git_name(b'0 0' + chr(10).encode())}, expected"):
        datasets.load_entry(entry)
    assert "train.txt" not in left_in(cache)
    server.files["/train.txt"] = contents["train.txt"]
    (cache / "yelp2018" / "test.txt").unlink()  # with it, what lies there would be a whole set
    (cache / "yelp2018" / "train.txt").write_bytes(b"0 0\n")
    assert len(datasets.load_entry(entry)) == 15
    assert left_in(cache) == ["test.txt", "train.txt", "valid.txt"]


def test_nothing_is_downloaded_when_the_files_are_at_hand(server, cache: Path, archive: bytes, monkeypatch) -> None:
    monkeypatch.setenv("COURSE_DATA", str(HERE / "data"))
    assert original_ids(datasets.load_entry(entry_for(server.url, archive))) == PAIRS
    assert server.asked == []


# --------------------------------------------------------------------------------------------------------------- broken
def test_a_broken_download_goes_on_where_it_stopped(server, cache: Path, archive: bytes, monkeypatch) -> None:
    monkeypatch.setattr(sources, "CHUNK", 50)
    server.files["/ml-1m.zip"], server.cut = archive, 100
    entry = entry_for(server.url, archive)
    with pytest.raises(datasets.DownloadFailed, match="broke off; what has come so far is kept, so run it again"):
        datasets.load_entry(entry)
    assert left_in(cache) == ["ml-1m.zip.part"]
    assert (cache / "ml-1m" / "ml-1m.zip.part").stat().st_size == 100
    server.cut = None
    assert original_ids(datasets.load_entry(entry)) == PAIRS
    assert server.asked == [("/ml-1m.zip", None), ("/ml-1m.zip", "bytes=100-")]
    assert left_in(cache) == ["ml-1m.zip"]


@pytest.mark.parametrize("part", ["finished", "half", "wrong", "wrong, and no ranges"])
def test_a_part_that_lies_there_is_finished_checked_and_never_in_the_way(
    part: str, server, cache: Path, archive: bytes
) -> None:
    server.files["/ml-1m.zip"], server.ranges = archive, "no ranges" not in part
    (cache / "ml-1m").mkdir(parents=True)
    content = {"finished": archive, "half": archive[:50]}.get(part, b"x" * 10)
    (cache / "ml-1m" / "ml-1m.zip.part").write_bytes(content)
    entry = entry_for(server.url, archive)
    if part == "wrong":
        with pytest.raises(datasets.ChecksumMismatch):
            datasets.load_entry(entry)
    assert original_ids(datasets.load_entry(entry)) == PAIRS


def test_ctrl_c_keeps_the_part(server, cache: Path, archive: bytes, monkeypatch) -> None:
    server.files["/ml-1m.zip"] = archive
    entry = entry_for(server.url, archive)

    def interrupted(url: str, output: Path) -> None:
        output.write_bytes(archive[:50])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sources, "_receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            datasets.load_entry(entry)
    assert left_in(cache) == ["ml-1m.zip.part"]
    assert original_ids(datasets.load_entry(entry)) == PAIRS
    assert server.asked == [("/ml-1m.zip", "bytes=50-")]


# ------------------------------------------------------------------------------------------------------------- checksum
def test_a_checksum_mismatch_removes_the_file_and_shows_both_hashes(server, cache: Path, archive: bytes) -> None:
    forged = archive + b"more"
    server.files["/ml-1m.zip"] = forged
    with pytest.raises(datasets.ChecksumMismatch, match="The file was removed") as caught:
        datasets.load_entry(entry_for(server.url, archive))
    assert hashlib.md5(archive).hexdigest() in str(caught.value)
    assert hashlib.md5(forged).hexdigest() in str(caught.value)
    assert left_in(cache) == []


@pytest.mark.parametrize("where", ["ml-1m.zip", "ml-1m/ml-1m.zip"])
def test_an_archive_placed_by_hand_is_checked_and_left_where_it_is(
    where: str, server, cache: Path, archive: bytes, tmp_path: Path, monkeypatch
) -> None:
    own = tmp_path / "own"
    (own / "ml-1m").mkdir(parents=True)
    (own / where).write_bytes(archive[:-1])
    monkeypatch.setenv("COURSE_DATA", str(own))
    with pytest.raises(datasets.ChecksumMismatch, match="was left where it is") as caught:
        datasets.load_entry(entry_for(server.url, archive))
    assert hashlib.md5(archive).hexdigest() in str(caught.value)
    assert hashlib.md5(archive[:-1]).hexdigest() in str(caught.value)
    assert (own / where).read_bytes() == archive[:-1]
    (own / where).write_bytes(archive)
    assert original_ids(datasets.load_entry(entry_for(server.url, archive))) == PAIRS
    assert server.asked == []


# ----------------------------------------------------------------------------------------------------------- connection
@pytest.mark.parametrize("host", ["127.0.0.1", "files.invalid"])
def test_no_network(host: str, cache: Path, archive: bytes) -> None:
    with socket.socket() as taken:  # a port on which nobody answers
        taken.bind(("127.0.0.1", 0))
        entry = entry_for(f"http://{host}:{taken.getsockname()[1]}", archive)
        with pytest.raises(datasets.DownloadFailed, match="is this machine online") as caught:
            datasets.load_entry(entry)
    assert "To place it by hand" in str(caught.value) and "put ml-1m.zip or ratings.dat" in str(caught.value)
    assert left_in(cache) == []


def test_a_file_that_moved_away(server, cache: Path, archive: bytes) -> None:
    with pytest.raises(datasets.DownloadFailed, match=r"did not give the file: 404.*To place it by hand"):
        datasets.load_entry(entry_for(server.url, archive))


def test_a_server_that_hangs(cache: Path, archive: bytes, monkeypatch) -> None:
    monkeypatch.setattr(sources, "TIMEOUT", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,  # takes the call and never answers
        pytest.raises(datasets.DownloadFailed, match="no connection to"),
    ):
        datasets.load_entry(entry_for(f"http://127.0.0.1:{silent.getsockname()[1]}", archive))


@pytest.mark.parametrize("trusted", [True, False])
def test_a_certificate_that_expired_or_is_nobodys_is_refused_and_explained(
    trusted: bool, server, cache: Path, archive: bytes, monkeypatch
) -> None:
    certificate = HERE / "tls" / "expired.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.files["/ml-1m.zip"] = archive
    if trusted:  # but for its age
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    entry, said = entry_for(server.url.replace("http:", "https:"), archive), "" if trusted else "was refused|"
    with pytest.raises(datasets.DownloadFailed, match=rf"certificate .* ({said}has expired)") as caught:
        datasets.load_entry(entry)
    assert not trusted or "GroupLens's certificate has been expired at times" in str(caught.value)
    assert "put ml-1m.zip or ratings.dat" in str(caught.value)
    assert server.asked == []  # not a single request went through
    assert left_in(cache) == []


def test_a_download_without_the_needed_files_says_so(server, cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("ml-1m/README", "nothing else")
    server.files["/ml-1m.zip"] = path.read_bytes()
    with pytest.raises(datasets.DataMissing, match="came, but its files are not in it"):
        datasets.load_entry(entry_for(server.url, path.read_bytes()))
