"""A small simulated class, released, collected and graded once by the real nbgrader with real walls."""

from __future__ import annotations

import pytest
from classroom_helpers import Graded, classroom, grade_table


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that asks for the graded class takes more than seconds."""
    for item in items:
        if "graded" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Every kind of submission once, graded by one command."""
    pytest.importorskip("nbgrader", reason="nbgrader is missing: pip install '.[classroom]'")
    from exercises import simulate

    folder = tmp_path_factory.mktemp("classroom")
    simulate.write_class(folder / "handed-in", list(simulate.expected()))
    classroom("all", "--submissions", folder / "handed-in", "--course", folder, "--workers", 2)
    return Graded(folder, grade_table(folder))
