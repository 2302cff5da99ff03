"""The command jupyter-book, two seconds quicker: jsonschema leaves out its grammar of web addresses, unused here.

It refuses a checkout in whose path sphinx-external-toc would read a pattern: after minutes of work every file that the
table of contents does not name, such as the README, would be a page of the book, with warnings that name other causes.
"""

from __future__ import annotations

import sys
from glob import has_magic
from importlib import import_module
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    if has_magic(str(Path.cwd())):
        sys.exit(f"build_book: {Path.cwd()}: [ ], * and ? may not stand in the path of the checkout; rename the folder")
    modules: dict[str, Any] = sys.modules
    modules["rfc3987_syntax"] = None
    sys.argv[0] = "jupyter-book"
    import_module("jupyter_book.cli.main").main()
