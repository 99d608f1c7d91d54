"""What a traced call costs: MPI_Allreduce of 8 bytes between two ranks, with the tracer and without.

Usage: python benchmarks/trace_overhead.py [MPI] [BATCHES] [CALLS]

Batches of CALLS calls (default 1000) that the tracer sees and that it doesn't (PMPI_Allreduce) take turns
in one run, BATCHES of each (default 400), so that both have the same cores. Prints the median of the ratios,
batch by batch, with the interval that holds it in 95 % of resampled batches; the same without the tracer,
which must be 1 or the measurement is worth nothing; the nanoseconds that a record takes, from calls on one
process alone; and the bytes of the file a record. Meant: 5 % at most in the median, and at most 64 bytes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from offbeat.mpi import build, find
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import command

SOURCE = Path(__file__).with_suffix(".c")
RESAMPLES = 2000


def compiled(installation: Installation, folder: Path) -> Path:
    program, library = folder / "trace_overhead", installation.library
    rpaths = [f"-Wl,-rpath,{place}" for place in (library.parent, library.resolve().parent)]
    words = ["cc", "-O2", SOURCE, "-o", program, f"-I{installation.include}", library, *rpaths]
    subprocess.run([str(word) for word in words], check=True)
    return program


def run(
    installation: Installation, program: Path, assigned: list[str], words: list[str]
) -> dict[str, np.ndarray]:
    """Name → (batches, 2): nanoseconds a call that is seen and one that is not."""
    launch = command(installation, ["/usr/bin/env", *assigned, str(program), *words], 2, steerable=False)
    done = subprocess.run(launch.argv, env=launch.environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, list[list[float]]] = {}
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        found.setdefault(name, []).append([float(number) for number in numbers])
    return {name: np.array(pairs) for name, pairs in found.items()}


def ratio(pairs: np.ndarray) -> str:
    """The median of seen over unseen, with its interval."""
    ratios = pairs[:, 0] / pairs[:, 1]
    drawn = np.random.default_rng(1).choice(ratios, (RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return f"{np.median(ratios):.3f} [{low:.3f}, {high:.3f}]"


def main(mpi: str = "auto", batches: str = "400", calls: str = "1000") -> None:
    installation = find.choose(mpi)
    (tracer,) = build.build_native(installation).parents[1].glob("lib*/**/liboffbeat-trace.so")
    with TemporaryDirectory() as name:
        program, trace = compiled(installation, Path(name)), Path(name) / "trace"
        assigned = [f"LD_PRELOAD={tracer}", f"OFFBEAT_TRACE_DIR={trace}"]
        bare = run(installation, program, [], [batches, calls])
        traced = run(installation, program, assigned, [batches, calls])
        file_bytes = (trace / "rank-000000.trace").stat().st_size
    records = 2 * (int(batches) + int(batches) // 10) * int(calls)
    alone_ns = traced["alone"][:, 0] - traced["alone"][:, 1]
    print(f"{installation.version_text}, two ranks, MPI_Allreduce of 8 B")
    print(f"without the tracer: {np.median(bare['pair'][:, 1]):.0f} ns (median of {batches} batches)")
    print(f"with the tracer over without: {ratio(traced['pair'])}")
    print(f"the same without a tracer, which should be 1: {ratio(bare['pair'])}")
    print(
        f"a record takes {np.median(alone_ns):.0f} ns (mean {np.mean(alone_ns):.0f}, as the file grows)"
        f" and {file_bytes / records:.2f} bytes ({records} of them a rank)"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
