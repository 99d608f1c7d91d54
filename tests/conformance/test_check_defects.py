"""The cases find defects: they are run with offbeat's library, to which a defect is added."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from offbeat.libraries.installations.build import configure_options, native_sources
from offbeat.libraries.installations.installation import Installation
from offbeat.partitioned.conformance.check import CheckProgress, check, launch_of
from offbeat.partitioned.conformance.outcomes import Check, CheckSettings
from offbeat.partitioned.conformance.tables import failures, summary

pytestmark = pytest.mark.slow

CASES = [
    "equal-counts",
    "neighbouring-tags",
    "user-wildcard",
    "test-not-ready",
    "startall-two",
    "status",
    "pready-range",
    "pready-list",
    "parrived",
    "parrived-more",
    "refuse-twice",
    "refuse-range",
    "refuse-cancel",
    "refuse-longer",
    "refuse-polled",
]

FOUND = {
    "none": {},
    "early": {"test-not-ready": "wrong"},
    "arrived": {"parrived": "wrong", "parrived-more": "wrong", "refuse-polled": "no"},
    "never": {"parrived": "wrong", "parrived-more": "wrong"},
    "tags": {"neighbouring-tags": "wrong"},
    "wildcard": {"user-wildcard": "wrong"},
    "status": {"status": "wrong"},
    "error": {"pready-range": "wrong"},
    "hang": {"startall-two": "hangs"},
    "crash": {"pready-list": "crashes", "refuse-range": "crashes"},
    "silent": dict.fromkeys(
        ("refuse-twice", "refuse-range", "refuse-cancel", "refuse-longer", "refuse-polled"), "no"
    ),
}
"""Defect (native/conformance/defects.h) → the cases that find it, with their verdicts."""


@pytest.fixture(scope="module")
def program(some_mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("defects")
    for words in (
        ["-S", str(native_sources()), "-B", str(folder), *configure_options(some_mpi_installation)],
        ["--build", str(folder), "--target", "conformance-defects"],
    ):
        subprocess.run(["cmake", *words], check=True, capture_output=True)
    return folder / "conformance-defects"


def checked(program: Path, mpi: Installation, directory: Path, timeout_s: float = 60.0) -> Check:
    settings = CheckSettings(library="L", of="offbeat", timeout_s=timeout_s, cases=CASES)
    with CheckProgress() as progress:
        return check(launch_of(mpi, [str(program)]), settings, directory, progress)


@pytest.mark.parametrize("defect", FOUND)
def test_a_defect_is_found_by_its_case_and_by_no_other(
    program: Path,
    some_mpi_installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    defect: str,
) -> None:
    monkeypatch.setenv("CONFORMANCE_DEFECT", defect)
    timeout_s = 5.0 if defect == "hang" else 60.0
    done = checked(program, some_mpi_installation, tmp_path / "check", timeout_s)
    found = {one.case: one.verdict for one in done.outcomes if one.verdict not in ("right", "yes")}
    assert found == FOUND[defect]
    required = [case for case in FOUND[defect] if not case.startswith("refuse-")]  # to refuse is a quality
    assert done.failed == bool(required)
    assert len(failures(done)) == len(required)


def test_wrong_data_is_found_wherever_there_is_data(
    program: Path, some_mpi_installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFORMANCE_DEFECT", "swapped")
    done = checked(program, some_mpi_installation, tmp_path / "check")
    by_name = {one.case: one for one in done.outcomes}
    assert by_name["equal-counts"].verdict == by_name["parrived"].verdict == "wrong"
    assert by_name["equal-counts"].found.startswith(
        "rank 1: element 0, in partition 0 of 8, has a wrong value"
    )
    assert by_name["status"].verdict == "right"  # it looks at no data


def test_a_fault_that_needs_earlier_cases_in_the_same_launch_is_distinguished_from_others(
    program: Path, some_mpi_installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFORMANCE_DEFECT", "worn")
    done = checked(program, some_mpi_installation, tmp_path / "check")
    (one,) = [one for one in done.outcomes if one.failed]
    assert (one.case, one.verdict) == ("pready-list", "wrong")
    assert one.found.endswith("(after other cases in the same launch; alone it is right)")


def test_a_report_names_the_call_that_hangs_and_the_one_that_crashes(
    program: Path, some_mpi_installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for defect, case, where in (
        ("hang", "startall-two", "in MPI_Startall(2, request_pair)"),
        ("crash", "pready-list", "rank 0: signal 11 in MPI_Pready_list(5, odd, msg.request)"),
    ):
        monkeypatch.setenv("CONFORMANCE_DEFECT", defect)
        done = checked(program, some_mpi_installation, tmp_path / defect, timeout_s=5.0)
        (one,) = [one for one in done.outcomes if one.failed]
        assert one.case == case and where in one.found
    assert summary(done) == "offbeat's library on L: 9 of 10 cases right, 1 crash. Qualities: 4 of 5."
