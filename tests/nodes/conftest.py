"""Fixtures and options of the tests on several nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_libraries import real_installation
from several_nodes import OFFSETS, need_nodes

from offbeat.libraries.installations.installation import Installation


@pytest.fixture(autouse=True)
def _nodes_can_be_made(own_cache: Path) -> None:
    need_nodes()


@pytest.fixture(scope="session", params=list(OFFSETS))
def library(request: pytest.FixtureRequest) -> str:
    """Each library that is tested on several nodes, by its name in the tests."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def installation(library: str) -> Installation:
    """The installation of ``library``."""
    return real_installation(library)
