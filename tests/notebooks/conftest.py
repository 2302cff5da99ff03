"""Fixtures for the notebook tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def normalise() -> ModuleType:
    """The tool tools/normalise.py, as a module."""
    spec = importlib.util.spec_from_file_location("normalise", ROOT / "tools" / "normalise.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
