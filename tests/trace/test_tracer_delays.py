"""Delays that the preload library injects into real programs: how many, for how long, and what it reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_fortran import BINDINGS, libraries_with
from traced_program import Traced, read

from offbeat.trace.wrapped_functions import wrapped_functions

pytestmark = pytest.mark.slow

CALLS = {
    "MPI_Allreduce": 2,
    "MPI_Gather": 1,
    "MPI_Iallreduce": 1,
    "MPI_Ibarrier": 3,
    "MPI_Waitall": 1,
    "MPI_Waitany": 1,
    "MPI_Comm_free": 2,
}
"""Calls of a rank of same_calls, in all languages."""


def report_of(traced: Traced, program: Path, p: int, *arguments: str, **settings: object) -> dict[str, Any]:
    """The report of a run with these settings, which must succeed; it records nothing unless they say so."""
    path = traced.folder / "report.json"
    settings = {"REPORT": path} | settings
    variables = {"OFFBEAT_TRACE_DIR": str(settings.pop("DIR", ""))}
    variables |= {f"OFFBEAT_INJECT_{name}": str(value) for name, value in settings.items()}
    done = traced.run(program, p, *arguments, variables=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (traced.folder / "trace").exists() == bool(variables["OFFBEAT_TRACE_DIR"])
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert ("offbeat:" in done.stderr) == ("error" in report)
    return report


def test_a_random_rank_is_delayed_at_each_call_of_a_c_program(traced: Traced) -> None:
    program = traced.compile_c("same_calls.c")
    report = report_of(traced, program, 3, CALL="MPI_Allreduce", NS=3_000_000, RANKS="random:1")
    assert {name: report["functions"][name] for name in CALLS} == {name: 3 * n for name, n in CALLS.items()}
    calls, occasions, delays, delayed_ns = np.array(report["ranks"]).T
    assert calls.tolist() == occasions.tolist() == [2, 2, 2]
    assert delays.sum() == 2
    assert (delayed_ns >= 3_000_000 * delays).all()
    assert ((delayed_ns == 0) == (delays == 0)).all()


@pytest.mark.parametrize(
    ("mpi_installation", "binding"),
    [(libraries_with(binding)[place], binding) for place, binding in enumerate(BINDINGS, start=-1)],
    indirect=["mpi_installation"],
)
def test_calls_of_fortran_programs_are_counted_and_delayed_once(traced: Traced, binding: str) -> None:
    program = traced.compile_fortran("same_calls.F90", binding)
    report = report_of(traced, program, 2, CALL="MPI_Waitall", NS=1_000_000, RANKS="1", WHEN="before")
    assert {name: report["functions"][name] for name in CALLS} == {name: 2 * n for name, n in CALLS.items()}
    assert report["ranks"][0] == [1, 1, 0, 0]
    assert report["ranks"][1][:3] == [1, 1, 1]


@pytest.mark.parametrize(
    ("settings", "delayed_calls"),
    [
        ({"EVERY": 3}, 3),
        ({"EVERY": 3, "FIRST": 4, "LAST": 8}, 1),
        ({"RANKS": "each-domain"}, 10),
        ({"DISTRIBUTION": "exponential", "EVERY": 2}, 5),
        ({"NS": 0}, 0),
    ],
    ids=lambda value: " ".join(f"{name}={one}" for name, one in value.items()) if value is dict else None,
)
def test_the_settings_choose_the_delayed_calls(
    some_traced: Traced, settings: dict[str, object], delayed_calls: int
) -> None:
    program = some_traced.compile_c("steps.c")
    report = report_of(some_traced, program, 1, "10", **{"CALL": "MPI_Barrier", "NS": 1000} | settings)
    ((calls, _, delays, delayed_ns),) = report["ranks"]
    assert (calls, delays) == (10, delayed_calls)
    assert (delayed_ns > 0) == (delays > 0)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_trace_of_a_delayed_program_has_the_delays_between_the_calls(
    some_traced: Traced, when: str
) -> None:
    program, folder = some_traced.compile_c("steps.c"), some_traced.folder / "trace"
    delay_ns = 20_000_000
    report_of(some_traced, program, 1, "4", CALL="MPI_Barrier", NS=delay_ns, WHEN=when, DIR=folder)
    (rank,) = read(folder)
    assert set(rank.functions.values()) - {""} == set(wrapped_functions())
    barriers = [place for place, name in enumerate(rank.names) if name == "MPI_Barrier"]
    assert len(barriers) == 4
    for place in barriers:
        earlier, later = (place - 1, place) if when == "before" else (place, place + 1)
        assert rank.records["enter_ns"][later] - rank.records["exit_ns"][earlier] >= delay_ns


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"RANKS": "0-2"}, "rank 2 is to be delayed, and the last of 2 ranks is 1"),
        ({"CALL": 'MPI_"Send"\t'}, 'OFFBEAT_INJECT_CALL=MPI_"Send"\t is not a function'),
        ({"EVERY": 0}, "OFFBEAT_INJECT_EVERY=0 cannot be read; it should be a whole number, 1 or more"),
    ],
)
def test_an_invalid_plan_is_reported_and_the_program_runs_without_delays(
    some_traced: Traced, settings: dict[str, object], sentence: str
) -> None:
    program = some_traced.compile_c("same_calls.c")
    report = report_of(some_traced, program, 2, **{"CALL": "MPI_Barrier", "NS": 1000} | settings)
    assert sentence in report["error"]
