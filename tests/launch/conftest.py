"""The export, made once; what installs gigabytes is run by `make test-launch` alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import export_notebooks
from tools.course_index import Index


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the export of all notebooks to the pipelines; skip what is marked as `launch` where nobody asks for it."""
    for item in items:
        if "exported" in getattr(item, "fixturenames", ()):
            item.add_marker("pipeline")
    if "launch" not in config.getoption("markexpr"):
        for item in (item for item in items if item.get_closest_marker("launch")):
            item.add_marker(pytest.mark.skip("installs gigabytes into new environments: make test-launch"))


@pytest.fixture(scope="session")
def index() -> Index:
    """What the book's pages are called and number."""
    return Index()


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that becomes the branch `notebooks`."""
    folder = tmp_path_factory.mktemp("export") / "notebooks"
    export_notebooks.write(folder)
    return folder
