"""offbeat-ft, built for the MPI libraries of this machine."""

from __future__ import annotations

import pytest
from ft_program import Ft, built_for

from offbeat.libraries.installations.installation import Installation


@pytest.fixture(scope="session")
def ft(mpi_installation: Installation) -> Ft:
    """The program on each of the five real MPI libraries in turn."""
    return built_for(mpi_installation)


@pytest.fixture(scope="session")
def some_ft(some_mpi_installation: Installation) -> Ft:
    """The program on one real MPI library, for tests that do not depend on the library."""
    return built_for(some_mpi_installation)
