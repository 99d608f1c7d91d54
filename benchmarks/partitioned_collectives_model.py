"""A model of partitioned broadcasts and allreduces on many processes, which this machine cannot run.

Usage: python benchmarks/partitioned_collectives_model.py [SIZE_MIB] [PROCESSES...]

Each process sends one message at a time: 2 µs, and 12.5 GB/s; links are not shared. 16 partitions are ready
one after another, on all processes at the same times, over a span of the time that the collective takes when
all are ready at once. `at once` is that time, `all` the time of a collective that starts after the last
partition, `each` the time when each message leaves as soon as it is ready; gain = all / each. There are as
many messages as the library makes by default.
"""

from __future__ import annotations

import heapq
import sys

LATENCY_S, BYTES_PER_S = 2e-6, 12.5e9
PARTITIONS = 16


def ready_times(messages: int, span_s: float) -> list[float]:
    """When each message is ready: the partitions at equal distances, each divided into messages."""
    return [span_s * (m * PARTITIONS // messages) / (PARTITIONS - 1) for m in range(messages)]


def default_message_bytes(processes: int, size_bytes: int) -> int:
    """The rule of native/partitioned/collective_layout.c."""
    return max(32768, size_bytes // max(128, processes))


def best_fanout(processes: int, messages: int) -> int:
    """The rule of native/partitioned/collective_layout.c."""

    def steps(fanout: int) -> int:
        depth, number = 0, processes - 1
        while number > 0:
            depth, number = depth + 1, (number - 1) // fanout
        return fanout * (messages - 1 + depth)

    return min(range(1, 9), key=steps)


def broadcast_s(processes: int, ready_s: list[float], message_s: float) -> float:
    fanout = best_fanout(processes, len(ready_s))
    free_s, end_s = [0.0] * processes, 0.0
    here = [(time_s, message, 0) for message, time_s in enumerate(ready_s)]
    while here:
        time_s, message, rank = heapq.heappop(here)
        end_s = max(end_s, time_s)
        for child in range(fanout * rank + 1, min(fanout * rank + fanout, processes - 1) + 1):
            free_s[rank] = max(free_s[rank], time_s) + message_s
            heapq.heappush(here, (free_s[rank] + LATENCY_S, message, child))
    return end_s


def allreduce_s(processes: int, ready_s: list[float], message_s: float) -> float:
    free_s, end_s = [0.0] * processes, 0.0
    here = [(time_s, message, 0) for message, time_s in enumerate(ready_s)]
    heapq.heapify(here)
    while here:
        time_s, message, hop = heapq.heappop(here)
        end_s = max(end_s, time_s)
        if hop == 2 * (processes - 1):
            continue
        rank = (message + hop) % processes
        free_s[rank] = max(free_s[rank], time_s) + message_s
        arrival_s = free_s[rank] + LATENCY_S
        heapq.heappush(
            here, (max(arrival_s, ready_s[message]) if hop < processes - 1 else arrival_s, message, hop + 1)
        )
    return end_s


def print_row(name: str, processes: int, size_bytes: int) -> None:
    messages = max(size_bytes // default_message_bytes(processes, size_bytes), PARTITIONS)
    message_s = size_bytes / messages / BYTES_PER_S
    simulate = broadcast_s if name == "bcast" else allreduce_s
    at_once_s = simulate(processes, [0.0] * messages, message_s)
    all_s = 2 * at_once_s
    each_s = simulate(processes, ready_times(messages, at_once_s), message_s)
    print(
        f"{name:<10} {processes:9} {at_once_s * 1e6:13.0f} {all_s * 1e6:10.0f} {each_s * 1e6:10.0f} "
        f"{all_s / each_s:6.2f}"
    )


def main(size_mib: str = "16", *processes: str) -> None:
    print("collective processes  at once (µs)   all (µs)  each (µs)   gain")
    for name in ("bcast", "allreduce"):
        for number in processes or ("64", "256", "1024"):
            print_row(name, int(number), int(size_mib) << 20)


if __name__ == "__main__":
    main(*sys.argv[1:])
