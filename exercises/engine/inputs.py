"""What is drawn: the random inputs of hidden checks, variants and exams, from words that students cannot guess."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

Answer = Callable[..., Any]  # a student's function, as hidden checks call it
_SEED: ContextVar[tuple[int, ...]] = ContextVar("seed", default=())
SHORTEST = 10  # a shorter seed is found by trying, and with it every hidden input and every answer of an exam


def usable(command: str, seed: str) -> None:
    """Ends a command whose seed is empty or no text, and warns of one that can be guessed."""
    if not seed.strip():
        told = f"there is no seed; give words of at least {SHORTEST} characters that students cannot guess"
        sys.exit(f"{command}: {told}: make {command} SEED=words-that-nobody-guesses")
    try:
        seed.encode()
    except UnicodeEncodeError:
        sys.exit(f"{command}: the seed holds bytes that are no text in UTF-8; take words that can be read")
    if len(seed) < SHORTEST:
        print(f"{command}: a seed of {len(seed)} characters can be guessed by trying; take a longer one for a class")


def of_words(text: str) -> np.random.Generator:
    """The generator that some words stand for."""
    return np.random.default_rng(list(hashlib.sha256(text.encode()).digest()))


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
