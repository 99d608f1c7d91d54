"""What the report says of traces of simulated programs, of which the truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from known_programs import KINDS, known_program, platform

from offbeat.model.platform import machine
from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.iterations.report import Report, analyse
from offbeat.programs.simulation.iterations import last_ends_s, mean_iteration_s
from offbeat.programs.simulation.lockstep import lockstep
from offbeat.programs.simulation.simulate import prepare
from offbeat.programs.simulation.simulated_trace import plan, simulate_traced
from offbeat.trace.files.trace_folder import open_trace

WORK = 'ranks = {ranks}\niterations = {iterations}\n[[phase]]\nkind = "work"\nname = "work"\n{work}\n'
EXCHANGE = '[[phase]]\nkind = "exchange"\n{}\n'
DELAY = '[[noise]]\nphase = "work"\nwhen = "before"\n{}\n'
UNSHARED = machine.loads(
    platform().text.replace('message_bandwidth = "7.35 GB/s"', 'message_bandwidth = "0"'), "unshared.toml"
)


def report_of(one: Program, folder: Path, on: machine.Platform | None = None) -> Report:
    run = prepare(one, on or platform())
    simulate_traced(run, plan(run, folder))
    return analyse(open_trace(folder))


def program(work: str, exchange: str, *delays: str, ranks: int = 36, iterations: int = 200) -> Program:
    text = WORK.format(ranks=ranks, iterations=iterations, work=work) + EXCHANGE.format(exchange)
    return loads(text + "".join(map(DELAY.format, delays)), "program.toml")


DELAYS = [
    'time = "3 ms"\npick = "random"\nevery = 4',
    'time = "3 ms"\npick = "each_domain"\nevery = 4',
    'time = "300 us"\npick = "all"\nevery = 4\ndistribution = "exponential"',
    'time = "1 ms"\npick = "all"\nevery = 3\ndistribution = "exponential"',
    'time = "500 us"\npick = "all"\ndistribution = "exponential"',
    'time = "20 ms"\npick = "list"\nranks = [3, 12]\nevery = 10',
    'time = "200 us"\npick = "random"\ncount = 9\nevery = 2',
]


@pytest.mark.parametrize(("delay", "every"), [*((delay, 0) for delay in DELAYS), (DELAYS[1], 5)])
def test_delays_do_not_count_as_computation_that_is_faster_out_of_step(
    tmp_path: Path, delay: str, every: int
) -> None:
    collective = (
        '[[phase]]\nkind = "collective"\ncollective = "allreduce"\nbytes = [8]\n'
        f'algorithm = "recursive_doubling"\nevery = {every}\n'
    )
    ring = 'neighbours = "ring"\nbytes = ["8 kB"]\n' + (collective if every else "")
    one = program('time = "10 ms"', ring, delay, ranks=20, iterations=100)
    found = report_of(one, tmp_path / "t").performance
    assert found is not None
    if (faster := found.computation_faster) is not None:
        assert abs(faster.mean) < 0.005 or faster.low <= 0 <= faster.high, faster


def test_computation_that_shares_memory_is_faster_out_of_step(tmp_path: Path) -> None:
    noise = 'time = "2 ms"\npick = "each_domain"\nevery = 20'
    one = program('memory = "40 MB"', 'bytes = ["1 MB"]', noise, iterations=300)
    found = report_of(one, tmp_path / "t").performance
    assert found is not None and found.computation_faster is not None
    assert found.computation_faster.low > 0.005


def test_uneven_work_between_exchanges_is_waited_for_at_each_of_them(tmp_path: Path) -> None:
    pair = ["weights = [1, 3]", "weights = [3, 1]"]
    first, second = (f'name = "{name}"\ntime = "1 ms"\n{pair[name == "b"]}' for name in "ab")
    ring = EXCHANGE.format('bytes = ["1 kB"]')
    text = f'ranks = 16\niterations = 50\n[[phase]]\nkind = "work"\n{first}\n{ring}'
    one = loads(f'{text}[[phase]]\nkind = "work"\n{second}\n{ring}', "uneven.toml")
    found = report_of(one, tmp_path / "t").performance
    assert found is not None
    assert found.lockstep_s == pytest.approx(lockstep(one, platform()).iteration_s, rel=0.01)
    assert abs(found.faster.mean) < 0.005


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_no_trace_is_called_faster_than_lockstep_that_is_not(tmp_path: Path, number: int) -> None:
    one = known_program(np.random.default_rng([45, number]), number, 40)
    found = report_of(one, tmp_path / "t").performance
    assert found is not None
    run_s = mean_iteration_s(last_ends_s(prepare(one, platform()).simulate()))
    truth = lockstep(one, platform()).iteration_s / run_s - 1
    assert found.measured_s == pytest.approx(run_s, rel=0.01)
    if found.faster.low > 0 and found.faster.mean > 0.005:
        assert truth > 0, found.faster


# --- idle waves ---

ONE = 'time = "1 s"\npick = "list"\nranks = [{}]\nfirst = 20\nlast = 20'


@pytest.mark.parametrize(
    ("exchange", "ranks", "rank", "expected"),
    [
        pytest.param('neighbours = "line"\nbytes = ["256 B"]', 24, 0, {1: (23, 1.0)}, id="end of a line"),
        pytest.param(
            'neighbours = "line"\nbytes = ["256 B"]', 24, 9, {1: (14, 1.0), -1: (9, 1.0)}, id="line"
        ),
        pytest.param('bytes = ["256 B"]', 24, 3, {1: (12, 1.0), -1: (11, 1.0)}, id="ring, eager"),
        pytest.param(
            'sends = "synchronous"\nbytes = ["256 B"]',
            24,
            3,
            {1: (12, 1.0), -1: (11, 1.0)},
            id="ring, rendezvous",
        ),
        pytest.param(
            'sends = "blocking"\nbytes = ["20 kB"]',
            24,
            3,
            {1: (None, 1.0), -1: (None, 2.0)},
            id="blocking sends, of which the first one waits",
        ),
        pytest.param(
            'neighbours = "grid"\ngrid = [8, 8]\nperiodic = false\nbytes = ["256 B"]',
            64,
            0,
            {1: (7, 1.0), 8: (7, 1.0)},
            id="corner of a grid",
        ),
        pytest.param(
            'neighbours = "grid"\ngrid = [9, 6]\nbytes = ["256 B"]',
            54,
            24,
            {6: (4, 1.0), -6: (4, 1.0)},
            id="periodic grid",
        ),
        pytest.param(
            'neighbours = "offsets"\noffsets = [1, -1, 4, -4]\nbytes = ["256 B"]',
            72,
            30,
            {4: (9, 1.0), -4: (8, 1.0)},
            id="distant neighbours",
        ),
    ],
)
def test_a_delay_propagates_at_the_speed_that_follows_from_the_messages(
    tmp_path: Path, exchange: str, ranks: int, rank: int, expected: dict[int, tuple[int | None, float]]
) -> None:
    one = program('time = "10 ms"', exchange, ONE.format(rank), ranks=ranks, iterations=60)
    waves = {wave.direction: wave for wave in report_of(one, tmp_path / "t", UNSHARED).waves}
    assert waves.keys() >= expected.keys()
    for direction, (reached, speed) in expected.items():
        wave = waves[direction]
        assert (wave.rank, wave.iteration) == (rank, 20)
        assert reached is None or wave.ranks == reached
        assert wave.per_iteration == pytest.approx(speed, rel=0.1)
