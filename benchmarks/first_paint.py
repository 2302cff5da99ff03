"""First paint and weight of built pages on a slow 4G line (1.6 Mb/s, 150 ms), as GitHub Pages would send them: gzipped.

    python benchmarks/first_paint.py [book/debiasing/ddc.html ...]    after `make book`; needs Chromium

Bars: 2.5 s, 300 kB before the first paint, 1 MB for the first view.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tools import browsing

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"
PAGES = ["book/index.html", "book/start/data.html", "book/reference/claims.html", "book/reference/api.html"]
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}
BARS = (2.5, 300, 1000)
PACKED = (".woff", ".woff2", ".png")
SEEN = """() => {
  const files = performance.getEntriesByType("resource");
  const [page] = performance.getEntriesByType("navigation");
  const before = files.filter((file) => file.renderBlockingStatus === "blocking");
  const kB = (some) => some.reduce((sum, file) => sum + file.encodedBodySize, 0) / 1000;
  const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  return [paint, kB([page, ...before]), kB([page, ...files])];
}"""


class Zipped(http.server.SimpleHTTPRequestHandler):
    """Sends what can be packed gzipped."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if path.suffix not in PACKED:
            body = gzip.compress(body, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(pages: list[str]) -> int:
    """Print one line for each page; 1 if one of them misses a bar."""
    missed = False
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Zipped, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("page                                first paint, s   kB before it   kB of the first view")
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=browsing.find(), args=["--no-sandbox"])
        for name in pages:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            session = page.context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", SLOW_4G)
            page.goto(f"http://127.0.0.1:{server.server_port}/{name}", wait_until="networkidle")
            paint, before, whole = page.evaluate(SEEN)
            missed |= any(found > bar for found, bar in zip((paint / 1000, before, whole), BARS, strict=True))
            print(f"{name:35} {paint / 1000:14.2f} {before:14.0f} {whole:22.0f}")
            page.close()
        browser.close()
    server.shutdown()
    return int(missed)


if __name__ == "__main__":
    heaviest = max((SITE / "book").glob("*/*.html"), key=lambda page: page.stat().st_size)
    sys.exit(main(sys.argv[1:] or [*PAGES, heaviest.relative_to(SITE).as_posix()]))
