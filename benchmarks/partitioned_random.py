"""Random partitioned transfers with checked data, on each MPI library that is found here.

Usage: python benchmarks/partitioned_random.py [TRANSFERS] [SEED] [MPI...]

Runs native/partitioned/random_test.c with two processes: random sizes, partitions, datatypes, orders, tags,
settings and threads at MPI_THREAD_MULTIPLE; the receiver compares every byte. TRANSFERS (default 1000000) of
each library are run in ten parts; part k has the seed SEED + k (default 1). Prints a line for each part, and
stops at the first wrong byte. A million transfers take 3 to 7 minutes a library. MPI: prefixes, or names that
'offbeat doctor' prints.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from native_program import NATIVE, compiled, output_of

from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation

PARTS = 10
ASSERT = ("testing/mpi_assert.c", "clock/source.c", "clock/virtual_clock.c")
SOURCES = [NATIVE / name for name in ("partitioned/random_test.c", *ASSERT)]


def check(installation: Installation, transfers: int, seed: int) -> None:
    """Run all parts. Raises CalledProcessError for a transfer with wrong data, and for a part that fails."""
    with TemporaryDirectory() as folder:
        program = compiled(installation, "liboffbeat-partitioned.a", Path(folder), SOURCES)
        for part in range(PARTS):
            count = transfers * (part + 1) // PARTS - transfers * part // PARTS
            began_s = time.monotonic()
            text = output_of(installation, program, 2, [count, seed + part])
            spent_s = time.monotonic() - began_s
            print(f"{installation.name}, {part + 1}/{PARTS}: {text.strip()} ({spent_s:.0f} s)", flush=True)


def main(transfers: str = "1000000", seed: str = "1", *names: str) -> None:
    installations = [find.choose(name) for name in names] or find.installations()
    for installation in installations:
        check(installation, int(transfers), int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
