"""The Firefox of this machine, for the pages that run Python: Playwright brings a Firefox of its own, or none.

It is driven by Mozilla's own client, `pip install marionette_driver`, which needs no other program.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marionette_driver import By, Wait
from marionette_driver.keys import Keys as Keys
from marionette_driver.marionette import Marionette


def find() -> str | None:
    """The path of a Firefox on this machine."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


def preferences(downloads: Path) -> dict[str, Any]:
    """What keeps it at this machine: every other host is sent to a port that nobody listens at."""
    return {
        "network.proxy.type": 1,
        **{f"network.proxy.{kind}": "127.0.0.1" for kind in ("http", "ssl")},
        **{f"network.proxy.{kind}_port": 9 for kind in ("http", "ssl")},
        "browser.download.dir": str(downloads),
        "browser.download.folderList": 2,
        "browser.helperApps.neverAsk.saveToDisk": "application/x-ipynb+json,application/json,text/html",
    }


class Firefox(Marionette):
    """What a reader does on a page."""

    def evaluate(self, code: str) -> Any:
        return self.execute_script(f"return {code}", sandbox=None)

    def waits(self, code: str, seconds: float = 300) -> Any:
        """What this code gives, once it gives something."""
        return Wait(self, timeout=seconds, interval=0.1).until(lambda page: page.evaluate(code), message=code)

    def clicks(self, words: str) -> None:
        """On the first button or link that is shown and says this."""
        self.find_element(By.XPATH, f"(//button|//a)[not(@hidden)][contains(., '{words}')]").click()

    def types(self, text: str) -> None:
        """Where the focus is, key by key."""
        self.get_active_element().send_keys(text)


@contextmanager
def opened(downloads: Path) -> Iterator[Firefox]:
    """A Firefox without a window, with a new profile."""
    page = Firefox(bin=find(), headless=True, prefs=preferences(downloads), startup_timeout=120)
    page.start_session()
    page.timeout.script = 300
    try:
        yield page
    finally:
        page.quit(in_app=False)
