"""The native parts as somebody else installs them."""

from __future__ import annotations

import pytest
from plain_install import PlainInstall, install


@pytest.fixture(scope="session", params=["openmpi4", "mpich4"])
def plain_install(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PlainInstall:
    """Installed by plain CMake for each of Debian's MPI libraries, which have parts for Fortran."""
    return install(request.param, tmp_path_factory.mktemp(request.param))
