"""Reads traces that were damaged at random: every damage must be noticed, or change nothing that is read.

Usage: python benchmarks/trace_damage.py [FILES] [PAGES] [SEED]

Draws lists of records and messages of several threads, writes them through the tracer's encoder (a C program
without MPI) and through that of simulated programs, some cut by a limit of bytes, some killed. Copies of
these files are damaged at random (flipped bits, overwritten bytes, zeroed, exchanged and copied pages,
truncation) and read, FILES times in all (default 1,000; some ten a second). Then each page of a file is
damaged in its own way, and the file is read, until PAGES damaged pages were read (default 100,000; some
thousands a second; ``page_damage.py``). Printed are how many damages were noticed, changed nothing, or were
silent, which must be 0. The tests use the same generators.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import drawn_traces as drawn
import numpy as np
from page_damage import DamagedPages

from offbeat.trace.files.rank_file import open_file

FILE_READS_A_TRACE = 200
PAGE_ROUNDS_A_TRACE = 400
MOST_THREADS = 256


def outcomes_of_files(rng: np.random.Generator, made: drawn.DrawnTrace) -> Iterator[Counter[str]]:
    """The outcomes of reading damaged copies of a trace."""
    content, file = made.path.read_bytes(), open_file(made.path)
    whole = drawn.rows_of(file)
    for _ in range(FILE_READS_A_TRACE):
        made.path.write_bytes(drawn.damaged(rng, content))
        yield Counter([drawn.outcome(made.path, whole, file.faults)])


def outcomes_of_pages(rng: np.random.Generator, made: drawn.DrawnTrace) -> Iterator[Counter[str]]:
    """The outcomes of reading a trace each of whose pages is damaged."""
    damaged = DamagedPages(made.path)
    for _ in range(PAGE_ROUNDS_A_TRACE):
        yield damaged.read(rng)


def main(files: str = "1000", pages: str = "100000", seed: str = "1") -> None:
    is_silent = False
    with TemporaryDirectory() as name:
        program = drawn.compiled_writer(Path(name))
        for what, reads, outcomes_of, threads in (
            ("files", int(files), outcomes_of_files, 4),
            ("pages", int(pages), outcomes_of_pages, MOST_THREADS),
        ):
            counts: Counter[str] = Counter()
            number = 0
            while counts.total() < reads and not counts["silent"]:
                rng = np.random.default_rng([int(seed), number])
                make = drawn.simulated if number % 4 == 3 else drawn.traced
                made = make(rng, program, Path(name), threads)
                for outcomes in outcomes_of(rng, made):
                    counts += outcomes
                    if counts.total() >= reads or counts["silent"]:
                        break
                number += 1
            if counts["silent"]:
                print(f"silent: {what}, trace {number - 1}", file=sys.stderr)
            print(f"{counts.total()} reads of damaged {what}, seed {seed}: {dict(counts)}", flush=True)
            is_silent |= counts["silent"] > 0
    sys.exit(1 if is_silent else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
