"""The shared fixtures skip where a reader lacks a browser, and fail in CI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import browsing


def test_the_browser_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_CHROMIUM", sys.executable)
    assert browsing.find() == sys.executable
    monkeypatch.setenv("COURSE_CHROMIUM", "/no/such/browser")
    assert browsing.find() is None
    with pytest.raises(FileNotFoundError, match="apt install chromium"), browsing.browser():
        pass


def test_a_browser_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("COURSE_CHROMIUM", raising=False)
    monkeypatch.setattr(browsing, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browsing.find() is None
    chromium = tmp_path / "google-chrome"
    chromium.touch(mode=0o755)
    assert browsing.find() == str(chromium)


def test_the_browser_reaches_this_machine_only(browser) -> None:
    """What the tests' claim 'no request to a third party' rests on: a name outside cannot be resolved."""
    page = browser.new_page()
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(f"{request.url} {request.failure}"))
    page.goto("about:blank")
    page.evaluate("() => fetch('https://example.org/').catch(() => null)")
    page.close()
    assert failed == ["https://example.org/ net::ERR_NAME_NOT_RESOLVED"]
