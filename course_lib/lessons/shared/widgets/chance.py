"""The chance of the interactives: the same numbers in Python as on the page."""

from __future__ import annotations

import numpy as np

BELL = 12  # uniform numbers in a number that is about normal
_MASK = np.uint64(0xFFFFFFFF)  # the generator counts modulo 2^32; in 64 bits no product of its steps is lost


def uniforms(seed: int, count: int) -> np.ndarray:
    """(count,) numbers in [0, 1) from mulberry32, as `randomGenerator(seed)` of random.js draws them, bit for bit.

    The state of the generator is a counter, so all numbers come at once. seed: 0 to 2^32 - 1.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}; expected 0 to 2^32 - 1")
    steps = np.arange(1, count + 1, dtype=np.uint64)
    state = (np.uint64(seed) + steps * np.uint64(0x6D2B79F5)) & _MASK
    t = (state ^ (state >> np.uint64(15))) * (state | np.uint64(1)) & _MASK
    t ^= (t + ((t ^ (t >> np.uint64(7))) * (t | np.uint64(61)) & _MASK)) & _MASK
    return np.asarray(((t ^ (t >> np.uint64(14))) & _MASK) / 2.0**32)


def bells(chance: np.ndarray) -> np.ndarray:
    """(count,) numbers, about normal: sums of twelve of the (12 count,) uniform ones, less six (random.js: `bell`)."""
    return np.cumsum(chance.reshape(-1, BELL), axis=1)[:, -1] - BELL / 2  # added from left to right, as JavaScript adds
