"""Impossible predictions are refused in a sentence, and doubtful ones have a note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import results_factory
import trace_factory as factory
from run_factory import alltoalls, predicted

from offbeat.base.errors import BadInput
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.recommendation import sentence
from offbeat.trace.summary import summarise

ONE: results_factory.Delays = {"no_delay": {"linear": 40.0, "pairwise": 60.0}}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Alltoalls of 32 KiB on four ranks."""
    return alltoalls(tmp_path / "t", [[0, 10, 30, 0]] * 5)


def results(tmp_path: Path, provenance: dict[str, Any] | None = None, **more: Any) -> Path:
    return results_factory.results(tmp_path / "r", results_factory.rows(dict(ONE), **more), provenance)


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        ({"collective": "bcast"}, r"has no measurements of alltoall, but of bcast"),
        ({"p": 8}, r"ran on 4 processes, and .* has alltoall on p = 8: .* measure it with p = 4"),
        (
            {"bytes": 8192},
            r"no measured size covers this call\. .* 8 KiB, which covers 5793 to 11585 B",
        ),
        ({"bytes": 65537}, r"of 65537 B, which covers 46342 to 92683 B; measure it with 32 KiB"),
    ],
)
def test_calls_that_were_not_measured_are_refused_with_the_measured_ones(
    trace: Path, tmp_path: Path, measured: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        predicted(trace, results(tmp_path, **measured))


@pytest.mark.parametrize(("size", "message"), [(23171, "23171 B"), (46340, "46.34 kB")])
def test_a_covering_measured_size_is_used_and_reported(
    trace: Path, tmp_path: Path, size: int, message: str
) -> None:
    prediction = predicted(trace, results(tmp_path, bytes=size))
    assert f"alltoall of {message} represents calls of 32 KiB" in prediction.notes


def test_a_covered_size_too_far_from_a_measured_one_has_no_time(trace: Path, tmp_path: Path) -> None:
    cases = [*results_factory.rows(dict(ONE), bytes=1024), *results_factory.rows(dict(ONE), bytes=2**21)]
    with pytest.raises(BadInput, match=r"the nearest measured size, .* differs by more than a factor of 2"):
        predicted(trace, results_factory.results(tmp_path / "r", cases))


def test_the_nearest_size_is_taken(trace: Path, tmp_path: Path) -> None:
    cases = [*results_factory.rows(dict(ONE), bytes=16384), *results_factory.rows(dict(ONE), bytes=40000)]
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert prediction.parts[0].table.configuration.bytes == 40000


def test_results_of_another_family_are_refused(trace: Path, tmp_path: Path) -> None:
    library = {"name": "mpich-5.0.2", "family": "mpich", "version": [5, 0, 2]}
    with pytest.raises(BadInput, match=r"ran with Open MPI 5\.0\.8, and .* measured with MPICH"):
        predicted(trace, results(tmp_path, library))


def test_results_of_another_version_are_reported(trace: Path, tmp_path: Path) -> None:
    prediction = predicted(trace, results(tmp_path, results_factory.LIBRARY | {"version": [4, 1, 4]}))
    assert "the program ran with Open MPI 5.0.8, and the results are of version 4.1.4" in prediction.notes


def test_imported_results_are_reported(trace: Path, tmp_path: Path) -> None:
    prediction = predicted(trace, results(tmp_path, {}, engine="import", library="Hydra"))
    assert any("the results are imported (Hydra)" in note for note in prediction.notes)


def test_simulated_results_are_reported(trace: Path, tmp_path: Path) -> None:
    library = {"name": "sim: openmpi on paper", "family": "openmpi", "simulated": True}
    prediction = predicted(trace, results(tmp_path, library))
    assert "the results are simulated (sim: openmpi on paper), not measured" in prediction.notes


def test_skews_that_are_not_the_programs_are_reported(tmp_path: Path) -> None:
    trace = alltoalls(tmp_path / "t", [[0, 500]] * 3)
    cases = results_factory.rows({"no_delay": {"linear": 40}, "bell": {"linear": 50}}, p=2)
    prediction = predicted(trace, results_factory.results(tmp_path / "r", cases))
    assert any("is 500 µs" in note and "with skews of 30 µs" in note for note in prediction.notes)


def test_no_computing_time_left_is_refused(tmp_path: Path) -> None:
    files = factory.files(2)
    for one in files:
        one.header["ended_ns"] = 0
        for lane in range(3):  # three threads at once, each in a call for the whole run
            one.call(1, 1_000_000, lane=lane, sequence=lane, function="MPI_Alltoall", bytes=32768)
    trace = factory.write(tmp_path / "t", files)
    with pytest.raises(BadInput, match=r"no computing time is left: the run took 1 ms per rank, and .* 1 ms"):
        predicted(trace, results(tmp_path, p=2))


def test_nonblocking_calls_are_refused_if_requested_and_otherwise_skipped(tmp_path: Path) -> None:
    files = factory.files(2)
    for one in files:
        one.call(1_000_000, 1_001_000, sequence=0, function="MPI_Iallreduce", flags=1, round=1)
        one.call(2_000_000, 2_900_000, sequence=0, function="MPI_Iallreduce", flags=3, round=1)
        one.call(3_000_000, 3_070_000, sequence=1, function="MPI_Allreduce", address=factory.CODE + 0x20)
    trace = factory.write(tmp_path / "t", files)
    cases = results_factory.rows({"no_delay": {"ring": 40}}, p=2, collective="allreduce", bytes=8, op="sum")
    measured = results_factory.results(tmp_path / "r", cases)
    with pytest.raises(
        BadInput, match=r"MPI_Iallreduce .* is nonblocking: its last delay includes computation"
    ):
        predicted(trace, measured, collective="iallreduce")
    assert "MPI_Allreduce of 8 B" in predicted(trace, measured).recorded.calls[0].description


def test_uncovered_calls_are_replaced_by_covered_ones_with_a_note(tmp_path: Path) -> None:
    files = factory.files(4)
    for one in files:
        one.call(1_000_000, 9_000_000, sequence=0, function="MPI_Bcast", bytes=64)
        one.call(10_000_000, 10_070_000, sequence=1, function="MPI_Alltoall", bytes=32768)
    trace = factory.write(tmp_path / "t", files)
    prediction = predicted(trace, results(tmp_path))
    (note,) = (note for note in prediction.notes if "instead of the recommended calls" in note)
    assert "predicted for MPI_Alltoall of 32 KiB" in note
    assert "MPI_Bcast of 64 B" in note and "has no measurements of bcast, but of alltoall; measure it" in note
    with pytest.raises(BadInput, match="has no measurements of bcast, but of alltoall"):
        predicted(trace, found_directory := tmp_path / "r", collective="bcast")
    assert found_directory.exists()


def test_without_a_selection_the_recommended_calls_are_predicted(tmp_path: Path) -> None:
    files = factory.files(4)
    calls = [("MPI_Bcast", 64, 60), ("MPI_Alltoall", 32768, 50), ("MPI_Alltoall", 32768, 40)]
    for one in files:
        for number, (function, size, taking_us) in enumerate(calls):
            begin = (1 + number) * 1_000_000
            values = {"function": function, "bytes": size, "address": factory.CODE + 0x10 * (1 + number)}
            one.call(begin, begin + taking_us * factory.US, sequence=number, **values)
    trace = factory.write(tmp_path / "t", files)
    both = [
        *results_factory.rows(dict(ONE)),
        *results_factory.rows({"no_delay": {"linear": 40}}, collective="bcast", bytes=64),
    ]
    measured = results_factory.results(tmp_path / "r", both)
    prediction = predicted(trace, measured)
    assert "MPI_Alltoall at 32 KiB" in sentence(summarise(open_trace(trace)))
    assert prediction.recorded.calls[0].description.startswith("MPI_Alltoall of 32 KiB at app+0x1020")
    assert not any("instead of the recommended" in note for note in prediction.notes)
    together = predicted(trace, measured, everything=True)
    assert [one.collective for one in together.recorded.calls] == ["alltoall", "alltoall", "bcast"]


def test_an_unmeasured_algorithm_is_refused_as_the_one_that_ran(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--ran bruck was not measured .* linear, pairwise"):
        predicted(trace, results(tmp_path), ran="bruck")


def test_all_and_a_choice_of_calls_contradict_each_other(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--all selects all calls"):
        predicted(trace, results(tmp_path), everything=True, collective="alltoall")


def test_results_of_several_machines_are_refused(trace: Path, tmp_path: Path) -> None:
    cases = [
        *results_factory.rows(dict(ONE), engine="import", library="Hydra"),
        *results_factory.rows(dict(ONE), engine="import", library="Galileo"),
    ]
    for number, one in enumerate(cases):
        one["case"] = str(number)
    with pytest.raises(BadInput, match="several machines or libraries: Galileo, Hydra"):
        predicted(trace, results_factory.results(tmp_path / "r", cases, {}))
