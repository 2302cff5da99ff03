"""The export, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import export_notebooks
from tools.course_index import Index


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
