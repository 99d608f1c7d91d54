"""How fast programs of many iterations are simulated: time, events per second and memory on one core.

Usage: ``python benchmarks/program_speed.py``. The program is the MPI-augmented STREAM triad on the platform
``fritz`` with a delayed rank in each memory domain in every fourth iteration, so that its ranks are out of
step. The targets are 10 s for 360 ranks × 10,000 iterations, and 60 s and 4 GiB for 10,000 × 1,000.
"""

from __future__ import annotations

import resource
import time

from offbeat.model.platform.machine import load as load_platform
from offbeat.programs.description.program_file import load, loads
from offbeat.programs.simulation.simulate import prepare

DELAYS = '\n[[noise]]\nphase = "triad"\ntime = "20 ms"\npick = "each_domain"\nevery = 4\n'

TARGETS = ((360, 10_000, 10.0), (10_000, 1_000, 60.0))
"""Ranks, iterations, seconds."""


def main() -> None:
    """Print a line for each size."""
    program, platform = loads(load("mst").text + DELAYS, "mst.toml"), load_platform("fritz")
    print(
        f"{'ranks':>8} {'iterations':>10} {'time':>8} {'of target':>9} {'million events/s':>16} {'memory':>9}"
    )
    for ranks, iterations, target_s in TARGETS:
        began = time.perf_counter()
        run = prepare(program.resized(ranks=ranks, iterations=iterations), platform).simulate()
        took_s = time.perf_counter() - began
        gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rate = run.events / took_s / 1e6
        share = took_s / target_s
        print(f"{ranks:8d} {iterations:10d} {took_s:6.1f} s {share:9.2f} {rate:16.2f} {gib:5.2f} GiB")


if __name__ == "__main__":
    main()
