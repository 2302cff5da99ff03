"""numba's `njit` where numba is installed; without it loops run as plain Python: the same numbers, slower."""

from __future__ import annotations

from typing import Any

try:
    from numba import njit as njit

    COMPILES = True
except ImportError:
    COMPILES = False

    def njit(*functions: Any, **_options: Any) -> Any:  # type: ignore[no-redef]
        """The decorator that leaves a function as it is."""
        return functions[0] if functions else (lambda function: function)
