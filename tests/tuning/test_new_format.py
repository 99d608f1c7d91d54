"""A tuning format is supported once it is in the list of writers, beside its library's record."""

from __future__ import annotations

from pathlib import Path

import dummy_library
import pytest
from plan_factory import choice

from offbeat.base.errors import BadInput
from offbeat.libraries.families import libraries
from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.tuning_files import export
from offbeat.selection.tuning_files.tuning_plan import plan

INSTALLATION = Installation(
    name="dummy-1.2.3",
    family="dummy",
    version=(1, 2, 3),
    version_text="Dummy MPI 1.2.3",
    prefix=Path("/opt/dummy"),
    source="PATH",
    library=Path("/opt/dummy/lib/libmpi.so"),
    include=Path("/opt/dummy/include"),
    mpicc=None,
    mpirun=Path("/opt/dummy/bin/mpirun"),
    identity="0123456789abcdef",
)
KNOWN = [
    Algorithm(collective="reduce", name=name, settings={"DUMMY_REDUCE_WAY": name})
    for name in ("chain", "pairs")
]


@pytest.fixture(autouse=True)
def dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up library and its format, registered."""
    monkeypatch.setitem(libraries.LIBRARIES, "dummy", dummy_library.DUMMY)
    monkeypatch.setitem(export.WRITERS, "dummy", {1: dummy_library.write})


def test_choices_are_written_by_the_registered_format(tmp_path: Path) -> None:
    environment = {"DUMMY_REDUCE_SEGMENT": "64", "DUMMY_REDUCE_SCATTER_WAY": "ring", "HOME": "/"}
    tuning_plan = plan([choice("reduce", 4, 64, "chain")], KNOWN, environment=environment)
    files = export.write(tuning_plan, INSTALLATION, tmp_path)
    assert (tuning_plan.family, tuning_plan.library) == ("dummy", "Dummy MPI")
    assert files.environment == {"DUMMY_RULES": str(tmp_path / "dummy.rules")}
    settings = {"DUMMY_REDUCE_SEGMENT": "64", "DUMMY_REDUCE_WAY": "chain"}
    assert files.files[0].read_text(encoding="utf-8") == f"reduce 46 90 {settings}\n"


def test_the_record_says_which_algorithms_keep_to_the_measured_number_of_processes() -> None:
    choices = [choice("reduce", 4, 64, "pairs"), choice("reduce", 16, 64, "chain")]
    spans = [(rule.p_low, rule.p_high) for rule in plan(choices, KNOWN).rules["reduce"]]
    assert spans == [(4, 4), (8, 16)]


def test_a_library_has_one_file_format_unless_its_writers_say_otherwise(tmp_path: Path) -> None:
    tuning_plan = plan([choice("reduce", 4, 64, "chain")], KNOWN)
    with pytest.raises(BadInput, match="these results are of Dummy MPI"):
        export.write(tuning_plan, INSTALLATION, tmp_path, format_version=2)


def test_every_library_has_a_tuning_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert set(export.WRITERS) == set(libraries.LIBRARIES)
