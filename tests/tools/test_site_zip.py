"""The site as one file: everything but itself, the same bytes for the same site, offered once."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tools import pdf, site_zip


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.html").write_text('<p>Ours <span class="whole-book"></span></p>')
    (tmp_path / "a.png").write_bytes(b"picture")
    return tmp_path


def test_it_holds_every_file_but_itself_and_a_second_time_the_same(site: Path) -> None:
    target = site / site_zip.NAME
    assert site_zip.pack(site, target) == 2
    once = target.read_bytes()
    pdf.offer(site / "book" / "index.html", site_zip.NAME, site_zip.WORDS)
    site_zip.pack(site, target)
    assert target.read_bytes() == once  # the first page inside does not offer what it lies in
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist() == [f"{site_zip.FOLDER}/a.png", f"{site_zip.FOLDER}/book/index.html"]
        assert archive.read(f"{site_zip.FOLDER}/a.png") == b"picture"


def test_the_first_page_offers_it_only_when_it_is_there(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = site / "book" / "index.html"
    assert site_zip.NAME not in page.read_text()
    monkeypatch.setattr(pdf, "SITE", site)
    assert site_zip.main() == site_zip.main() == 0
    assert page.read_text().count(f'href="../{site_zip.NAME}"') == 1 and (site / site_zip.NAME).is_file()


def test_without_a_site_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "SITE", tmp_path)
    with pytest.raises(SystemExit, match="run `make book` first"):
        site_zip.main()
