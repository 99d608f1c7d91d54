"""Lockstep, the limit and the gain of a program, against what follows from their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from known_programs import KINDS, known_program, platform
from msgspec import structs
from program_texts import RING, WORK, program, simulated
from program_texts import platform as small_machine

from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.simulation.iterations import last_ends_s, mean_iteration_s
from offbeat.programs.simulation.lockstep import gain, limit_s, lockstep, measured_lockstep
from offbeat.programs.simulation.simulate import prepare

SEED = 45
PROGRAMS = 3 * len(KINDS)


def drawn(number: int, iterations: int = 30) -> Program:
    return known_program(np.random.default_rng([SEED, number]), number, iterations)


def alone_s(one: Program, phases: list[PhaseSection]) -> float:
    """The time of phases without communication between them, or of one communication, from a common start."""
    return float(
        prepare(
            one.with_phases([structs.replace(phase, every=1) for phase in phases]).resized(iterations=1),
            platform(),
        )
        .simulate()
        .iteration_end_s.max()
    )


def piecewise_s(one: Program) -> float:
    """Lockstep by its definition: separate simulations of what is between communications."""
    total_s, pieces, works = 0.0, {}, []
    for number in range(1, one.file.iterations + 1):
        for place, phase in enumerate(one.file.phase):
            if number % phase.every:
                continue
            if phase.kind == "work":
                works.append(place)
                continue
            for piece in (tuple(works), (place,)):
                if piece and piece not in pieces:
                    pieces[piece] = alone_s(one, [one.file.phase[index] for index in piece])
                total_s += pieces.get(piece, 0.0)
            works = []
    if works:
        total_s += alone_s(one, [one.file.phase[index] for index in works])
    return total_s / one.file.iterations


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_lockstep_is_the_sum_of_its_pieces_and_the_limit_is_below_every_time(number: int) -> None:
    one = drawn(number)
    quiet = one.without_noise()
    in_lockstep = lockstep(quiet, platform())
    assert in_lockstep.iteration_s == pytest.approx(piecewise_s(quiet), rel=1e-9)
    limit, simulated_s = (
        limit_s(one, platform()),
        mean_iteration_s(last_ends_s(prepare(one, platform()).simulate())),
    )
    assert limit <= simulated_s * (1 + 1e-9)
    assert limit <= lockstep(one, platform()).iteration_s * (1 + 1e-9)
    assert in_lockstep.iteration_s <= lockstep(one, platform()).iteration_s * (1 + 1e-9)


def test_delays_do_not_change_how_long_communication_takes_in_lockstep() -> None:
    """Only work is simulated with delays; the oracle simulates everything."""
    with_delays = [one for one in map(drawn, range(2 * len(KINDS))) if one.file.noise]
    assert with_delays
    for one in with_delays:
        everything = prepare(one, platform(), synchronised=True).simulate()
        assert lockstep(one, platform()).iteration_s == pytest.approx(
            mean_iteration_s(last_ends_s(everything)), rel=1e-9
        )


def test_two_phases_of_work_without_communication_between_them_are_one_piece_of_work() -> None:
    text = 'kind = "work"\nflops = 6e8\nweights = {}\n'
    ring = '[[phase]]\nkind = "exchange"\nbytes = ["8 kB"]\n'
    one = loads(
        "ranks = 72\niterations = 40\n"
        + "".join(f"[[phase]]\n{text.format(weights)}" for weights in ([1, 3], [3, 1]))
        + ring,
        "complementary.toml",
    )
    run = prepare(one, platform()).simulate()
    assert gain(lockstep(one, platform()).iteration_s, mean_iteration_s(last_ends_s(run))) == pytest.approx(0)


def test_nothing_is_faster_than_the_traffic_of_a_domain_with_one_slow_rank() -> None:
    one = loads(
        'ranks = 144\niterations = 100\n[[phase]]\nkind = "work"\nmemory = "133 MB"\n'
        f"weights = {[2] + 17 * [1]}\n"
        '[[phase]]\nkind = "exchange"\nbytes = ["1 MB"]\n',
        "slow.toml",
    )
    assert limit_s(one, platform()) == pytest.approx(19 * 133e6 / 81e9)
    time_s = mean_iteration_s(last_ends_s(prepare(one, platform()).simulate()))
    assert limit_s(one, platform()) < time_s < lockstep(one, platform()).iteration_s


def test_lockstep_waits_for_every_delay_and_without_delays_it_repeats() -> None:
    noise = '[[noise]]\nphase = "triad"\ntime = "10 ms"\npick = "random"\nevery = 2\n'
    late = program(WORK, RING, noise, iterations=40)
    quiet_s = lockstep(late.without_noise(), small_machine()).iteration_s
    assert lockstep(late, small_machine()).iteration_s == pytest.approx(quiet_s + 5e-3)
    every = program(WORK, RING + "every = 3\n", iterations=41)
    long_s = float(prepare(every, small_machine(), synchronised=True).simulate().iteration_end_s[-1].max())
    assert lockstep(every, small_machine()).iteration_s * 41 == pytest.approx(long_s, rel=1e-12)
    assert lockstep(every, small_machine()).communication_ratio > 0


def test_a_program_without_communication_is_its_own_lockstep() -> None:
    one = program(WORK + "weights = [1, 2]\n")
    assert lockstep(one, small_machine()).iteration_s == mean_iteration_s(last_ends_s(simulated(one)))
    assert lockstep(one, small_machine()).communication_s == 0


def test_measured_times_of_work_are_added_up_for_each_rank_before_the_slowest_counts() -> None:
    one = program(WORK, WORK.replace("triad", "second"), RING, iterations=4)
    work_s = np.array([[1.0, 3.0], [3.0, 1.0], [0.0, 0.0]])
    found = measured_lockstep(one, work_s, np.array([3.0, 3.0, 0.5]), 4)
    assert (found.iteration_s, found.communication_s) == (4.5, 0.5)
