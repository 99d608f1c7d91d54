"""Programs that are run on this machine against their simulation: the ratio of the times of an iteration.

Usage: python benchmarks/program_run.py [MPI] [ROUNDS]

Calibrates a platform with as many ranks as there are cores, 8 at most. In each of ROUNDS rounds (default 7)
it measures the memory of the domain again and runs four programs: a memory-bound one with messages on a ring,
a compute-bound one, one with a collective in every 5th iteration, and the first one with delays. MPI is an
installation prefix or a name that 'offbeat doctor' prints.

Other programs on the machine lengthen iterations, and never shorten them. So a run is divided into blocks of
PERIOD iterations, which are alike, and for each place in a block the QUIET quantile over blocks counts, as in
calibration. The ratio of a round is that of the run to the simulation with what was calibrated in this round:
the median over rounds counts, and the aim is from 0.9 to 1.1. The smallest and the largest ratio show how
steady the machine was.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import structs

from offbeat.libraries.calibration.calibration import CalibrationSettings, calibrate, measure_here
from offbeat.libraries.calibration.driver_probe import DriverProbe, launch_driver
from offbeat.libraries.calibration.measured_times import Measurements
from offbeat.libraries.calibration.measurement_plan import QUIET, measure_memory
from offbeat.libraries.installations.find import choose
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import cores
from offbeat.model.platform.machine import Platform
from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.execution.run import RunSettings, prepare, run
from offbeat.programs.simulation.iterations import Iterations
from offbeat.programs.simulation.simulate import prepare as prepare_simulation

ITERATIONS = 600
PERIOD = 20
"""A multiple of every period below."""

MEMORY = '[[phase]]\nkind = "work"\nname = "triad"\nmemory = "40 MB"\n'
CORE = '[[phase]]\nkind = "work"\nname = "core"\nflops = 2e7\n'
RING = '[[phase]]\nkind = "exchange"\nname = "halo"\nneighbours = "ring"\nbytes = ["500 kB"]\n'
SMALL = '[[phase]]\nkind = "exchange"\nname = "halo"\nneighbours = "ring"\nbytes = ["1 kB"]\n'
SUM = """[[phase]]
kind = "collective"
collective = "allreduce"
algorithm = "recursive_doubling"
bytes = [800]
every = 5
"""
DELAYS = '[[noise]]\nphase = "triad"\ntime = "1 ms"\npick = "random"\nevery = 4\n'

PROGRAMS = {
    "memory-bound": MEMORY + RING,
    "compute-bound": CORE + SMALL,
    "collective": MEMORY + RING + SUM,
    "delayed": MEMORY + RING + DELAYS,
}


def iteration_s(taken: Iterations) -> float:
    """The mean over the places in a block, each without the blocks in which it was disturbed."""
    of_ranks_s = taken.iteration_s().mean(axis=1).reshape(-1, PERIOD)
    return float(np.quantile(of_ranks_s, QUIET, axis=0).mean())


def simulated_s(program: Program, platform: Platform) -> float:
    return iteration_s(prepare_simulation(program, platform).simulate())


def measured_s(program: Program, installation: Installation) -> float:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        taken, reason = run(prepare(program, installation, RunSettings(), place), place)
    if reason:
        sys.exit(reason)
    return iteration_s(taken)


def memory_again(installation: Installation, ranks: int, measured: Measurements) -> Measurements:
    with launch_driver(installation, 1, ranks, report=quiet) as (driver, machine):
        return structs.replace(measured, memory=measure_memory(DriverProbe(driver), machine, quiet))


def quiet(line: str) -> None:
    del line


def main(mpi: str = "auto", rounds: str = "7") -> None:
    installation = choose(mpi)
    ranks = min(cores.available().physical, 8)
    print(f"{installation.version_text}, {ranks} ranks, load {os.getloadavg()[0]:.1f}", flush=True)
    measured = measure_here(installation, CalibrationSettings(nodes=1, ppn=ranks), quiet)
    head = f"ranks = {ranks}\niterations = {ITERATIONS}\n"
    programs = {name: loads(head + text, f"{name}.toml") for name, text in PROGRAMS.items()}
    print(f"{'round':>5} {'b1':>5} {'B':>5} {'messages':>8} GB/s", *(f"{name:>22}" for name in programs))
    ratios: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(1, int(rounds) + 1):
        platform = calibrate(memory_again(installation, ranks, measured)).platform
        memory = platform.file.memory
        line = f"{number:5d} {memory.core_bandwidth / 1e9:5.1f} {memory.bandwidth / 1e9:5.1f}"
        line += f" {memory.message_bandwidth / 1e9:8.1f}     "
        for name, program in programs.items():
            model_s, run_s = simulated_s(program, platform), measured_s(program, installation)
            ratios[name].append(run_s / model_s)
            line += f" {run_s * 1e6:6.0f} / {model_s * 1e6:6.0f} = {run_s / model_s:4.2f}"
        print(line, flush=True)
    print("time of an iteration in a run / in the simulation: median (smallest to largest) over rounds")
    for name, found in ratios.items():
        print(f"{name:>14}: {np.median(found):.3f} ({min(found):.3f} to {max(found):.3f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
