"""The packages of offbeat, and an environment in which they are installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from installed_environment import INSTALLED, Distributions, Environment, built, environment_with


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """The sdist and the wheel."""
    return built(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="session")
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, own_cache: Path
) -> Environment:
    """An environment with offbeat, outside the checkout."""
    folder = tmp_path_factory.mktemp("outside")
    if prefix := os.environ.get(INSTALLED):
        return Environment(Path(prefix), folder)
    prefix = tmp_path_factory.mktemp("environment") / "prefix"
    environment_with(request.getfixturevalue("distributions").wheel, prefix)
    return Environment(prefix, folder)
