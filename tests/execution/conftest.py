"""A real browser for pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import real_browser
from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Chromium under its driver."""
    yield from real_browser.session(tmp_path_factory.mktemp("chromium"))
