"""The repository's address stands in pyproject.toml; every copy of it agrees, and there are no unknown copies."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import course_lib
from tools import address

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that hold the address, to be changed at will."""
    for name in ("pyproject.toml", *address.copies()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_copies_agree() -> None:
    assert address.carry(write=False) == []


def test_a_new_address_reaches_every_copy(copy: Path) -> None:
    old, new = address.repository(copy), "https://github.com/somebody/another.name"
    settings = copy / "pyproject.toml"
    settings.write_text(settings.read_text().replace(old, new))
    slug = old.removeprefix("https://github.com/")
    holding = [name for name in address.copies() if re.search(f"{slug}|github.io", (copy / name).read_text())]
    assert address.carry(copy, write=False) == holding and len(holding) > 25
    address.carry(copy, write=True)
    assert address.carry(copy, write=False) == []
    assert [name for name in address.copies() if slug in (copy / name).read_text()] == []
    assert "https://somebody.github.io/another.name/" in (copy / "README.md").read_text()
    settings.write_text(settings.read_text().replace(new, old))  # and back, letter by letter
    address.carry(copy, write=True)
    assert [name for name in address.copies() if (copy / name).read_text() != (ROOT / name).read_text()] == []


def test_a_part_of_a_longer_name_stays() -> None:
    old, new = "https://github.com/you/course", "https://github.com/a/b"
    text = "you/course/blob you/course-two me.you/course you/course.old https://you.github.io/course/"
    said = "a/b/blob you/course-two me.you/course you/course.old https://a.github.io/b/"
    assert address.with_address(text, old, new) == said


NO_NAMES = ("a", 'a/b"c', "../x", "a/..", "-a/b", "a.b/c", "ä/b")


@pytest.mark.parametrize(
    "wrong", ["github.com/a/b", "https://example.org/a/b", *(f"https://github.com/{name}" for name in NO_NAMES)]
)
def test_what_is_no_address_changes_nothing(copy: Path, wrong: str) -> None:
    before = (copy / "pyproject.toml").read_text()
    with pytest.raises(ValueError, match=r"expected the form https://github\.com/owner/name"):
        address.put(wrong, copy)
    assert (copy / "pyproject.toml").read_text() == before


@pytest.mark.parametrize(
    ("repository", "site"),
    [
        ("https://github.com/Some-Body/a.name", "https://some-body.github.io/a.name"),
        ("https://github.com/X/x.github.io", "https://x.github.io"),
        ("https://github.com/jdoe_firm/course", "https://jdoe_firm.github.io/course"),  # an account of an enterprise
    ],
)
def test_the_sites_address_follows_from_the_repositorys(repository: str, site: str) -> None:
    assert address.read(repository) == repository
    assert address.site(repository) == site


def test_no_other_file_repeats_it() -> None:
    slug = address.repository().removeprefix("https://github.com/")
    command = ["git", "grep", "--files-with-matches", "--fixed-strings", slug]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode > 1:
        pytest.skip("not a git checkout")
    assert set(found.stdout.split()) <= {"pyproject.toml", "tools/address.py", *address.copies()}


def test_citation_file() -> None:
    """Version and address are those of the package, and the keys that the format requires are there."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == course_lib.__version__
    assert citation["repository-code"] == address.repository()
    assert {"cff-version", "title", "message", "authors"} <= set(citation)


def test_a_doi_stands_in_the_citation_with_its_date(tmp_path) -> None:
    (tmp_path / "CITATION.cff").write_text((ROOT / "CITATION.cff").read_text(encoding="utf-8"), encoding="utf-8")
    for doi in ("10.5281/zenodo.1", "10.5281/zenodo.22"):  # the second in the place of the first
        address.put_doi(doi, tmp_path)
        said = yaml.safe_load((tmp_path / "CITATION.cff").read_text(encoding="utf-8"))
        assert said["doi"] == doi and str(said["date-released"]).startswith("20") and said["version"]
    with pytest.raises(ValueError, match=r"DOI=https://doi\.org/10\.1/x: expected the form 10\.5281"):
        address.put_doi("https://doi.org/10.1/x", tmp_path)


def test_the_papers_have_public_identifiers() -> None:
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    known = [paper.get("url", "") for paper in said["references"]]
    assert len(known) == 5 and sum("arxiv.org" in url or "openreview.net" in url for url in known) == 4  # none for P3


def test_badges_are_of_workflows_that_exist() -> None:
    named = set(re.findall(r"/actions/workflows/([\w.-]+\.yml)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named and named <= {path.name for path in (ROOT / ".github" / "workflows").glob("*.yml")}
