"""How well a colour can be told from another, as WCAG 2 defines it."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def linear(parts: np.ndarray) -> np.ndarray:
    """The light of colours whose parts are sRGB, from 0 to 1; any shape."""
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    dark, light = sorted(float(linear(np.array(to_rgb(color))) @ LUMINANCE) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)
