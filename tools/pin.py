"""Makes a branch with the copies of the notebooks as they are today: a class works with it for a whole term.

    python -m tools.pin autumn-2026    (`make pin TERM_NAME=autumn-2026`)

The branch is notebooks-autumn-2026. Nothing is published: the command that does it is printed, with the links to
one of the notebooks for Binder, Colab and nbgitpuller.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from tools import address, export_notebooks

ROOT = Path(__file__).resolve().parents[1]


class PinError(ValueError):
    """A name that cannot be used; the message says what was expected."""


def branch_of(term: str) -> str:
    """The name of the branch of a term; PinError for a name that links would break on."""
    if not re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", term):
        raise PinError(f"TERM_NAME={term!r}: expected lower-case words and numbers joined by -, such as autumn-2026")
    return f"{export_notebooks.BRANCH}-{term}"


def commit(folder: Path, branch: str, message: str, root: Path = ROOT) -> str:
    """Make a branch of one commit that holds a folder; the checkout and its index stay as they are.

    Raises PinError where the branch exists: a pinned version does not move.
    """
    if git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", root=root, check=False):
        raise PinError(f"the branch {branch} exists; choose another name, or delete it: git branch -D {branch}")
    with tempfile.TemporaryDirectory() as place:
        own = {"GIT_INDEX_FILE": str(Path(place) / "index"), "GIT_WORK_TREE": str(folder)}
        git("add", "--all", "--force", ".", root=root, folder=folder, variables=own)
        tree = git("write-tree", root=root, variables=own)
    made = git("commit-tree", tree, "-m", message, root=root)
    git("update-ref", f"refs/heads/{branch}", made, root=root)
    return made


def git(
    *arguments: str, root: Path, folder: Path | None = None, variables: dict[str, str] | None = None, check: bool = True
) -> str:
    """What git says about the repository at `root`, run in `folder` (default: there)."""
    place = subprocess.run(
        ["git", "rev-parse", "--absolute-git-dir"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = {**os.environ, "GIT_DIR": place, **(variables or {})}
    done = subprocess.run(
        ["git", *arguments], cwd=folder or root, env=environment, capture_output=True, text=True, check=check
    )
    return done.stdout.strip()


def links(branch: str, repository: str, page: str) -> dict[str, str]:
    """What opens one notebook of the branch on Binder, on Colab, and on a JupyterHub with nbgitpuller."""
    slug, name = "/".join(repository.split("/")[-2:]), repository.rpartition("/")[2]
    place = quote(f"lab/tree/{name}/{page}.ipynb", safe="")
    return {
        "Binder": f"https://mybinder.org/v2/gh/{slug}/{branch}?urlpath=lab/tree/{page}.ipynb",
        "Colab": f"https://colab.research.google.com/github/{slug}/blob/{branch}/{page}.ipynb",
        "JupyterHub": f"https://YOUR-HUB/hub/user-redirect/git-pull?repo={quote(repository, safe='')}"
        f"&branch={branch}&urlpath={place}",
    }


def main(argv: list[str] | None = None) -> int:
    """Entry point of `make pin`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("term", help="such as autumn-2026")
    term = parser.parse_args(argv).term
    try:
        branch = branch_of(term)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "copies"
            page = export_notebooks.write(folder, branch=branch)[0]
            commit(folder, branch, f"Copies of the notebooks for {term}")
    except PinError as error:
        print(f"make pin: {error}", file=sys.stderr)
        return 2
    print(f"The branch {branch} is made. To publish it: git push origin {branch}\nIts notebooks, one for example:")
    print(*(f"  {where}: {link}" for where, link in links(branch, address.repository(), page).items()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
