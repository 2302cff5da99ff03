"""The bounds of an argument: the last value that is taken, and the first that is refused, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def ends_at(call: Callable[..., Any], name: str, *, taken: Any, refused: Any) -> None:
    """`call(name=taken)` goes through and `call(name=refused)` raises a ValueError that begins with the name."""
    call(**{name: taken})
    with pytest.raises(ValueError, match=rf"^{name}\b.* expected "):
        call(**{name: refused})
