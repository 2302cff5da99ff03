"""The forms of answers."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib.lessons.shared import forms


def test_forms_say_what_they_expect() -> None:
    with pytest.raises(forms.NotYet, match="3 x any"):
        forms.floats([[1.0]], (3, None), "rows")
    with pytest.raises(forms.NotYet, match="all rows of the same length"):
        forms.floats([[1.0], [1.0, 2.0]], (2, None), "rows")
    assert forms.floats([[1, 2]], (1, 2), "rows").dtype == np.float64
