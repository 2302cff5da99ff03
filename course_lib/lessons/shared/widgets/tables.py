"""Tables of embeddings in few bytes: whole numbers from -127 to 127 and their unit, as text.

tables.js reads them on the page.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

MOST = 127


def pack(table: np.ndarray) -> dict[str, Any]:
    """{"unit": u, "width": d, "numbers": text} of a table (n, d), finite and not all 0, in rounded multiples of u."""
    unit = float(f"{np.abs(table).max() / MOST:.6g}") or 1.0
    numbers = np.clip(np.rint(table / unit), -MOST, MOST).astype(np.int8)
    return {"unit": unit, "width": table.shape[1], "numbers": base64.b64encode(numbers.tobytes()).decode()}


def unpack(packed: Mapping[str, Any]) -> np.ndarray:
    """The table (n, d) of `pack`."""
    numbers = np.frombuffer(base64.b64decode(packed["numbers"]), np.int8)
    return np.asarray(packed["unit"] * numbers.reshape(-1, packed["width"]).astype(np.float64))


def checked(table: Any, name: str, *, rows: tuple[int, int], width: tuple[int, int]) -> np.ndarray:
    """A table (n, d) of finite numbers, n and d within limits; else a ValueError that names it."""
    try:
        found = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is no table of numbers; expected (n, d)") from None
    if found.ndim != 2 or not (rows[0] <= found.shape[0] <= rows[1] and width[0] <= found.shape[1] <= width[1]):
        raise ValueError(
            f"{name} has shape {found.shape}; expected (n, d), n from {rows[0]} to {rows[1]} and d from {width[0]} "
            f"to {width[1]}"
        )
    if not np.isfinite(found).all() or not found.any():
        raise ValueError(f"{name} holds NaN or infinity, or nothing but zeros; expected finite embeddings")
    return found
