"""A program file from a trace: the trace of a simulated program gives that program again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from captured_command import invoke
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_texts import platform, program
from ring_traces import Ring, computing

from offbeat.base.errors import BadInput
from offbeat.cli.program import app
from offbeat.programs.description.memory_traffic import with_memory_traffic
from offbeat.programs.description.neighbours import messages
from offbeat.programs.description.program_file import Program
from offbeat.programs.iterations.derived_program import DerivedProgram, derive_program
from offbeat.programs.simulation.iterations import last_ends_s, mean_iteration_s
from offbeat.programs.simulation.lockstep import lockstep
from offbeat.programs.simulation.simulate import prepare
from offbeat.programs.simulation.simulated_trace import plan, simulate_traced
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace

WORK = '[[phase]]\nkind = "work"\ntime = "{time}"\nweights = {weights}\n'
EXCHANGE = (
    '[[phase]]\nkind = "exchange"\nneighbours = "{neighbours}"\nbytes = ["{size}"]\nsends = "{sends}"\n'
)
ALLREDUCE = (
    '[[phase]]\nkind = "collective"\ncollective = "{name}"\nalgorithm = "{algorithm}"\nbytes = [{size}]\n'
    "every = {every}\n"
)
ON_GRID = ALLREDUCE + "{root}communicators = {communicators}\nstride = {stride}\n"
"""Rows and columns of 8 or 12 ranks."""


def derived(original: Program, folder: Path) -> DerivedProgram:
    run = prepare(original, platform())
    simulate_traced(run, plan(run, folder))
    return derive_program(open_trace(folder), platform())


def sent(one: Program) -> list[list[tuple[int, int, int]]]:
    """The messages of each exchange."""
    found = []
    for phase in one.file.phase:
        if phase.kind == "exchange":
            listed = messages(phase, one.file.ranks)
            rows = zip(listed.source.tolist(), listed.target.tolist(), listed.bytes.tolist(), strict=True)
            found.append(sorted(rows))
    return found


def collectives(one: Program) -> list[tuple[object, ...]]:
    return [
        (phase.collective, phase.bytes, phase.root, phase.every, phase.communicators, phase.stride)
        for phase in one.file.phase
        if phase.kind == "collective"
    ]


PHASES = st.one_of(
    st.builds(
        WORK.format,
        time=st.sampled_from(["1 ms", "2 ms"]),
        weights=st.sampled_from(["[]", "[1.0, 1.3]", "[1.0, 1.2, 0.8, 1.0]"]),
    ),
    st.builds(
        EXCHANGE.format,
        neighbours=st.sampled_from(["ring", "line", "grid", "box"]),
        size=st.sampled_from(["8 B", "4 KiB", "100 kB"]),
        sends=st.sampled_from(["nonblocking", "buffered"]),
    ),
    st.builds(
        ALLREDUCE.format,
        name=st.just("allreduce"),
        algorithm=st.just("recursive_doubling"),
        size=st.sampled_from([8, 4096]),
        every=st.sampled_from([1, 4]),
    ),
    st.builds(
        lambda call, layout, **keys: ON_GRID.format(**call, **layout, **keys),
        call=st.sampled_from(
            [
                {"name": "allreduce", "algorithm": "recursive_doubling", "root": ""},
                {"name": "bcast", "algorithm": "binomial", "root": "root = 1\n"},
            ]
        ),
        layout=st.sampled_from(
            [
                {"communicators": 4, "stride": 1},
                {"communicators": 4, "stride": 4},
                {"communicators": 2, "stride": 1},
                {"communicators": 4, "stride": 2},
            ]
        ),
        size=st.sampled_from([8, 4096]),
        every=st.sampled_from([1, 4]),
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.lists(PHASES, min_size=1, max_size=5), st.sampled_from([8, 12]))
def test_the_trace_of_a_simulation_gives_its_messages_and_collectives(
    tmp_path_factory: pytest.TempPathFactory, phases: list[str], ranks: int
) -> None:
    first = WORK.format(time="3 ms", weights=[])
    original = program(first, *phases, EXCHANGE.format(neighbours="ring", size="8 B", sends="nonblocking"))
    original = original.resized(ranks=ranks, iterations=24)
    found = derived(original, tmp_path_factory.mktemp("t") / "trace").program
    assert sent(found) == sent(original)
    assert collectives(found) == collectives(original)
    expected_s, got_s = (lockstep(one.without_noise(), platform()).iteration_s for one in (original, found))
    assert got_s == pytest.approx(expected_s, rel=0.02)


def test_work_differs_between_ranks_as_in_the_trace(tmp_path: Path) -> None:
    weights = [1.0, 1.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    original = program(
        WORK.format(time="2 ms", weights=weights),
        EXCHANGE.format(neighbours="line", size="1 kB", sends="blocking"),
        iterations=40,
    )
    found = derived(original, tmp_path / "t")
    (work, exchange) = found.program.file.phase
    assert (np.array(work.weights) * work.time).tolist() == pytest.approx(
        [2e-3 * weight for weight in weights], rel=1e-3
    )
    assert exchange.sends == "blocking"
    assert (found.read, found.total) == (40, 40)
    simulated = prepare(found.program, platform()).simulate()
    assert mean_iteration_s(last_ends_s(simulated)) == pytest.approx(found.measured_s, rel=0.01)


def test_work_bound_by_memory_takes_as_long_as_in_the_trace(tmp_path: Path) -> None:
    original = program(
        '[[phase]]\nkind = "work"\nmemory = "10 MB"\n',
        EXCHANGE.format(neighbours="ring", size="100 kB", sends="nonblocking"),
    )
    found = derived(original, tmp_path / "t").program
    bound = with_memory_traffic(found, platform())
    assert bound.file.phase[0].memory == pytest.approx(10**7, rel=1e-3)
    assert lockstep(bound.without_noise(), platform()).iteration_s == pytest.approx(
        lockstep(original.without_noise(), platform()).iteration_s, rel=1e-3
    )
    assert with_memory_traffic(found, platform(), 95 * 10**5) == bound
    half = with_memory_traffic(found, platform(), 5 * 10**6)
    assert half.file.phase[0].memory == pytest.approx(5 * 10**6, rel=1e-3)
    assert lockstep(half.without_noise(), platform()).work_s == pytest.approx(
        lockstep(found.without_noise(), platform()).work_s, rel=1e-3
    )
    with pytest.raises(BadInput, match="--memory: this traffic in an iteration takes 2 times as long"):
        with_memory_traffic(found, platform(), 2 * 10**7)
    with pytest.raises(BadInput, match="has no memory bandwidth"):
        with_memory_traffic(found, platform(memory=""))


def test_variation_of_the_work_becomes_exponential_delays(tmp_path: Path) -> None:
    trace = Ring(computing(150, 6, us=500, noise_us=50), allreduce_every=10).write(tmp_path / "t")
    found = derive_program(open_trace(trace), platform())
    (noise,) = found.program.file.noise
    assert (noise.pick, noise.distribution) == ("all", "exponential")
    assert noise.time == pytest.approx(45e-6, rel=0.2)
    work = found.program.file.phase[0]
    assert work.time + noise.time == pytest.approx(550e-6, rel=0.02)
    assert collectives(found.program) == [("allreduce", [8], 0, 10, 1, 1)]
    assert [len(one) for one in sent(found.program)] == [12]


def test_messages_of_a_rank_to_itself_are_left_out(tmp_path: Path) -> None:
    trace = Ring(computing(20, 1, us=500)).write(
        tmp_path / "t"
    )  # both neighbours of the only rank are itself
    found = derive_program(open_trace(trace), platform())
    assert [phase.kind for phase in found.program.file.phase] == ["work"]
    assert "2 messages of ranks to themselves: left out" in found.notes


def test_an_iteration_of_a_very_long_run_is_several_of_the_trace(tmp_path: Path) -> None:
    trace = Ring(computing(40, 4, us=500)).write(tmp_path / "t")
    single = derive_program(open_trace(trace), platform())
    found = derive_program(open_trace(trace), platform(), most_cells=4 * 25)
    assert "an iteration of the program is 2 of the trace" in found.notes
    assert (found.read, found.total, found.program.file.iterations) == (20, 20, 20)
    assert found.measured_s == pytest.approx(2 * single.measured_s)
    composite_s = lockstep(found.program.without_noise(), platform()).iteration_s
    assert composite_s == pytest.approx(
        2 * lockstep(single.program.without_noise(), platform()).iteration_s, rel=0.01
    )


def test_the_trace_of_a_killed_run_gives_the_program_of_the_iterations_of_all_ranks(tmp_path: Path) -> None:
    trace = Ring(computing(400, 4)).write(tmp_path / "t")
    path = trace / "rank-000002.trace"
    path.write_bytes(path.read_bytes()[: -form.PAGE_BYTES])
    found = derive_program(open_trace(trace), platform())
    assert 300 < found.total < 400
    assert [len(one) for one in sent(found.program)] == [8]


def test_iterations_without_any_call_are_a_program_of_work_alone(tmp_path: Path) -> None:
    found = derived(program(WORK.format(time="1 ms", weights=[]), ranks=1, iterations=20), tmp_path / "t")
    (work,) = found.program.file.phase
    assert (work.kind, found.program.file.ranks) == ("work", 1)
    assert work.time == pytest.approx(19 / 20 * 1e-3, rel=1e-3)  # no call shows when the last one ends


def test_a_trace_without_what_a_program_needs_gets_a_sentence(tmp_path: Path) -> None:
    without = Ring(computing(30, 4)).write(tmp_path / "without", has_messages=0)
    sampled = Ring(computing(30, 4)).write(tmp_path / "sampled", sampling=b"every 4th call")
    missing = Ring(computing(30, 4)).write(tmp_path / "missing")
    next(iter(sorted(missing.glob("*2*")))).unlink()
    fewer = Ring(computing(30, 4)).write(tmp_path / "fewer")
    path = fewer / "rank-000001.trace"
    path.write_bytes(path.read_bytes()[: -form.PAGE_BYTES])  # all its marks
    for folder, sentence in (
        (without, "point-to-point calls were not recorded"),
        (sampled, "the trace was sampled"),
        (missing, "the trace has the files of 3 of 4 ranks"),
        (fewer, "rank 1 has 0 iterations, the others 30; record a run that ends normally"),
    ):
        with pytest.raises(BadInput, match=sentence):
            derive_program(open_trace(folder), platform())


def test_the_command_writes_a_file_that_can_be_simulated(tmp_path: Path) -> None:
    trace = Ring(computing(40, 6)).write(tmp_path / "t")
    path = tmp_path / "program.toml"
    invoke(app, "init", path, "--from-trace", trace, "--platform", "fritz")
    assert "MPI_" not in path.read_text() and "offsets = [-1, 1]" in path.read_text()
    assert "6 ranks, 40 iterations" in invoke(app, "simulate", path, "--platform", "fritz").stdout
    with pytest.raises(BadInput, match="--from-trace needs --platform"):
        invoke(app, "init", path, "--from-trace", trace)
    with pytest.raises(BadInput, match="give one of them"):
        invoke(app, "init", path, "--from-trace", trace, "--from", "mst")
