"""The native parts, installed as another project would install them."""

from __future__ import annotations

import pytest
from plain_install import PlainInstall, install
from real_fortran import libraries_with


@pytest.fixture(scope="session", params=libraries_with("USE_F08", "MPIF_H"))
def plain_install(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PlainInstall:
    """Installed by plain CMake for each MPI library that has parts for Fortran."""
    return install(request.param, tmp_path_factory.mktemp(request.param))
