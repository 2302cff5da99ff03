"""The whole site as one file to take along: open index.html in it, no network and no server needed.

    python -m tools.site_zip    after `make book`: writes _build/html/two-tower-models-site.zip

The first page of the site then offers it. The same site gives the same bytes.
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

from tools import pdf

NAME = "two-tower-models-site.zip"
FOLDER = "two-tower-models"
WORDS = "This site as one download, to read without a network"
DAY = (1980, 1, 1, 0, 0, 0)  # the first that the format knows: a file's own time would make every archive another one
PACKED = {".png", ".woff", ".woff2", ".pdf", ".zip"}


def pack(site: Path, target: Path) -> int:
    """Write every file of the site but the archive itself; returns how many there are.

    Python in the page stays away: from a file no browser runs it.
    """
    python = site / "_static" / "python"
    files = sorted(
        path
        for path in site.rglob("*")
        if path.is_file() and path.name != NAME and path != target and python not in path.parents
    )
    with zipfile.ZipFile(target, "w") as archive:
        for path in files:
            entry = zipfile.ZipInfo(f"{FOLDER}/{path.relative_to(site).as_posix()}", DAY)
            entry.compress_type = zipfile.ZIP_STORED if path.suffix in PACKED else zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, _without_offer(path), compresslevel=9)
    return len(files)


def _without_offer(path: Path) -> bytes:
    """What a file holds; the first page without the link to the archive that it lies in."""
    if path.name != "index.html":
        return path.read_bytes()
    return re.sub(rf' <a href="../{NAME}">[^<]*</a>\.', "", path.read_text(encoding="utf-8")).encode()


def main() -> int:
    """Write the archive and offer it."""
    first = pdf.SITE / "book" / "index.html"
    if not first.is_file():
        sys.exit(f"no page of the book lies in {pdf.SITE}: run `make book` first")
    target = pdf.SITE / NAME
    count = pack(pdf.SITE, target)
    size = target.stat().st_size / 1e6
    pdf.offer(first, NAME, WORDS)
    print(f"wrote {target}: {count} files, {size:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
