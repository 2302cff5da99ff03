"""The Firefox of this machine, for the pages that run Python: Playwright brings a Firefox of its own, or none.

It is driven by Marionette, the protocol that is built into every Firefox: lines of JSON on a socket, with the names of
WebDriver (https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html).
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("firefox-esr", "firefox")
ENTER, CONTROL, ESCAPE, TAB = "\ue007", "\ue009", "\ue00c", "\ue004"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the name that WebDriver gives a reference to an element


def find() -> str | None:
    """The path of a Firefox on this machine."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def preferences(downloads: Path) -> dict[str, Any]:
    """What keeps it at this machine: every other host is sent to a port that nobody listens at."""
    return {
        "marionette.port": 0,  # any free one, which it writes into its profile
        "network.proxy.type": 1,
        **{f"network.proxy.{kind}": "127.0.0.1" for kind in ("http", "ssl")},
        **{f"network.proxy.{kind}_port": 9 for kind in ("http", "ssl")},
        "browser.download.dir": str(downloads),
        "browser.download.folderList": 2,
        "browser.helperApps.neverAsk.saveToDisk": "application/x-ipynb+json,application/json,text/html",
    }


class Firefox:
    """A page in it; `tell` is the protocol, the others are what a reader does."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self.answers = self.socket.makefile("rb")
        self.number = 0
        self.read()  # its greeting
        self.tell("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": {"script": 300_000}}})

    def read(self) -> Any:
        length = b"".join(iter(lambda: self.answers.read(1), b":"))
        return json.loads(self.answers.read(int(length)))

    def tell(self, command: str, **given: Any) -> Any:
        """What the browser answers; RuntimeError where it refuses."""
        self.number += 1
        told = json.dumps([0, self.number, command, given]).encode()
        self.socket.sendall(b"%d:%s" % (len(told), told))
        _, _, refused, answer = self.read()
        if refused:
            raise RuntimeError(f"{command}: {refused['message']}")
        return answer.get("value", answer) if isinstance(answer, dict) else answer

    def opens(self, address: str) -> None:
        self.tell("WebDriver:Navigate", url=address)

    def evaluate(self, code: str) -> Any:
        return self.tell("WebDriver:ExecuteScript", script=f"return {code}", args=[], sandbox=None)

    def waits(self, code: str, seconds: float = 300) -> Any:
        """What this code gives, once it gives something; TimeoutError where it never does."""
        end = time.monotonic() + seconds
        while not (found := self.evaluate(code)):
            if time.monotonic() > end:
                raise TimeoutError(f"{code}; the page says: {self.evaluate('document.body.innerText')[-600:]}")
            time.sleep(0.1)
        return found

    def element(self, xpath: str) -> str:
        return str(self.tell("WebDriver:FindElement", using="xpath", value=xpath)[ELEMENT])

    def clicks(self, words: str) -> None:
        """On the first button or link that is shown and says this."""
        marked = f"(//button|//a)[not(@hidden)][contains(., '{words}')]"
        self.tell("WebDriver:ElementClick", id=self.element(marked))

    def types(self, text: str) -> None:
        """Where the focus is, key by key."""
        focused = self.tell("WebDriver:GetActiveElement")[ELEMENT]
        self.tell("WebDriver:ElementSendKeys", id=focused, text=text)


@contextmanager
def opened(folder: Path) -> Iterator[Firefox]:
    """A Firefox without a window, with a new profile, which it keeps in this folder; downloads come there, too."""
    profile, path = folder / "profile", find()
    profile.mkdir()
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences(folder).items())
    (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
    command = [str(path), "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            port, end = profile / "MarionetteActivePort", time.monotonic() + 120
            while not (port.is_file() and port.read_text(encoding="utf-8")):
                assert time.monotonic() < end, f"{path} does not listen"
                time.sleep(0.1)
            yield Firefox(int(port.read_text(encoding="utf-8")))
        finally:
            running.kill()
