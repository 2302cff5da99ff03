"""Pages of one browser that tests use one after the other: to open a new one takes as long as many a test."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

BLANK = "about:blank"
FORGET = """() => {
  try {
    for (const kept of [localStorage, sessionStorage]) kept.clear();
    Storage.prototype.setItem = () => {};  // the document would write once more when it goes
  } catch { /* a page that may store nothing */ }
}"""


@dataclass(eq=False)
class Tab:
    """A page, the options of its context, and what went wrong on it: all errors that the console shows, those that
    scripts threw, hosts that were asked.
    """

    page: Any
    options: dict[str, Any]
    errors: list[str] = field(default_factory=list)
    thrown: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda told: self.errors.append(told.text) if told.type == "error" else None)
        self.page.on("pageerror", lambda error: (self.errors.append(str(error)), self.thrown.append(str(error))))
        self.page.on("request", lambda asked: asked.url.startswith(("file:", BLANK)) or self.outside.append(asked.url))

    def leave(self) -> None:
        """Leave the document, and make the page as new: no mouse over it, the media of its options.

        Nothing stays stored where it stands; where it stood before something may.
        """
        self.page.unroute_all()
        self.page.evaluate(FORGET)
        self.page.goto(BLANK)
        self.page.mouse.move(0, 0)
        self.page.emulate_media(
            media="screen",
            color_scheme=self.options.get("color_scheme", "light"),
            reduced_motion=self.options.get("reduced_motion", "no-preference"),
        )


class Tabs:
    """The pages that no test uses now, by the options of their contexts."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.free: dict[str, list[Tab]] = defaultdict(list)

    def take(self, width: int = 1280, height: int = 900, **options: Any) -> Tab:
        """An empty page of that size; `options` are those of Playwright's contexts."""
        free = self.free[repr(sorted(options.items()))]
        tab = free.pop() if free else Tab(self.browser.new_context(**options).new_page(), options)
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.errors, tab.thrown, tab.outside = [], [], []
        return tab

    def give_back(self, tab: Tab) -> None:
        """Leave a page to the next test; what went wrong on it is known afterwards."""
        tab.leave()
        self.free[repr(sorted(tab.options.items()))].append(tab)
