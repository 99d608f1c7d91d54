"""The speed of evaluations without shared links: message-patterns per second and core.

Usage: python benchmarks/contention_free.py [--patterns 512] [--at-least 300e6]

Schedules on the paper's cluster, 32 ranks a node, under random patterns with a skew of 1.5 times the runtime
without delay. A message-pattern is one message under one pattern. Measured is the CPU time of the evaluation,
which includes the search for shared links; only algorithms without shared links in all patterns are rated.
The exit status is 1 if the rate of all of them together is below the limit.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from msgspec import Struct

from offbeat import _simulator
from offbeat.model.platform.machine import Platform, load

PPN = 32
SKEW_FACTOR = 1.5
SHORT_S = 0.2
"""Evaluations are repeated until they have taken this much CPU time."""

CALLS = [
    ("reduce", "binomial", 1024, 8),
    ("bcast", "ompi_pipeline", 1024, 8),
    ("gather", "ompi_binomial", 1024, 8),
    ("reduce", "flat_tree", 1024, 8),
    ("reduce", "ompi_pipeline", 32, 65536),
    ("allreduce", "rdb", 32, 1024),
    ("allgather", "ring", 32, 1024),
    ("alltoall", "pair", 32, 1024),
]
"""Collective, algorithm of SimGrid, p, bytes. 1,024 ranks use all nodes, 32 are on one."""


class Rate(Struct, frozen=True, kw_only=True):
    """``shared`` is the fraction of patterns with shared links."""

    messages: int
    cpu_s: float
    patterns: int
    shared: float

    @property
    def rate(self) -> float:
        """Message-patterns per second."""
        return self.messages * self.patterns / self.cpu_s


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patterns", type=int, default=512)
    parser.add_argument("--at-least", type=float, default=300e6)
    arguments = parser.parse_args()
    platform = load("paper")
    rated: list[Rate] = []
    print(f"{'algorithm':28}{'p':>6}{'messages':>10}{'us per pattern':>16}{'million message-patterns/s':>28}")
    for collective, name, p, size in CALLS:
        rate = measure(platform, collective, name, p, size, arguments.patterns)
        text = f"{rate.rate / 1e6:28.0f}" if rate.shared == 0 else f"{rate.shared:19.0%} share links"
        pattern_us = rate.cpu_s / rate.patterns * 1e6
        print(f"{collective + ' ' + name:28}{p:6}{rate.messages:10}{pattern_us:16.2f}{text}", flush=True)
        rated += [rate] if rate.shared == 0 else []
    if not rated:
        sys.exit("no algorithm without shared links")
    together = sum(each.messages for each in rated) / sum(each.cpu_s / each.patterns for each in rated)
    print(
        f"together: {together / 1e6:.0f} million message-patterns per second;"
        f" at least {arguments.at_least / 1e6:g}"
    )
    sys.exit(together < arguments.at_least)


def measure(platform: Platform, collective: str, name: str, p: int, size: int, patterns: int) -> Rate:
    """The CPU time of one evaluation of all patterns, including steps and routes."""
    nodes = platform.node_of_rank(p, nodes=max(1, p // PPN), ppn=min(p, PPN))
    network = platform.network(p, node_of_rank=nodes)
    schedule = _simulator.Schedule(collective, "simgrid", name, {}, p, 0, size, 1, nodes.tolist())
    together_s = _simulator.evaluate(schedule, network, np.zeros((1, p)), 1.0)[0].max()
    arrivals = np.random.default_rng(1).uniform(0, SKEW_FACTOR * together_s, (patterns, p))
    rounds, spent_s = 0, 0.0
    while spent_s < SHORT_S:
        start = time.process_time()
        _, engines = _simulator.evaluate(schedule, network, arrivals, 1.0)
        spent_s += time.process_time() - start
        rounds += 1
    return Rate(
        messages=schedule.messages,
        cpu_s=spent_s / rounds,
        patterns=patterns,
        shared=engines.count("fluid") / patterns,
    )


if __name__ == "__main__":
    main()
