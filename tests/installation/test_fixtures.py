"""The shared fixtures skip where a reader lacks a browser, and fail in CI."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tools import browsing


@pytest.fixture
def conftest(request: pytest.FixtureRequest) -> ModuleType:
    """The module tests/conftest.py as pytest loaded it."""
    here = Path(__file__).resolve().parents[1] / "conftest.py"
    plugins = request.config.pluginmanager.get_plugins()
    return next(plugin for plugin in plugins if getattr(plugin, "__file__", None) == str(here))


def test_what_is_missing_is_skipped(conftest: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "IN_CI", False)
    with pytest.raises(pytest.skip.Exception, match="apt install chromium"):
        conftest.skip_or_fail_in_ci("apt install chromium")


def test_what_is_missing_in_ci_fails(conftest: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "IN_CI", True)
    with pytest.raises(pytest.fail.Exception, match="apt install chromium"):
        conftest.skip_or_fail_in_ci("apt install chromium")


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


def test_the_site_is_served(site: str) -> None:
    with urlopen(f"{site}/index.html") as answer:
        assert answer.status == 200
    with pytest.raises(HTTPError):
        urlopen(f"{site}/no-such-page.html")
