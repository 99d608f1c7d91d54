"""Fitting what programs share: the memory of a domain, and the bandwidth of messages in it.

Of n processes that draw from a domain, each gets the smaller of b1 and B / n. Messages in a domain move at
their own bandwidth, or at their share of a common one.
"""

from __future__ import annotations

import msgspec
import numpy as np

from offbeat.base.units import amount
from offbeat.libraries.calibration.measured_times import Memory, StreamPoint, WorkPoint
from offbeat.model.platform.message_times import inside_transfer_s, shared_message_s
from offbeat.model.platform.schema import MemorySection, PlatformFile


def with_memory(platform: PlatformFile, measurement: Memory) -> PlatformFile:
    """The platform with the measured memory, flop rate and noise of a core.

    Its domains are the measured ones, or fewer if these do not divide its cores.
    """
    core, domain = bandwidths(measurement.traffic)
    memory = MemorySection(
        domains=even_domains(measurement.domains, platform.cores),
        bandwidth=domain,
        core_bandwidth=core,
        message_bandwidth=message_bandwidth(platform, measurement.exchanges),
    )
    flops = measurement.flops
    platform_with_memory: PlatformFile = msgspec.structs.replace(
        platform,
        memory=memory,
        flop_rate=flops.amount / flops.time_s if flops is not None else platform.flop_rate,
        flop_noise=measurement.flop_noise or platform.flop_noise,
    )
    return platform_with_memory


def even_domains(domains: int, cores: int) -> int:
    """The largest number of domains, up to ``domains``, that divides the cores of a node evenly."""
    return next(number for number in range(domains, 0, -1) if cores % number == 0)


def uneven(domains: int, platform: PlatformFile) -> str:
    """A sentence if the platform has fewer domains than the node; empty if not."""
    if platform.memory.domains == domains:
        return ""
    return (
        f"The {platform.cores} cores of a node are not divided evenly among its {domains} memory domains,"
        f" which a platform file cannot express: this one has {amount(platform.memory.domains, 'domain')}."
    )


def bandwidths(traffic: list[WorkPoint]) -> tuple[float, float]:
    """b1 and B in bytes per second: the pair of measured totals with the least squares of relative errors.

    Candidates for B are the totals of all numbers of processes, those for b1 the shares of each process.
    """
    ranks = np.array([one.ranks for one in traffic])
    time_s = np.array([one.time_s for one in traffic])
    amount = np.array([one.amount for one in traffic])
    total = ranks * amount / time_s

    def error(core: float, domain: float) -> float:
        model_s = amount / np.minimum(core, domain / ranks)
        return float(np.square(np.log(model_s / time_s)).sum())

    pairs = [(core, domain) for core in total / ranks for domain in total if domain >= core]
    core, domain = min(pairs, key=lambda pair: error(*pair))
    return float(core), float(domain)


def message_bandwidth(platform: PlatformFile, exchanges: list[StreamPoint]) -> float:
    """The bandwidth that the messages of a domain share; 0 if they do not contend.

    It is the candidate with the least squares of relative errors. Each size gives one: what an exchange takes
    beyond the latency and the overheads of a message is the time of its bytes.
    """
    alone: PlatformFile = msgspec.structs.replace(platform, memory=MemorySection())
    candidates = [0.0]
    for exchange in exchanges:
        fixed_s = shared_message_s(alone, exchange.bytes, 1) - inside_transfer_s(alone, exchange.bytes)
        candidates.append(
            exchange.flows * exchange.bytes / max(exchange.time_s - fixed_s, 0.1 * exchange.time_s)
        )

    def error(bandwidth: float) -> float:
        memory = MemorySection(message_bandwidth=bandwidth)
        contended_platform: PlatformFile = msgspec.structs.replace(platform, memory=memory)
        ratios = [
            shared_message_s(contended_platform, one.bytes, one.flows) / one.time_s for one in exchanges
        ]
        return float(np.square(np.log(ratios)).sum())

    return min(candidates, key=error)


def traffic_s(memory: MemorySection, amount_bytes: int, ranks: int) -> float:
    """The time in which each of some processes of a domain draws the amount."""
    return amount_bytes / min(memory.core_bandwidth, memory.bandwidth / ranks)


SATURATION_SHARE = 0.9
"""A domain whose bandwidth is this share of the sum of its processes, or more, is not saturated by them."""


def unsaturated_note(memory: Memory, cores: int) -> str:
    """A sentence if more processes than were measured might draw more; empty if not."""
    core, domain = bandwidths(memory.traffic)
    most_ranks = max(one.ranks for one in memory.traffic)
    of_domain = max(1, cores // memory.domains)
    if most_ranks >= of_domain or domain < SATURATION_SHARE * most_ranks * core:
        return ""
    return (
        f"The memory was measured with {most_ranks} of {of_domain} cores of a domain, which did not saturate"
        " it: its bandwidth may be larger. Use more processes per node (--ppn)."
    )
