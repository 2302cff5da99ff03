"""What the tests of the built site share."""

from __future__ import annotations

import pytest


@pytest.fixture
def page(browser, site: str):
    """An empty page of a wide light window; errors of its scripts fail the test that uses it."""
    context, errors = browser.new_context(viewport={"width": 1280, "height": 900}), []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []
