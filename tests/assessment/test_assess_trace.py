"""Whether running out of step helps a traced program, with and without its memory traffic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from captured_command import invoke
from msgspec import structs

from offbeat.base.errors import BadInput
from offbeat.cli.asynchronous import app
from offbeat.model.platform import machine
from offbeat.model.platform.machine import Platform
from offbeat.programs.advice.assess_trace import TraceAssessment, assess_trace
from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.iterations.derived_program import derive_program
from offbeat.programs.simulation.simulate import prepare
from offbeat.programs.simulation.simulated_trace import plan, simulate_traced
from offbeat.trace.files.trace_folder import open_trace

FRITZ = machine.load("fritz")
UNSHARED = machine.loads(
    FRITZ.text.replace('message_bandwidth = "7.35 GB/s"', 'message_bandwidth = "0"'), "unshared.toml"
)
"""A machine on which only memory traffic contends."""

SMALL = """
ranks = 72
iterations = 200
[[phase]]
kind = "work"
memory = "20 MB"
[[phase]]
kind = "exchange"
neighbours = "ring"
bytes = ["100 B"]
"""


def traced(program: Program, on: Platform, folder: Path) -> Path:
    run = prepare(program, on)
    simulate_traced(run, plan(run, folder))
    return folder


def assessment(trace: Path, on: Platform, traffic_bytes: int | None = None) -> TraceAssessment:
    derived = derive_program(open_trace(trace), on)
    return assess_trace(derived, on, traffic_bytes=traffic_bytes, seeds=4)


@pytest.fixture(scope="module")
def triad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A triad, whose memory traffic is 20 MB for a rank and iteration."""
    program = loads(SMALL.replace("100 B", "4 MB"), "triad.toml")
    return traced(program, UNSHARED, tmp_path_factory.mktemp("triad") / "trace")


def test_without_the_memory_traffic_there_is_no_verdict_if_the_extremes_differ(triad: Path) -> None:
    found = assessment(triad, UNSHARED)
    assert [case.assessment.verdict for case in found.cases] == ["helps", "hurts"]
    assert found.verdict == "cannot be told"
    assert all(
        case.assessment.iteration_s == pytest.approx(found.measured_s, rel=0.02) for case in found.cases
    )


def test_with_its_memory_traffic_the_trace_gets_the_verdict_of_the_program(triad: Path) -> None:
    assert assessment(triad, UNSHARED, 20 * 10**6).verdict == "helps"
    assert assessment(triad, UNSHARED, 10**6).verdict == "hurts"


def test_a_program_with_nothing_to_hide_needs_no_memory_traffic(tmp_path: Path) -> None:
    found = assessment(traced(loads(SMALL, "small.toml"), FRITZ, tmp_path / "t"), FRITZ)
    assert (found.verdict, len(found.cases)) == ("does nothing", 2)


COMPUTE_BOUND = """
ranks = 36
iterations = 100
[[phase]]
kind = "work"
name = "work"
flops = 1e8
[[phase]]
kind = "exchange"
bytes = ["8 kB"]
"""
NOISE = '[[noise]]\nphase = "work"\ntime = "100 us"\ndistribution = "exponential"\npick = "all"\n'
UNEVEN = (
    '[[phase]]\nkind = "work"\nflops = 5e7\nweights = [{}]\n[[phase]]\nkind = "exchange"\nbytes = ["8 kB"]\n'
)


@pytest.mark.parametrize(
    "more", ["", NOISE, UNEVEN.format("1, 3") + UNEVEN.format("3, 1")], ids=["even", "noise", "uneven phases"]
)
def test_the_trace_of_a_compute_bound_program_is_not_helped(tmp_path: Path, more: str) -> None:
    trace = traced(loads(COMPUTE_BOUND + more, "compute.toml"), FRITZ, tmp_path / "t")
    found = assess_trace(derive_program(open_trace(trace), FRITZ), FRITZ, iterations=80, seeds=2)
    assert found.verdict != "helps"
    by_cores = found.cases[-1].assessment
    assert by_cores.verdict in ("does nothing", "hurts", "absorbs delays")


def test_there_is_no_verdict_if_the_platform_is_not_that_of_the_trace(tmp_path: Path) -> None:
    trace = traced(loads(SMALL.replace("100 B", "4 MB"), "large.toml"), FRITZ, tmp_path / "t")
    slow = structs.replace(FRITZ.file.memory, message_bandwidth=FRITZ.file.memory.message_bandwidth / 10)
    platform = structs.replace(FRITZ, file=structs.replace(FRITZ.file, memory=slow))
    found = assessment(trace, platform)
    assert found.verdict == "cannot be told"


def test_the_command_prints_each_case_and_writes_it_as_json(triad: Path, tmp_path: Path) -> None:
    platform = tmp_path / "unshared.toml"
    platform.write_text(UNSHARED.text, encoding="utf-8")
    arguments = ["advise", triad, "--platform", platform, "--seeds", "3"]
    text = " ".join(invoke(app, *arguments).stdout.split())
    assert "200 of 200 iterations were read: one takes " in text
    assert "If the work is bound by memory: Running out of step helps" in text
    written = json.loads(invoke(app, *arguments, "--memory", "20 MB", "--json", "-").stdout)
    (case,) = written["cases"]
    assert case["assumption"] == "a rank has 20 MB of memory traffic in an iteration"
    assert case["assessment"]["verdict"] == written["verdict"] == "helps"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mst", "--memory", "1 MB"], "--memory is for traces, and mst is a program"),
        (["mst", "--anchor", "main"], "--anchor is for traces"),
        (["TRACE", "--memory", "much"], "--memory"),
        (["TRACE", "--memory", "0"], "--memory 0: give"),
        (["TRACE", "--ranks", "8"], "--ranks: a trace has the ranks of its run"),
    ],
)
def test_options_that_do_not_fit_get_a_sentence(triad: Path, arguments: list[str], sentence: str) -> None:
    given = [str(triad) if word == "TRACE" else word for word in arguments]
    with pytest.raises(BadInput, match=sentence):
        invoke(app, "advise", *given, "--platform", "fritz")
