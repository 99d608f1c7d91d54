"""Reads traces that were damaged at random: every damage must be noticed, or change nothing that is read.

Usage: python benchmarks/trace_damage.py [READS] [SEED]

Draws lists of records and messages of several threads, writes them through the tracer's encoder (a C program
without MPI) and through that of simulated programs, some cut by a limit of bytes, some killed; then damages
copies at random (flipped bits, overwritten bytes, zeroed, exchanged and copied pages, truncation), and reads
them. Printed are the number of reads, how many damages were noticed, changed nothing, or were silent, which
must be 0.
The tests use the same generator, ``drawn_traces.py``.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import drawn_traces as drawn
import numpy as np

from offbeat.trace.rank_file import open_file

READS_A_TRACE = 200


def main(reads: str = "10000", seed: str = "1") -> None:
    counts: Counter[str] = Counter()
    with TemporaryDirectory() as name:
        folder = Path(name)
        program = drawn.compiled_writer(folder)
        while sum(counts.values()) < int(reads):
            number = sum(counts.values()) // READS_A_TRACE
            rng = np.random.default_rng([int(seed), number])
            made = drawn.simulated(rng, folder) if number % 4 == 3 else drawn.traced(rng, program, folder)
            content, file = made.path.read_bytes(), open_file(made.path)
            whole = drawn.rows_of(file)
            for _ in range(READS_A_TRACE):
                made.path.write_bytes(drawn.damaged(rng, content))
                counts[drawn.outcome(made.path, whole, file.faults)] += 1
            if counts["silent"]:
                print(f"silent: seed {seed}, trace {number}", file=sys.stderr)
                break
    print(f"{sum(counts.values())} reads of damaged traces, seed {seed}: {dict(counts)}")
    sys.exit(1 if counts["silent"] else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
