"""A real browser for the report's tests, and a place for its pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import real_browser
from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Chromium under its driver."""
    yield from real_browser.session(tmp_path_factory.mktemp("chromium"))


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for pages that several tests open."""
    return tmp_path_factory.mktemp("pages")
