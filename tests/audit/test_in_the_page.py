"""The audit that runs in the page: its report says of the same files what the command says, number by number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages_that_run import Shown, shown

from course_lib.audit.command import cli

USERS, ITEMS = 300, 400
SAME = 1e-4  # relative: another processor sums in another order, in single precision
pytestmark = [pytest.mark.pipeline, pytest.mark.browser]


def tables(kind: str) -> dict[str, np.ndarray]:
    """Users and items of four kinds, by the name of their field: "few" has no users."""
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(USERS, 16)), rng.normal(size=(ITEMS, 16))
    if kind == "long":  # lengths that grow with the popularity
        items *= np.linspace(0.5, 3, ITEMS)[:, None]
    if kind == "shifted":
        users, items = users + 1, items + 2
    return {"items": items} if kind == "few" else {"items": items, "users": users}


def files(kind: str, folder: Path) -> dict[str, Path]:
    """The tables, and training and held-out pairs where there are users, as files."""
    rng, found = np.random.default_rng(1), {}
    for name, table in tables(kind).items():
        found[name] = folder / f"{name}.npy"
        np.save(found[name], table.astype("f8" if kind == "long" else "f4"))
    chances = np.arange(1, ITEMS + 1) / (ITEMS * (ITEMS + 1) / 2)  # the last items are the popular ones
    for name, each in (("pairs", 12), ("held-out", 2)) if "users" in found else ():
        drawn = [(user, item) for user in range(USERS) for item in rng.choice(ITEMS, each, replace=False, p=chances)]
        found[name] = folder / f"{name}.csv"
        np.savetxt(found[name], drawn, "%d", ",", header="user,item", comments="")
    return found


def differences(there: Any, here: Any, at: str = "") -> Iterator[str]:
    """Where two reports differ, in words, verdicts or numbers; where a file lay does not count."""
    if isinstance(there, dict) and isinstance(here, dict) and list(there) == list(here):
        for name in here.keys() - {"source"}:
            yield from differences(there[name], here[name], f"{at}.{name}")
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for place, (one, other) in enumerate(zip(there, here, strict=True)):
            yield from differences(one, other, f"{at}[{place}]")
    elif isinstance(there, float) and isinstance(here, float):
        if there != pytest.approx(here, rel=SAME, abs=1e-6):
            yield f"{at}: {there} in the page, {here} by the command"
    elif there != here:
        yield f"{at}: {there!r} in the page, {here!r} by the command"


def audited(opened: Shown, given: dict[str, Path]) -> Any:
    """What the page finds."""
    page = opened.page
    page.reload()
    for name, path in given.items():
        page.set_input_files(f"input[name={name}]", str(path))
    page.get_by_role("button", name="Audit here").click()
    with page.expect_download(timeout=600_000) as kept:
        page.get_by_role("link", name="report.json").click(timeout=600_000)
    return json.loads(Path(kept.value.path()).read_text(encoding="utf-8"))


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Shown]:
    with shown(browser, tmp_path, '<div class="audit-here"></div>', "audit_here.js") as found:
        yield found


def test_nothing_is_loaded_before_there_is_something_to_audit(opened: Shown) -> None:
    opened.page.get_by_role("button", name="Audit here").click()
    assert "Choose a file for: Item table." in opened.page.inner_text(".audit-here output")
    assert not any("python/" in url for url in opened.asked)


@pytest.mark.parametrize("kind", ["normal", "long", "shifted", "few"])
def test_the_page_says_what_the_command_says(kind: str, opened: Shown, tmp_path: Path) -> None:
    given = files(kind, tmp_path)
    there = audited(opened, given)
    arguments = [word for name, path in given.items() for word in (f"--{name}", str(path))]
    assert cli([*arguments, "--json", str(tmp_path / "report.json")]) == 0
    here = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert list(differences(there, here)) == []
