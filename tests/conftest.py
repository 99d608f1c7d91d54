"""Fixtures of all rooms: the real MPI libraries, and a build cache of the test run's own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from document_schemas import validated_documents
from real_libraries import LIBRARIES, installed, real_installation, skip_without

from offbeat.base.errors import RunFailed
from offbeat.libraries.installations import build, find
from offbeat.libraries.installations.installation import Installation

hypothesis.settings.register_profile("offbeat", deadline=None, max_examples=60)  # no test judges a wall time
hypothesis.settings.register_profile("quick", deadline=None, max_examples=30)  # of 'make check'
hypothesis.settings.load_profile("offbeat")

find.PYTHON_PREFIX = Path("/nonexistent")
"""No test depends on the MPI library that 'make demo' installs as a wheel beside the Python that runs it. Set
here and not by a fixture, as libraries are looked for while tests are collected."""

OTHER_INTEL_SETTINGS = {"I_MPI_PLATFORM": "zen4", "I_MPI_COLL_INTRANODE": "pt2pt"}
"""On recent Intel processors, Intel MPI 2021.18 selects collectives that are wrong: MPI_Reduce of a few bytes
between two nodes hangs (MPIR_Reduce_intra_ring), and reductions of types with gaps through shared memory are
wrong. With the settings for another processor, the tests see the same library everywhere."""
for _name, _value in OTHER_INTEL_SETTINGS.items():
    os.environ.setdefault(_name, _value)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--library NAME``: of the tests that run for each MPI library, only those for this one."""
    parser.addoption("--library", choices=list(LIBRARIES), help="leave out tests of the other MPI libraries")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Build the native parts before tests run side by side, so that no two tests compile the same sources."""
    kept = os.environ.get("OFFBEAT_TEST_CACHE")
    config = session.config
    if not kept or not config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        return
    only = config.getoption("library")
    for mpi in filter(None, map(installed, [only] if only else LIBRARIES)):
        with contextlib.suppress(RunFailed):  # the tests say so
            build.build_native(mpi, Path(kept).absolute())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select by ``--library``; begin with the files that take long, so that short ones fill the end of a run.

    The second only where tests run side by side.
    """
    if library := config.getoption("library"):
        _leave_out_other_libraries(config, items, library)
    if hasattr(config, "workerinput"):
        long = {item.path for item in items if _takes_long(item)}
        items.sort(key=lambda item: item.path not in long)


def _takes_long(item: pytest.Item) -> bool:
    uses = getattr(item, "fixturenames", ())
    return "mpi_installation" in uses or item.get_closest_marker("slow") is not None


def _leave_out_other_libraries(config: pytest.Config, items: list[pytest.Item], library: str) -> None:
    others = set(LIBRARIES) - {library}
    left_out = {item for item in items if others & _text_parameters(item)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _text_parameters(item: pytest.Item) -> set[str]:
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {value for value in parameters if isinstance(value, str)}


@pytest.fixture(scope="session", params=list(LIBRARIES))
def mpi_installation(request: pytest.FixtureRequest) -> Installation:
    """Each of the five real MPI libraries in turn."""
    return real_installation(request.param)


@pytest.fixture(scope="session")
def some_mpi_installation(pytestconfig: pytest.Config) -> Installation:
    """That of ``--library``, or the first that is installed: for tests that do not depend on the library."""
    only = pytestconfig.getoption("library")
    for name in [only] if only else LIBRARIES:
        if installation := installed(name):
            return installation
    skip_without("any MPI library")


@pytest.fixture(scope="session")
def mpi_driver(mpi_installation: Installation, own_cache: Path) -> Path:
    """The driver, built for the library of ``mpi_installation``."""
    return build.build_native(mpi_installation)


@pytest.fixture(scope="session", autouse=True)
def published_schemas() -> Iterator[None]:
    """Each document that a command writes in a test fits its published schema."""
    with validated_documents():
        yield


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Native builds of this test run, out of the user's cache; OFFBEAT_TEST_CACHE names one to keep."""
    cache_folder = os.environ.get("OFFBEAT_TEST_CACHE")
    cache = Path(cache_folder).absolute() if cache_folder else tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OFFBEAT_CACHE", str(cache))
        yield cache


@pytest.fixture(scope="module")
def mpi4py_environment(
    mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Variables with which mpi4py loads this library."""
    pytest.importorskip("mpi4py")
    library = mpi_installation.library
    if mpi_installation.family == "openmpi" or library.name.startswith("libmpi.so"):
        return {"MPI4PY_LIBMPI": str(library)}
    # Debian's MPICH has another file name than mpi4py's wheel looks for.
    folder = tmp_path_factory.mktemp("renamed")
    (folder / "libmpi.so.12").symlink_to(library)
    return {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(folder)}
