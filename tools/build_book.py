"""The command jupyter-book, two seconds quicker: jsonschema leaves out its grammar of web addresses, unused here."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

if __name__ == "__main__":
    modules: dict[str, Any] = sys.modules
    modules["rfc3987_syntax"] = None
    sys.argv[0] = "jupyter-book"
    import_module("jupyter_book.cli.main").main()
