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

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat.platform.machine import Platform
from offbeat.program.iterations import Iterations, last_ends_s, mean_iteration_s, settled_span
from offbeat.program.load import Program
from offbeat.program.neighbours import messages
from offbeat.program.schema import PhaseSection
from offbeat.program.simulate import Progress, Simulated, prepare
from offbeat.program.steps import weights_of

SHARED_LATENCIES = 1.0
"""Messages whose transfer takes at least this many times their latency certainly share bandwidth: the
simulator shares it from a hundredth on (``negligible_transfer``), and the factors of the platform file change
both times."""


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
    phases, so that only two such periods are simulated.
    """
    file = program.file
    period = math.lcm(*(phase.every for phase in file.phase))
    repeats = not file.noise and any(phase.kind != "work" for phase in file.phase)
    simulated = (
        program.resized(iterations=2 * period) if repeats and 2 * period < file.iterations else program
    )
    run = prepare(simulated, platform, synchronised=True).simulate(on_progress)
    ends_s = _continued(last_ends_s(run), file.iterations, period)
    communication_s = _continued(_communication_s(run), file.iterations, period)
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


def limit_s(program: Program, platform: Platform) -> float:
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
    bounds_s = [_critical_path_s(program, platform)]
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


def _critical_path_s(program: Program, platform: Platform) -> float:
    run = prepare(program, unshared(platform)).simulate()
    return mean_iteration_s(last_ends_s(run))


def unshared(platform: Platform) -> Platform:
    """The platform if each message and each work had links and memory of its own."""
    file = platform.file
    most = float(file.nodes * file.cores) * max(1.0, file.link.bandwidth, file.memory.bandwidth)
    memory = file.memory
    if memory.bandwidth:
        core_bandwidth = min(memory.core_bandwidth, memory.bandwidth)
        memory = structs.replace(
            memory, bandwidth=most, core_bandwidth=core_bandwidth, message_bandwidth=0.0, message_traffic=0.0
        )
    alone = file.link.bandwidth * max([1.0, *file.messages.bandwidth_factors])
    flow_bandwidth = min(rate for rate in (file.messages.flow_bandwidth or math.inf, alone or math.inf))
    changed = structs.replace(
        file,
        memory=memory,
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
