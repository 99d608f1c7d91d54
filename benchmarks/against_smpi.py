"""The simulator against SimGrid's SMPI: agreement and CPU time of each algorithm on the paper's cluster.

Usage: python benchmarks/against_smpi.py [--sample] [--p 64,96] [--collectives reduce,alltoall]
           [--algorithms bruck,pair] [--sizes 2,1024] [--budget SECONDS] [--keep FILE]

Both run the same calls under six patterns, with a skew of 1.5 times the mean runtime without delay. Printed
are, for each algorithm, how many last delays agree within 0.1% and within 1%, and how many times less CPU
time ours takes; every cell in which another algorithm is the best one; and every disagreement. Where it
depends on who comes first, last digits decide: so SMPI is then asked again with another precision of its
clock and latencies that differ in the seventh digit; how far its own answers are apart is printed beside.

SMPI is used at its best: all calls of a placement in one process, no data moved, no computation simulated.
Its CPU time is that of the calls alone, without starting, warming up and printing. Ours is that of
evaluating a schedule under all patterns at once; building it, once for all patterns, is told apart.

SMPI gets a budget of CPU seconds for each algorithm of a collective at each p. An algorithm that needs more
is compared on fewer cases; they are drawn in the same order for all algorithms. A call that is not over
after three times the budget and a minute is given up. All that is printed.

--sample is the small set for continuous integration. --keep FILE keeps SMPI's answers, and takes them from
there the next time; their CPU times were measured when they were new. The exit status is 1 where agreement
is less than promised: 95% of the cases within 0.1%, all within 1% where SMPI's own answers are not as far
apart, and the same best algorithm in all cells but ties.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from smpi_cases import Settings, compare
from smpi_tables import print_all, promises_kept

SIZES = [2, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]
SAMPLE = Settings(
    ps=[64, 96],
    sizes=[2, 1024, 65536],
    collectives=["reduce", "allreduce", "alltoall"],
    algorithms=[],
    budget_s=0.4,
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--p", default="64,96,256,1024")
    parser.add_argument("--collectives", default="reduce,allreduce,alltoall")
    parser.add_argument("--algorithms", default="")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--budget", type=float, default=600.0)
    parser.add_argument("--keep", type=Path)
    words = parser.parse_args()
    settings = Settings(
        ps=[int(word) for word in words.p.split(",")],
        sizes=[int(word) for word in words.sizes.split(",")],
        collectives=words.collectives.split(","),
        algorithms=[word for word in words.algorithms.split(",") if word],
        budget_s=words.budget,
    )
    with tempfile.TemporaryDirectory() as scratch:
        compared = compare(SAMPLE if words.sample else settings, Path(scratch), words.keep)
    print_all(compared)
    sys.exit(0 if promises_kept(compared) else 1)


if __name__ == "__main__":
    main()
