"""The audit that runs in the page: its report says of the same files what the command says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages_that_run import shown

from course_lib.audit.command import cli

pytestmark = [pytest.mark.pipeline, pytest.mark.browser]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Tables of 300 users and 400 items, training and held-out pairs, by the name of their field."""
    rng = np.random.default_rng(0)
    found = {name: tmp_path / f"{name}.npy" for name in ("items", "users")}
    for size, path in zip((400, 300), found.values(), strict=True):
        np.save(path, rng.normal(size=(size, 16)).astype(np.float32))
    for name, each in (("pairs", 12), ("held-out", 2)):
        drawn = [(user, item) for user in range(300) for item in rng.choice(400, each, replace=False)]
        found[name] = tmp_path / f"{name}.csv"
        np.savetxt(found[name], drawn, "%d", ",", header="user,item", comments="")
    return found


def said(report: dict[str, Any]) -> list[tuple[str, ...]]:
    return [tuple(one[key] for key in ("id", "verdict", "support", "advice")) for one in report["verdicts"]]


def test_the_page_says_what_the_command_says(browser: Any, tmp_path: Path, files: dict[str, Path]) -> None:
    with shown(browser, tmp_path, '<div class="audit-here"></div>', "audit_here.js") as (page, _address, asked):
        page.get_by_role("button", name="Audit here").click()
        assert "Choose a file for: Item table." in page.inner_text(".audit-here output")
        assert not any("python/" in url for url in asked)
        for name, path in files.items():
            page.set_input_files(f"input[name={name}]", str(path))
        page.get_by_role("button", name="Audit here").click()
        with page.expect_download(timeout=300_000) as kept:
            page.get_by_role("link", name="report.json").click(timeout=300_000)
        there = json.loads(Path(kept.value.path()).read_text(encoding="utf-8"))
    given = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    assert cli([*given, "--json", str(tmp_path / "report.json")]) == 0
    here = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert said(there) == said(here) and there["actions"] == here["actions"]
