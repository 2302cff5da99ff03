"""A test from a table of calls that must be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def refused(*rows: tuple[Callable[[], Any], str]) -> Callable[..., None]:
    """A test for each (call, pattern): the call is a ValueError, in whose message the pattern is found."""

    @pytest.mark.parametrize(("call", "message"), rows)
    def test(call: Callable[[], Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            call()

    return test
