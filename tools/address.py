"""Carries the repository's public address from pyproject.toml to every file that must repeat it.

`make address TO=https://github.com/you/course` puts the address there first; `make address` only renews the copies, and
`make address CHECK=1` changes nothing: it says which copies differ (with TO, from that address), and exits 1 if any
does. The book's own links need none of this: tools/offline_site.py reads pyproject.toml.

`make address DOI=10.5281/zenodo.1234567` puts the DOI of a published version, and today as its date, into CITATION.cff.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What repeats the address. Every assignment says how to install the course on Colab, and where its chapter is; so does
# the head of one that a seed changes.
COPIES = ("README.md", "CITATION.cff", "course_lib/audit/page.py", "exercises/*/*.ipynb", "exercises/*/variant.md")
# the address that the course comes with: nothing is published there
PLACEHOLDER_OWNER = "two-tower-course"
PLACEHOLDER = f"https://github.com/{PLACEHOLDER_OWNER}/two-tower-course"


def is_set(address: str) -> bool:
    """Whether somebody has put an address of their own in the place of the one that the course comes with."""
    return address.split("/")[-2] != PLACEHOLDER_OWNER


def repository(root: Path = ROOT) -> str:
    """The address that pyproject.toml sets."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["urls"]["Repository"]).rstrip("/")


def read(given: str) -> str:
    """An address of a repository on GitHub, without a slash or .git at its end. ValueError for what is none."""
    address = given.rstrip("/").removesuffix(".git")
    if not re.fullmatch(r"https://github\.com/[A-Za-z0-9]+([-_][A-Za-z0-9]+)*/(?!\.{1,2}$)[A-Za-z0-9._-]+", address):
        raise ValueError(f"TO={given}: expected the form https://github.com/owner/name")
    return address


def put(address: str, root: Path = ROOT) -> None:
    """Puts an address into pyproject.toml. ValueError for what is no address of a repository on GitHub."""
    address = read(address)
    path = root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'^(Repository = ")[^"]*', rf"\g<1>{address}", text, flags=re.MULTILINE), encoding="utf-8")


def site(address: str) -> str:
    """Where GitHub Pages publishes the site of a repository: https://owner.github.io/name."""
    owner, name = address.split("/")[-2:]
    host = f"https://{owner.lower()}.github.io"
    return host if name.lower() == f"{owner.lower()}.github.io" else f"{host}/{name}"


def copies(root: Path = ROOT) -> list[str]:
    """The files that may repeat the address."""
    return [path.relative_to(root).as_posix() for place in COPIES for path in sorted(root.glob(place))]


def with_address(text: str, old: str, address: str) -> str:
    """A text with another address in the place of an old one: of the repository, of its site, and as owner/name."""
    for form in (site, _slug):
        copy = re.compile(rf"(?<![\w.-]){re.escape(form(old))}(?![\w-]|\.\w)")
        text = copy.sub(form(address), text)
    return text


def _slug(address: str) -> str:
    return "/".join(address.split("/")[-2:])


def carry(root: Path = ROOT, *, write: bool, to: str = "") -> list[str]:
    """The files whose copies differ from an address, without one from that of pyproject.toml (rewritten if `write`).

    They have what CITATION.cff has, or, where the course was merged anew, the placeholder.
    """
    address, differing = to or repository(root), []
    cited = re.findall(r"^repository-code: (\S+)", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    for name in copies(root):
        old = new = (root / name).read_text(encoding="utf-8")
        for before in {*cited, PLACEHOLDER} - {address}:
            new = with_address(new, before, address)
        if new != old:
            differing.append(name)
            if write:
                (root / name).write_text(new, encoding="utf-8")
    return differing


def put_doi(doi: str, root: Path = ROOT) -> None:
    """Puts the DOI of the published version, and today, into CITATION.cff. ValueError for what is no DOI."""
    if not re.fullmatch(r"10\.\d{4,9}/\S+", doi):
        raise ValueError(f"DOI={doi}: expected the form 10.5281/zenodo.1234567, without https://doi.org/")
    path = root / "CITATION.cff"
    text = re.sub(r"^(doi|date-released): .*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    said = rf"\g<0>date-released: {date.today().isoformat()}\ndoi: {doi}\n"
    path.write_text(re.sub(r"^version: .*\n", said, text, count=1, flags=re.MULTILINE), encoding="utf-8")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file differs")
    parser.add_argument("--to", help="put this address in first: https://github.com/owner/name")
    parser.add_argument("--doi", help="of the published version, for CITATION.cff: 10.5281/zenodo.1234567")
    given = parser.parse_args(arguments)
    try:
        if given.doi and not given.check:
            put_doi(given.doi, root)
        address = read(given.to) if given.to else repository(root)
    except ValueError as error:
        sys.exit(f"address: {error}")
    differing = ["pyproject.toml"] if address != repository(root) else []
    if differing and not given.check:
        put(address, root)
    differing += carry(root, write=not given.check, to=address)
    what = f"differs from {address}" if given.check else f"now has {address}"
    print("\n".join(f"{name}: {what}" for name in differing) or f"all agree on {address}")
    if not is_set(address):
        print("This is the placeholder, nothing is published there: make address TO=https://github.com/you/course")
    elif "\ndoi: " not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        print(
            "CITATION.cff has no DOI yet: deposit a version (Zenodo gives one), then make address DOI=10.5281/zenodo.N"
        )
    return int(given.check and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
