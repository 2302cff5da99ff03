"""Numbers and lists in words, by the same rules as kit.js: what a page says is compared with what Python says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal


def number(value: float) -> str:
    """0.4, 2.25, 13.1, 1280: three figures or so, a real minus sign, no trailing zeros."""
    value = float(value)
    if math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    clean = float(f"{value:.12g}")  # a sum in another order must not change a rounded figure
    digits = 0 if abs(clean) >= 100 else 1 if abs(clean) >= 10 else 2
    text = str(Decimal(clean).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))
    short = text.rstrip("0").rstrip(".") if digits else text
    return "0" if short == "-0" else short.replace("-", "−")


def fine(value: float) -> str:
    """`number`, but a small value is no 0: 0.0034, and "less than 0.0001" below that."""
    size = abs(float(f"{float(value):.12g}"))
    if size < 1e-12 or size >= 0.01 or math.isnan(size):  # 1e-12: what rounding leaves of a zero
        return number(value)
    if size < 0.0001:
        return "less than 0.0001"
    text = str(Decimal(size).quantize(Decimal("0.0001"), rounding=ROUND_HALF_UP)).rstrip("0")
    return f"−{text}" if value < 0 else text


def whole_percent(part: float) -> str:
    """0.125 as 13 %; a part that is not nothing and not all is not written as 0 % or 100 %."""
    percent = float(f"{100 * part:.12g}")
    if 0 < percent < 0.5:
        return "under 1 %"
    return "over 99 %" if 99.5 <= percent < 100 else f"{math.floor(percent + 0.5)} %"


def list_of(words: Sequence[str], most: int = 4) -> str:
    """ "a", "a and b", "a, b and c", "a, b and 3 more"."""
    shown = [*words[: most - 1], f"{len(words) - most + 1} more"] if len(words) > most else list(words)
    return "".join(shown) if len(shown) < 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"
