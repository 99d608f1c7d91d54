"""An MPI library is supported once its record is in the list of libraries."""

from __future__ import annotations

from pathlib import Path

import installation_factory
import pytest
from dummy_library import DUMMY

from offbeat.libraries.families import libraries
from offbeat.libraries.installations import find
from offbeat.libraries.launch.launch_command import command


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of the made-up library, whose record is registered."""
    monkeypatch.setitem(libraries.LIBRARIES, "dummy", DUMMY)
    monkeypatch.setitem(installation_factory.LIBRARIES, "dummy", "Dummy MPI {0}.{1}.{2}")
    monkeypatch.setitem(installation_factory.LAUNCHERS, "dummy", "dummyrun {0}.{1}.{2}")
    monkeypatch.setitem(installation_factory.HEADERS, "dummy", "#define DUMMY_VERSION {0}.{1}.{2}\n")
    return installation_factory.make(tmp_path / "dummy", "dummy", 1, 2, 3)


def test_a_registered_library_is_recognised_by_its_version_text(prefix: Path) -> None:
    installation = find.choose(str(prefix))
    assert (installation.family, installation.version, installation.name) == (
        "dummy",
        (1, 2, 3),
        "dummy-1.2.3",
    )


def test_a_registered_library_is_launched_by_its_own_options(prefix: Path) -> None:
    launch = command(find.choose(str(prefix)), Path("/bin/true"), 1, environ={"PATH": "/bin"})
    assert launch.argv[1:] == ["--ranks", "1", "DUMMY_OBEYS=1", "/bin/true"]
    assert launch.environment["DUMMY_HOME"] == str(prefix)


def test_a_library_without_a_record_is_refused_with_the_names_of_those_that_have_one(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(libraries.LIBRARIES, "dummy")
    with pytest.raises(find.BadInput, match="offbeat supports Open MPI, MPICH, Intel MPI"):
        find.choose(str(prefix))
