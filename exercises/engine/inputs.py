"""Hidden checks, one module per assignment: only the grader imports them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

_SEED: ContextVar[tuple[int, ...]] = ContextVar("seed", default=())


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, the random inputs of hidden checks are those of a private variant."""
    token = _SEED.set((seed,))
    try:
        yield
    finally:
        _SEED.reset(token)


def generator(*key: int) -> np.random.Generator:
    """The generator of one hidden check: its own key, and behind it the seed of the variant, if there is one."""
    return np.random.default_rng([*key, *_SEED.get()])


def drawn(public: int) -> int:
    """The seed of data that a hidden check asks for: the public number, or one of the variant's own."""
    return int(generator(public).integers(1, 2**31)) if _SEED.get() else public
