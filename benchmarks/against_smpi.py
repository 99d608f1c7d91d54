"""The simulator against SimGrid's SMPI: agreement and CPU time of each algorithm on the paper's cluster.

Usage: python benchmarks/against_smpi.py [--sample] [--p 64,96] [--collectives reduce,alltoall]
           [--algorithms bruck,pair] [--sizes 2,1024] [--budget SECONDS] [--keep FILE]

Both run the same calls under six patterns, with a skew of 1.5 times the mean runtime without delay. Printed
are, for each algorithm, the number of last delays that agree within 0.1% and within 1%, and the speedup in
CPU time; every configuration and pattern with different best algorithms; and every disagreement. If a result
depends on which rank arrives first, last digits decide: for disagreements, SMPI also runs with other
precisions of its clock and with latencies that differ in the seventh digit, and the spread of its results is
printed.

SMPI runs as fast as possible: all calls of a placement in one process, no data moved, no computation
simulated. Its CPU time is that of the calls alone, without start, warm-up and output. The simulator's CPU
time is that of evaluating a schedule under all patterns at once; the time to build it, once for all patterns,
is printed apart.

SMPI has a budget of CPU seconds for each algorithm of a collective at each p. An algorithm that needs more is
compared on fewer cases, which are drawn in the same order for all algorithms. A call that takes longer than
three times the budget plus a minute is abandoned. All this is printed.

--sample is the small set for continuous integration. --keep FILE stores SMPI's results and reuses them; their
CPU times are those of the first run. The exit status is 1 unless 95% of the cases agree within 0.1%, all
agree within 1% or within SMPI's own spread, and all best algorithms are the same but for ties.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from smpi_cases import Settings, compare
from smpi_tables import print_all, within_limits

SIZES = [2, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]
SAMPLE = Settings(
    ps=[64, 96],
    sizes=[2, 65536],
    collectives=["reduce", "allreduce", "alltoall"],
    algorithms=[],
    budget_s=0.15,
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
    arguments = parser.parse_args()
    settings = Settings(
        ps=[int(p) for p in arguments.p.split(",")],
        sizes=[int(p) for p in arguments.sizes.split(",")],
        collectives=arguments.collectives.split(","),
        algorithms=[name for name in arguments.algorithms.split(",") if name],
        budget_s=arguments.budget,
    )
    with tempfile.TemporaryDirectory() as scratch:
        comparisons = compare(SAMPLE if arguments.sample else settings, Path(scratch), arguments.keep)
    print_all(comparisons)
    sys.exit(0 if within_limits(comparisons) else 1)


if __name__ == "__main__":
    main()
