"""The tracer on the real MPI libraries of this machine, and a real browser for pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import real_browser
from selenium.webdriver import Chrome
from traced_program import Traced, built_for

from offbeat.libraries.installations.installation import Installation


@pytest.fixture
def traced(mpi_installation: Installation, tmp_path: Path) -> Traced:
    """The tracer on each of the five real MPI libraries in turn."""
    return built_for(mpi_installation, tmp_path)


@pytest.fixture
def some_traced(some_mpi_installation: Installation, tmp_path: Path) -> Traced:
    """The tracer on one real MPI library, for tests that do not depend on the library."""
    return built_for(some_mpi_installation, tmp_path)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Chromium under its driver."""
    yield from real_browser.session(tmp_path_factory.mktemp("chromium"))
