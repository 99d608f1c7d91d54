"""Simulated times of random calls depend neither on the number of messages nor on the origin of time.

Usage: python benchmarks/simulator_exactness.py [--draws 200] [--messages 1200000] [--seed N]

Each draw is an algorithm of the simulator on a machine of nodes at one switch, with or without overheads per
message: number of processes, message size, placement and arrivals are random. Two promises of
docs/explanation/simulation.md are checked:

- Several communicators that share no link call at the same time, up to the given number of messages in all:
  each exits as if it called alone, within a nanosecond.
- If all arrivals are later by the same time, up to an hour, all exits are, within the last digit of these
  times. The arrivals are such that adding this time to them is exact in double precision.

The exit status is 1 if a draw breaks a promise; the draw is printed, with the seed that repeats it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat import _simulator
from offbeat.model.platform.machine import Platform, loads
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.simulation.calls.call_exits import Job, run_job
from offbeat.simulation.calls.catalogue import SimulatedAlgorithm, catalogue

ACCURACY_S = 1e-9
GRID_S = 2.0**-40
"""Arrivals are whole multiples: sums with a delay of a whole multiple of 2**-12 s up to an hour are exact."""

PLATFORM = """nodes = {nodes}
cores = {cores}
reverse_share = {reverse_share}
[link]
bandwidth = "{bandwidth} Gbit/s"
latency = "1 us"
[inside]
bandwidth = "10 GB/s"
latency = "500 ns"
[messages]
eager_below = {eager_below}
send_overhead = "{overhead} ns"
receive_overhead = "{overhead} ns"
"""


class Draw(Struct, frozen=True, kw_only=True):
    """A call of ``p`` processes, ``ppn`` on a node, on ``copies`` communicators that share no node."""

    collective: str
    family: str
    algorithm: str
    p: int
    ppn: int
    bytes: int
    copies: int
    skew_s: float
    later_s: float
    bandwidth: int = 100
    reverse_share: float = 0.0
    eager_below: int = 0
    overhead: int = 0
    arrivals_seed: int = 0


KNOWN_DRAWS = [
    Draw(
        collective="alltoall",
        family="mpich",
        algorithm="scattered",
        p=64,
        ppn=32,
        bytes=1024,
        copies=60,
        skew_s=1e-3,
        later_s=0.5,
        bandwidth=10,
        reverse_share=0.05,
    ),
]
"""Draws that once broke both promises, by 7 µs: changes of rates were joined in calls of more than 200,000
messages, and messages that began within a nanosecond."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--messages", type=int, default=1_200_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    words = parser.parse_args()
    print(f"seed {words.seed}")
    broken, most, checked = 0, 0, 0
    for draw in [*KNOWN_DRAWS, *draws(words.draws, words.messages, random.Random(words.seed))]:
        messages, sentences = check(draw)
        checked += messages > 0
        most = max(most, messages)
        for sentence in sentences:
            broken += 1
            print(f"{sentence}: {draw}")
    print(f"{checked} calls, up to {most:,} messages: {broken} broken promises")
    sys.exit(broken > 0)


def draws(count: int, messages: int, chance: random.Random) -> Iterator[Draw]:
    """Random calls; the number of copies is such that all send about ``messages``, or fewer."""
    known = [algorithm for by_name in catalogue().values() for algorithm in by_name.values()]
    for _ in range(count):
        algorithm = chance.choice(known)
        p = chance.randint(2, 64)
        draw = Draw(
            collective=algorithm.collective,
            family=algorithm.family,
            algorithm=algorithm.name,
            p=p,
            ppn=chance.randint(1, p),
            bytes=chance.choice([8, 64, 1024, 65536]),
            copies=1,
            skew_s=chance.choice([0.0, 1e-5, chance.uniform(0, 1e-3)]),
            later_s=chance.choice([chance.randrange(2**12) * 2.0**-12, 1.0, 3600.0]),
            bandwidth=chance.choice([1, 10, 100]),
            reverse_share=chance.choice([0.0, 0.05]),
            eager_below=chance.choice([0, 4096]),
            overhead=chance.choice([0, 0, 300]),
            arrivals_seed=chance.randrange(2**31),
        )
        limit = int(messages ** chance.random())
        copies = min(limit // max(1, _messages(draw, algorithm)), 400)
        yield structs.replace(draw, copies=max(1, copies))


def _messages(draw: Draw, algorithm: SimulatedAlgorithm) -> int:
    """About how many messages a call sends; 0 if the algorithm refuses it."""
    refusal, messages = _simulator.preview(
        *algorithm.identity, draw.p, 0, draw.bytes, 1, _nodes(draw, 1).tolist(), communicators=1, stride=1
    )
    return 0 if refusal else messages


def _nodes(draw: Draw, copies: int) -> NDArray[np.int32]:
    """The nodes of all ranks; no two communicators share one."""
    nodes_of_copy = -(-draw.p // draw.ppn)
    ranks = np.arange(draw.p, dtype=np.int32) // draw.ppn
    return np.concatenate([ranks + copy * nodes_of_copy for copy in range(copies)]).astype(np.int32)


def check(draw: Draw) -> tuple[int, list[str]]:
    """The number of messages, and a sentence for each broken promise; 0 messages if the call is refused."""
    chance = np.random.default_rng(draw.arrivals_seed)
    arrivals = np.round(chance.uniform(0, draw.skew_s, (1, draw.copies * draw.p)) / GRID_S) * GRID_S
    try:
        together, messages = simulated(draw, arrivals, draw.copies)
    except ValueError:  # the algorithm refuses the call
        return 0, []
    sentences = []
    for copy in range(draw.copies):
        ranks = slice(copy * draw.p, (copy + 1) * draw.p)
        alone, _ = simulated(draw, arrivals[:, ranks], 1)
        if (worst := float(np.abs(together[:, ranks] - alone).max())) > ACCURACY_S:
            sentences.append(f"communicator {copy} exits differently alone, by {worst:.2g} s")
            break
    later, _ = simulated(draw, arrivals + draw.later_s, draw.copies)
    expected = together + draw.later_s
    if (worst := float(np.abs(later - expected).max())) > 2 * np.spacing(expected.max()):
        sentences.append(f"later arrivals change the call by {worst:.2g} s")
    return messages, sentences


def simulated(draw: Draw, arrivals_s: NDArray[np.float64], copies: int) -> tuple[NDArray[np.float64], int]:
    """The exits of all ranks, and the number of messages. ValueError if the algorithm refuses the call."""
    nodes = _nodes(draw, copies)
    machine = platform(draw, int(nodes.max()) + 1)
    done = run_job(
        Job(
            platform=machine.file,
            node_of_rank=nodes,
            collective=draw.collective,
            family=draw.family,
            algorithm=draw.algorithm,
            root=0,
            bytes=draw.bytes,
            element_bytes=1,
            arrivals_s=arrivals_s,
            layout=CommunicatorLayout(p=draw.p, communicators=copies),
        )
    )
    return done.exits_s, done.messages


def platform(draw: Draw, nodes: int) -> Platform:
    """The machine of a draw."""
    values = structs.asdict(draw) | {"nodes": nodes, "cores": draw.ppn}
    return loads(PLATFORM.format(**values), "drawn.toml")


if __name__ == "__main__":
    main()
