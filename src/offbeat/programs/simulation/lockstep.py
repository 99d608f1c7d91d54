r"""Lockstep, the limit, and the gain of a program: the definitions that every command and page uses.

Let :math:`e_r(i)` be the time at which rank r ends iteration i; all ranks begin at :math:`e_r(0) = 0`. The
*time of an iteration* is the mean over the iterations a + 1 to b, by the ranks that end last:

.. math:: T = \frac{\max_r e_r(b) - \max_r e_r(a)}{b - a}

*Lockstep* is the time L of an iteration of the same program, with the same delays, if all ranks wait for each
other before and after each exchange and each collective, at no cost. It is simulated: each of these
synchronisations is a step of the simulated program that every rank leaves when the last one arrives.

The *gain* of a program is what it wins against its own lockstep, as a fraction of its time:

.. math:: g = L / T - 1

The *limit* is a time that no execution of the program on the platform can beat. It is the largest of three
lower bounds, for N iterations:

.. math::

    \frac{1}{N} \max\left(\max_d \frac{D_d}{B_d},\; \max_d \frac{M_d}{B^m_d},\; C\right)

:math:`D_d` is the memory traffic of domain d in all iterations and :math:`B_d` its bandwidth; :math:`M_d` are
the bytes of messages that its ranks receive from their node, and :math:`B^m_d` the bandwidth that such
messages share. C is the length of the critical path: the time of the program on a platform on which nothing
is shared, so that each work and each message takes as long as alone. The work of each rank, and its delays,
are paths of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat.model.platform.machine import Platform
from offbeat.programs.description.neighbours import messages
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.simulation.iterations import Iterations, last_ends_s, mean_iteration_s, settled_span
from offbeat.programs.simulation.simulate import Progress, Simulated, prepare, until
from offbeat.programs.simulation.steps import compute_time_s, weights_of

SHARED_LATENCIES = 1.0
"""Messages whose transfer takes at least this many times their latency certainly share bandwidth: the
simulator shares it from a hundredth on (``negligible_transfer``), and the factors of the platform file change
both times."""


MOST_BESIDE = 10**8
"""Iterations of ranks up to which lockstep and limit are simulated beside the program: 3 GB with delays."""


class Lockstep(Struct, frozen=True, kw_only=True):
    """The mean time of an iteration in lockstep, and the part of it in exchanges and collectives, in seconds.

    A rank that has no work left while others work does not count as communicating: all ranks wait before the
    communication begins.
    """

    iteration_s: float
    communication_s: float

    @property
    def work_s(self) -> float:
        """The time of an iteration in which some rank works or is delayed."""
        return self.iteration_s - self.communication_s

    @property
    def communication_ratio(self) -> float:
        """Communication over work: the paper's communication-to-execution ratio (CER)."""
        return self.communication_s / self.work_s if self.work_s else np.inf

    @property
    def communication_share(self) -> float:
        """Communication as a fraction of the iteration."""
        return self.communication_s / self.iteration_s if self.iteration_s else 0.0


def lockstep(
    program: Program,
    platform: Platform,
    span: tuple[int, int] | None = None,
    on_progress: Progress | None = None,
) -> Lockstep:
    """Simulate a program in lockstep: means of all iterations, or of those of a span (mean_iteration_s).

    Without delays, iterations in lockstep repeat after the least common multiple of the intervals of all
    phases, so that only two such periods are simulated. Delays do not change how long a communication takes
    that all ranks begin together, so that only the work is simulated with them.
    """
    file = program.file
    period = math.lcm(*(phase.every for phase in file.phase))
    communicates = any(phase.kind != "work" for phase in file.phase)
    quiet = program.without_noise() if communicates else program
    if communicates and 2 * period < file.iterations:
        quiet = quiet.resized(iterations=2 * period)
    run = prepare(quiet, platform, synchronised=True).simulate(None if file.noise else on_progress)
    ends_s = _continued(last_ends_s(run), file.iterations, period)
    communication_s = _continued(_communication_s(run), file.iterations, period)
    if communicates and file.noise:
        work = prepare(program, platform, synchronised=True, has_messages=False).simulate(on_progress)
        ends_s = last_ends_s(work) + communication_s
    return Lockstep(
        iteration_s=mean_iteration_s(ends_s, span), communication_s=mean_iteration_s(communication_s, span)
    )


def _communication_s(run: Simulated) -> NDArray[np.float64]:
    """The time in communication from the begin of the run to the end of each iteration, (iterations,)."""
    counts = np.zeros(run.iterations, np.int64)
    for phase in run.program.file.phase:
        if phase.kind != "work":
            counts[phase.every - 1 :: phase.every] += 1
    spent_s = np.diff(run.synchronised_s.reshape(-1, 2), axis=1).ravel()
    sums_s = np.concatenate([[0.0], np.cumsum(spent_s)])
    return np.asarray(sums_s[np.cumsum(counts)])


def _continued(sums_s: NDArray[np.float64], iterations: int, period: int) -> NDArray[np.float64]:
    """Sums after each iteration, (iterations,), of a run whose second period repeats (:func:`lockstep`)."""
    if len(sums_s) == iterations:
        return sums_s
    number = np.arange(iterations)
    place = np.where(number < period, number, period + number % period)
    return sums_s[place] + np.maximum(number // period - 1, 0) * (sums_s[-1] - sums_s[period - 1])


@contextmanager
def simulated_beside(
    program: Program, platform: Platform
) -> Iterator[tuple[Future[Lockstep], Future[float]]]:
    """Lockstep and limit of a program, simulated on other processors than the block, in which the caller
    simulates the program itself; after it, one after the other, if the times of all iterations need much
    memory (:data:`MOST_BESIDE`). They end early if the block raises an exception."""
    may_begin, stop = Event(), Event()
    has_memory = program.file.ranks * program.file.iterations <= MOST_BESIDE
    if has_memory:
        may_begin.set()
    with ThreadPoolExecutor(2 if has_memory else 1, initializer=may_begin.wait) as pool:
        try:
            yield (
                pool.submit(lockstep, program, platform, on_progress=until(stop)),
                pool.submit(limit_s, program, platform, until(stop)),
            )
        except BaseException:
            stop.set()
            raise
        finally:
            may_begin.set()


def limit_s(program: Program, platform: Platform, on_progress: Progress | None = None) -> float:
    """The mean time of an iteration that no execution of the program can beat, in seconds."""
    file, p = program.file, program.file.ranks
    node_of_rank = platform.node_of_rank(p)
    domain_of_rank = platform.domain_of_rank(node_of_rank)
    memory = platform.file.memory
    traffic, received = np.zeros(p), np.zeros(p)
    for phase in file.phase:
        times = file.iterations // phase.every
        traffic += times * phase.memory * weights_of(phase, p)
        if phase.kind == "exchange":
            received += times * _received(phase, platform, node_of_rank)
    bounds_s = [_critical_path_s(program, platform, on_progress)]
    for amount, bandwidth in (
        (traffic + memory.message_traffic * received, memory.bandwidth),
        (received, memory.message_bandwidth),
    ):
        if memory.bandwidth and bandwidth:
            bounds_s.append(float(np.bincount(domain_of_rank, amount).max()) / bandwidth / file.iterations)
    return max(bounds_s)


def _received(
    phase: PhaseSection, platform: Platform, node_of_rank: NDArray[np.int32]
) -> NDArray[np.float64]:
    """The bytes that each rank receives from its own node, (p,), in messages that share bandwidth."""
    sent = messages(phase, len(node_of_rank))
    inside = platform.file.inside
    is_shared = sent.bytes >= SHARED_LATENCIES * inside.latency * inside.bandwidth
    is_inside = node_of_rank[sent.source] == node_of_rank[sent.target]
    kept = is_shared & is_inside
    size = sent.bytes[kept].astype(np.float64)
    return np.bincount(sent.target[kept], size, minlength=len(node_of_rank)).astype(np.float64)


def _critical_path_s(program: Program, platform: Platform, on_progress: Progress | None) -> float:
    phases = [_alone(program, index, platform) for index in range(len(program.file.phase))]
    alone = structs.replace(program, file=structs.replace(program.file, phase=phases))
    run = prepare(alone, unshared(platform)).simulate(on_progress)
    return mean_iteration_s(last_ends_s(run))


def _alone(program: Program, index: int, platform: Platform) -> PhaseSection:
    """The phase with the time of its work in place of its memory traffic, if it had the domain alone."""
    phase, memory = program.file.phase[index], platform.file.memory
    if not (phase.memory and memory.bandwidth):
        return phase
    compute_s = compute_time_s(program, index, platform)
    traffic_s = phase.memory / min(memory.core_bandwidth, memory.bandwidth)
    return structs.replace(phase, time=phase.time + max(compute_s, traffic_s), flops=0.0, memory=0.0)


def unshared(platform: Platform) -> Platform:
    """The platform if each message had links of its own; it has no memory domains."""
    file = platform.file
    most = float(file.nodes * file.cores) * max(1.0, file.link.bandwidth)
    alone = file.link.bandwidth * max([1.0, *file.messages.bandwidth_factors])
    flow_bandwidth = min(rate for rate in (file.messages.flow_bandwidth or math.inf, alone or math.inf))
    changed = structs.replace(
        file,
        memory=structs.replace(file.memory, bandwidth=0.0),
        link=structs.replace(file.link, bandwidth=most if file.link.bandwidth else 0.0),
        fat_tree=structs.replace(file.fat_tree, bandwidth=0.0),
        dragonfly=structs.replace(file.dragonfly, local_bandwidth=0.0, global_bandwidth=0.0),
        messages=structs.replace(
            file.messages, flow_bandwidth=flow_bandwidth if math.isfinite(flow_bandwidth) else 0.0
        ),
    )
    return structs.replace(platform, file=changed)


def gain(lockstep_s: float, iteration_s: float) -> float:
    """How much faster an iteration is than in lockstep, as a fraction; infinite if it takes no time."""
    return lockstep_s / iteration_s - 1 if iteration_s else np.inf


def measured_lockstep(
    program: Program, work_s: NDArray[np.float64], phase_s: NDArray[np.float64], iterations: int
) -> Lockstep:
    """Lockstep from times of single phases that all ranks began together, for a run on a real machine.

    ``work_s`` (phases, p) is the time of each rank in each phase, ``phase_s`` (phases,) that of the last one.
    Ranks wait for each other at communication only: work without communication in between is added up for
    each rank. Means of this number of iterations.
    """
    phases = program.file.phase
    own_s, spent_s, communication_s = np.zeros(work_s.shape[1]), 0.0, 0.0
    for number in range(1, iterations + 1):
        for phase, rank_s, last_s in zip(phases, work_s, phase_s.tolist(), strict=True):
            if number % phase.every:
                continue
            if phase.kind == "work":
                own_s += rank_s
            else:
                spent_s += float(own_s.max())
                own_s[:] = 0.0
                communication_s += last_s
    spent_s += float(own_s.max())
    return Lockstep(
        iteration_s=(spent_s + communication_s) / iterations, communication_s=communication_s / iterations
    )


def settled_iteration_s(run: Iterations) -> float:
    """The mean time of the iterations that count, once the ranks have drifted apart."""
    return mean_iteration_s(last_ends_s(run), settled_span(run.iterations))
