"""Program files and platforms of tests."""

from __future__ import annotations

from offbeat.model.platform.machine import Platform
from offbeat.model.platform.machine import loads as load_platform
from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.simulation.simulate import Simulated, prepare

WORK = '[[phase]]\nkind = "work"\nname = "triad"\nmemory = "100 MB"\n'
RING = '[[phase]]\nkind = "exchange"\nname = "halo"\nneighbours = "ring"\nbytes = ["1 MB"]\n'

MACHINE = """
nodes = {nodes}
cores = 8
flop_rate = 1e10
[link]
bandwidth = "10 GB/s"
latency = "1 us"
[inside]
bandwidth = "5 GB/s"
latency = "1 us"
[messages]
header = "0 B"
eager_below = "16 KiB"
detached_below = "16 KiB"
"""

MEMORY = """
[memory]
domains = 2
bandwidth = "20 GB/s"
core_bandwidth = "8 GB/s"
"""


def platform(*, nodes: int = 4, memory: str = MEMORY) -> Platform:
    """A machine of 8 cores a node in two memory domains, with messages that take no factors."""
    return load_platform(MACHINE.format(nodes=nodes) + memory, "machine.toml")


def program(*phases: str, ranks: int = 8, iterations: int = 10, head: str = "") -> Program:
    """A program of phases (and noise) as TOML texts."""
    return loads(f"ranks = {ranks}\niterations = {iterations}\n{head}\n" + "\n".join(phases), "program.toml")


def simulated(one: Program, machine: Platform | None = None) -> Simulated:
    """The simulated run of a program."""
    return prepare(one, machine or platform()).simulate()
