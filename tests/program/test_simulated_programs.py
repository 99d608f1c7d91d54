"""Simulated programs: processor sharing in memory domains, messages, collectives, delays, iterations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from program_texts import MEMORY, RING, WORK, platform, program, simulated

from offbeat import _simulator
from offbeat.base.errors import BadInput
from offbeat.model.platform.machine import load as load_platform
from offbeat.model.platform.machine import loads as platform_of
from offbeat.programs.description.program_file import load, loads
from offbeat.programs.simulation.iterations import last_ends_s, mean_iteration_s
from offbeat.programs.simulation.lockstep import limit_s, lockstep
from offbeat.programs.simulation.simulate import prepare

GB = 1e9


@pytest.mark.parametrize(("ranks", "rate"), [(1, 8), (2, 8), (4, 5), (5, 5), (8, 5), (16, 5)])
def test_ranks_that_draw_together_share_the_bandwidth_of_their_domain(ranks: int, rate: float) -> None:
    ends = simulated(program(WORK, ranks=ranks, iterations=3)).iteration_end_s
    assert ends[-1].max() == pytest.approx(3 * 0.1 / rate)  # min(8, 20 / n) GB/s, in domains of four cores


def shared_ends(
    starts_s: NDArray[np.float64], amounts: NDArray[np.float64], core: float, domain: float
) -> NDArray[np.float64]:
    """When each rank ends its work if all of them share one domain: a simulation in small steps of events."""
    left, ends, now = amounts.copy(), np.zeros(len(amounts)), 0.0
    while (left > 0).any():
        active = (left > 1e-6) & (starts_s <= now)
        rate = min(core, domain / active.sum()) if active.any() else 0.0
        waiting = starts_s[starts_s > now]
        steps = [*(left[active] / rate if rate else []), *(waiting - now)]
        step = min(steps)
        left[active] -= rate * step
        now += step
        done = active & (left <= 1e-6)
        ends[done], left[done] = now, 0.0
        left[(left <= 1e-6) & (starts_s <= now)] = 0.0
    return ends


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 300)), min_size=1, max_size=4),
)
def test_ranks_that_begin_at_different_times_share_by_processor_sharing(ranks: list[tuple[int, int]]) -> None:
    weights = ", ".join(str(amount / 100) for _, amount in ranks)
    delays = "\n".join(
        f'[[noise]]\nphase = "triad"\nwhen = "before"\ntime = "{start} ms"\npick = "list"\nranks = [{rank}]'
        for rank, (start, _) in enumerate(ranks)
    )
    one = program(f"{WORK}weights = [{weights}]", delays, ranks=len(ranks), iterations=1)
    expected = shared_ends(
        np.array([start * 1e-3 for start, _ in ranks]),
        np.array([amount * 1e6 for _, amount in ranks]),
        8 * GB,
        20 * GB,
    )
    np.testing.assert_allclose(simulated(one).iteration_end_s[0], expected, rtol=1e-9)


def test_operations_overlap_with_memory_traffic_and_limit_what_a_rank_draws() -> None:
    only_flops = program('[[phase]]\nkind = "work"\nflops = 1e8\n', ranks=8, iterations=1)
    assert simulated(only_flops).iteration_end_s.max() == pytest.approx(0.01)
    bound = program(WORK + "flops = 5e8\n", ranks=8, iterations=1)  # each rank draws 2 GB/s: no contention
    assert simulated(bound).iteration_end_s.max() == pytest.approx(0.05)
    mixed = program(WORK + "flops = 1e8\n", ranks=8, iterations=1)  # 8 GB/s alone, 5 GB/s together
    assert simulated(mixed).iteration_end_s.max() == pytest.approx(0.02)


@given(
    st.sampled_from(["ring", "recursive_doubling", "nonoverlapping", "basic_linear"]),
    st.integers(2, 20),
    st.lists(st.integers(0, 1000), min_size=20, max_size=20),
)
def test_a_collective_exits_as_in_a_study_with_these_arrivals(
    algorithm: str, p: int, delays_us: list[int]
) -> None:
    phase = (
        f'[[phase]]\nkind = "collective"\ncollective = "allreduce"\nalgorithm = "{algorithm}"\nbytes = [800]'
    )
    noise = "\n".join(
        f'[[noise]]\nphase = "collective 1"\nwhen = "before"\ntime = "{delay} us"\npick = "list"'
        f"\nranks = [{rank}]"
        for rank, delay in enumerate(delays_us[:p])
    )
    machine = platform(memory="")
    run = simulated(program(phase, noise, ranks=p, iterations=1), machine)
    arrivals = np.array(delays_us[:p]) * 1e-6
    call = ("allreduce", "openmpi", algorithm, {}, p, 0, 100, 8, machine.node_of_rank(p).tolist())
    schedule = _simulator.Schedule(*call)
    exits, _ = _simulator.evaluate(schedule, machine.network(p), arrivals[None, :], 8.0, "fluid")
    np.testing.assert_allclose(run.iteration_end_s[0], exits[0], rtol=1e-12, atol=2e-12)


@pytest.mark.parametrize(("p", "latency_s"), [(8, 1e-6), (32, 36e-6 / 32)])
def test_a_ring_costs_the_latency_of_all_its_messages(p: int, latency_s: float) -> None:
    """The mean latency of the ring's messages: 1 µs, and 2 µs for the 4 of 32 that go to another node."""
    work = '[[phase]]\nkind = "work"\ntime = "1 ms"\n'
    ring = '[[phase]]\nkind = "collective"\ncollective = "allreduce"\nalgorithm = "ring"\n'
    one = program(work, f"{ring}bytes = [{8 * p}]", ranks=p, iterations=20)
    extra_s = mean_iteration_s(last_ends_s(simulated(one, platform(memory="")))) - 1e-3
    assert extra_s == pytest.approx(2 * (p - 1) * latency_s, rel=0.02)


def test_an_exchange_takes_as_long_as_its_slowest_message() -> None:
    run = simulated(program(RING, ranks=8, iterations=5), platform(memory=""))
    message_s = 1e-6 + 1e6 / 5e9
    np.testing.assert_allclose(run.iteration_end_s, np.outer(np.arange(1, 6), np.full(8, message_s)))
    np.testing.assert_allclose(run.communication_s, message_s, rtol=1e-6)


def test_messages_of_a_domain_share_its_bandwidth_for_messages() -> None:
    shared = platform(memory=MEMORY + 'message_bandwidth = "4 GB/s"\n')
    run = simulated(program(RING, ranks=8, iterations=1), shared)
    assert run.iteration_end_s.max() == pytest.approx(1e-6 + 8 * 1e6 / 4e9)  # 4 ranks receive 2 each


def test_messages_draw_from_the_memory_of_their_receiver() -> None:
    drawing = platform(memory=MEMORY + "message_traffic = 10\n")
    run = simulated(program(RING, ranks=8, iterations=1), drawing)
    assert run.iteration_end_s.max() == pytest.approx(1e-6 + 8 * 10 * 1e6 / 20e9)


def test_a_buffered_sender_runs_ahead_of_its_receiver_and_loses_no_message() -> None:
    phases = RING.replace("ring", "line") + 'sends = "buffered"\n'
    slow = '[[phase]]\nkind = "work"\ntime = "1 ms"\nweights = [0, 0, 0, 1]\n'
    one = program(
        slow,
        phases.replace('neighbours = "line"', 'neighbours = "offsets"\noffsets = [1]\nperiodic = false'),
        ranks=4,
        iterations=50,
    )
    ends = simulated(one, platform(memory="")).iteration_end_s
    message_s = 1e-6 + 1e6 / 5e9
    assert ends[-1][0] == 0.0  # rank 0 only sends
    assert ends[-1][3] >= 50e-3
    assert ends[-1][1] == pytest.approx(message_s)  # all messages of rank 0 left at once


def test_synchronous_sends_wait_for_their_receiver() -> None:
    slow = '[[phase]]\nkind = "work"\ntime = "1 ms"\nweights = [0, 1]\n'
    small = RING.replace('"1 MB"', "8").replace("ring", "line")
    waits = simulated(
        program(slow, small + 'sends = "synchronous"\n', ranks=2, iterations=1), platform(memory="")
    )
    leaves = simulated(
        program(
            slow,
            small.replace("line", "offsets") + "offsets = [1]\nperiodic = false\n",
            ranks=2,
            iterations=1,
        ),
        platform(memory=""),
    )
    assert waits.iteration_end_s[0][0] > 1e-3 and leaves.iteration_end_s[0][0] < 1e-6


def test_a_phase_of_every_third_iteration_is_executed_in_these() -> None:
    one = program(
        '[[phase]]\nkind = "work"\ntime = "1 ms"\n',
        '[[phase]]\nkind = "work"\ntime = "5 ms"\nevery = 3\n',
        ranks=1,
        iterations=7,
    )
    np.testing.assert_allclose(
        np.diff(simulated(one).iteration_end_s[:, 0], prepend=0), [1e-3, 1e-3, 6e-3] * 2 + [1e-3]
    )


def test_recorded_phases_begin_where_the_earlier_ones_end() -> None:
    run = prepare(program(WORK, RING, ranks=8, iterations=6), platform(), detailed=(2, 5)).simulate()
    assert run.phase_begin_s.shape == (3, 8, 2)
    np.testing.assert_allclose(run.phase_begin_s[:, :, 0], run.iteration_end_s[1:4])
    np.testing.assert_allclose(
        run.iteration_end_s[2:5] - run.phase_begin_s[:, :, 1], run.communication_s[2:5], rtol=1e-6
    )


def test_the_same_seed_gives_the_same_run_and_another_seed_another_one() -> None:
    noise = '[[noise]]\nphase = "triad"\ntime = "1 ms"\ndistribution = "exponential"\npick = "all"\n'
    one = program(WORK, RING, noise)
    first, again, other = (simulated(one.resized(seed=seed)).iteration_end_s for seed in (1, 1, 2))
    assert (first == again).all() and not (first == other).all()


def test_work_and_communication_add_up_to_the_time_of_an_iteration() -> None:
    noise = '[[noise]]\nphase = "halo"\ntime = "3 ms"\nevery = 2\n'
    run = simulated(program(WORK, RING, noise, ranks=16, iterations=8))
    worked = run.iteration_s() - run.communication_s
    assert (worked > 0.1 / 8 - 1e-9).all()
    assert worked.sum() >= 16 * 8 * 0.1 / 8 + 4 * 3e-3 - 1e-6


# --- the MPI-augmented STREAM triad on the paper's machine ---


def mst(
    every: int = 0, extra: str = "", iterations: int = 1000, changes: tuple[tuple[str, str], ...] = ()
) -> float:
    """Iterations per second and rank, with a delay in each domain in every k-th iteration.

    ``extra`` are further phases, ``changes`` replacements in the texts of the program and the platform.
    """
    noise = f'\n[[noise]]\nphase = "triad"\ntime = "20 ms"\npick = "each_domain"\nevery = {every}\n'
    program_text = load("mst").text + extra + (noise if every else "")
    platform_text = load_platform("fritz").text
    for old, new in changes:
        assert old in program_text + platform_text
        program_text, platform_text = program_text.replace(old, new), platform_text.replace(old, new)
    machine = platform_of(platform_text, "fritz.toml")
    run = prepare(loads(program_text, "mst.toml").resized(iterations=iterations), machine).simulate()
    return 1 / mean_iteration_s(last_ends_s(run)) / run.p


def test_lockstep_and_limit_are_those_of_the_paper() -> None:
    composite = lockstep(load("mst"), load_platform("fritz"))
    assert 1 / composite.iteration_s / 360 == pytest.approx(0.08045, rel=1e-3)
    assert 1 / composite.work_s / 360 == pytest.approx(0.09375, rel=1e-3)
    limit = limit_s(load("mst").resized(iterations=100), load_platform("fritz"))
    assert 1 / limit / 360 == pytest.approx(0.09375, rel=1e-3)


def test_more_frequent_delays_make_the_triad_faster() -> None:
    rates = {every: mst(every) for every in (0, 100, 20, 5, 4)}
    assert all(rates[a] < rates[b] for a, b in itertools.pairwise((0, 100, 20, 5, 4)))
    assert rates[100] <= 1.015 * rates[0]
    assert 0.088 <= rates[4] < 0.09375


def test_delays_only_cost_where_a_collective_follows_in_every_iteration() -> None:
    allreduce = '\n[[phase]]\nkind = "collective"\ncollective = "allreduce"\nbytes = [8]\n'
    allreduce += 'algorithm = "recursive_doubling"\n'
    assert mst(4, allreduce, iterations=200) < 0.98 * mst(0, allreduce, iterations=200) < 0.0805


def test_a_compute_bound_program_only_loses_by_delays() -> None:
    compute_bound = (('memory = "133333333 B"', 'time = "29.6 ms"'), ('"1000000 B"', '"100000 B"'))
    assert mst(4, iterations=200, changes=compute_bound) < 0.98 * mst(
        0, iterations=200, changes=compute_bound
    )


def test_nothing_is_gained_if_all_communication_is_memory_traffic() -> None:
    message_traffic = (("[memory]", "[memory]\nmessage_traffic = 11"),)  # 81 / 7.35
    without = mst(0, iterations=400, changes=message_traffic)
    assert mst(4, iterations=400, changes=message_traffic) <= 1.005 * without


# --- what cannot be simulated ---


def test_work_with_memory_needs_a_platform_with_memory() -> None:
    with pytest.raises(BadInput, match=r"program.toml:\d+: phase\[0\].memory: the platform .* \[memory\]"):
        prepare(program(WORK), platform(memory=""))


def test_work_with_operations_needs_a_platform_with_a_rate() -> None:
    with pytest.raises(BadInput, match="flop_rate"):
        prepare(program('[[phase]]\nkind = "work"\nflops = 1e6\n', ranks=2), load_platform("paper"))


def test_ranks_that_do_not_fit_the_platform_are_refused() -> None:
    with pytest.raises(BadInput, match="1000 ranks"):
        prepare(program(WORK, ranks=1000), platform())
