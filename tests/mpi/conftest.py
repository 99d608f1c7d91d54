"""The native parts, installed as another project would install them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from native_build import lock_of
from plain_install import PlainInstall, install
from real_fortran import libraries_with

from offbeat.libraries.installations import build


@pytest.fixture(scope="session", params=libraries_with("USE_F08", "MPIF_H"))
def plain_install(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PlainInstall:
    """Installed by plain CMake for each MPI library that has parts for Fortran.

    Test processes that run side by side share one installation.
    """
    folder = of_the_whole_run(tmp_path_factory) / f"plain-install-{request.param}"
    with build.exclusive(lock_of(folder)):
        return install(request.param, folder)


def of_the_whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of the test run, of which each process of pytest-xdist has a part."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
