"""The CPU time of commands from their start to their end, compared with the limits that they must keep.

Usage: python benchmarks/command_start.py [RUNS]

Each command runs RUNS times (default 7). Printed is the smallest user and system time, together with the
times of Python alone and of the packages for the command line alone in the same run. The study is as large as
the tutorial's: 378 cases of 40 repetitions on four processes; its delays are random, so that no MPI library
is needed. The exit status is 1 if a limit is exceeded.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.results.store import Store
from offbeat.model.study.case import Case

SIZES = (8, 1024, 65536)
PATTERNS = ("no_delay", "ascending", "descending", "first_delayed", "last_delayed", "random", "bell")
ALGORITHMS = ("default", "linear", "chain", "pipeline", "binary", "binomial")
COLLECTIVES = ("reduce", "allreduce", "alltoall")
REPETITIONS = 40
PROCESSES = 4
TEXT = 'name = "made"\n[[collective]]\nnames = ["reduce"]\nsizes = [8]\n[processes]\np = [4]\n'

SECONDS = {
    "--version": 0.3,
    "--help": 0.3,
    "status --help": 0.3,
    "select --help": 0.3,
    "run --help": 0.3,
    "trace summary --help": 0.3,
    "try --help": 0.3,
    "platform calibrate --help": 0.3,
    "status STUDY": 0.4,
    "select STUDY": 1.0,
}
"""Command → the CPU seconds that it may take."""


def made_study(folder: Path) -> Path:
    """A result directory as 'offbeat run' leaves it."""
    generator = np.random.default_rng(1)
    provenance = {"mpi": {"name": "openmpi-5.0.8", "family": "openmpi", "version": [5, 0, 8]}}
    with Store.create(folder, study_toml=TEXT, provenance=provenance) as store:
        cases = [
            _case(collective, size, pattern, algorithm)
            for collective in COLLECTIVES
            for size in SIZES
            for pattern in PATTERNS
            for algorithm in ALGORITHMS
        ]
        store.set_total(len(cases))
        for case in cases:
            delayed = case.pattern != "no_delay"
            facts = {
                "engine": "mpi",
                "library": "openmpi-5.0.8",
                "pattern_kind": "shape",
                "skew_s": 1e-4 if delayed else 0.0,
                "status": "measured",
                "proof": "proved",
            }
            store.append(case, facts, _samples(generator))
    return folder


def _case(collective: str, size: int, pattern: str, algorithm: str) -> Case:
    delayed = pattern != "no_delay"
    return Case(
        collective=collective,
        algorithm=algorithm,
        bytes=size,
        pattern=pattern,
        shape=pattern,
        skew_policy="mean" if delayed else "none",
        skew_factor=1.0 if delayed else 0.0,
        p=PROCESSES,
        nodes=0,
        ppn=0,
        op="" if collective == "alltoall" else "sum",
        datatype="byte" if collective == "alltoall" else "double",
    )


def _samples(generator: np.random.Generator) -> Samples:
    arrivals_s = generator.random((REPETITIONS, PROCESSES)) * 1e-4
    took_s = 1e-5 * (1 + generator.random((REPETITIONS, PROCESSES)))
    return Samples(
        arrivals_s=arrivals_s,
        exits_s=arrivals_s.max(axis=1, keepdims=True) + took_s,
        valid=np.ones(REPETITIONS, dtype=np.bool_),
        overshoot_s=2e-7,
        clock_bound_s=3e-7,
    )


def cpu_s(runs: int, *arguments: str) -> float:
    """The least user and system time of a Python command over some runs."""
    least = float("inf")
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = min(least, used)
    return least


def main(runs: str = "7") -> None:
    with TemporaryDirectory() as scratch:
        study = made_study(Path(scratch) / "study")
        print("CPU s  limit  command")
        for program in ("pass", "import typer, rich"):
            print(f"{cpu_s(int(runs), '-c', program):5.2f}      –  python -c '{program}'", flush=True)
        broken = []
        for command, limit_s in SECONDS.items():
            arguments = [str(study) if word == "STUDY" else word for word in command.split()]
            used_s = cpu_s(int(runs), "-m", "offbeat", *arguments)
            print(f"{used_s:5.2f}  {limit_s:5.2f}  offbeat {command}", flush=True)
            broken += [command] if used_s > limit_s else []
    if broken:
        sys.exit(f"more CPU than allowed: {', '.join(broken)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
