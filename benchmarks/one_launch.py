"""One launch for all algorithms compared with one launch for each algorithm: the ratio of the wall times of
the same study.

Usage: python benchmarks/one_launch.py [MPI] [REPEATS]

MPI is an installation prefix or a name that 'offbeat doctor' prints (default: auto). It should be Open MPI or
MPICH, which can switch algorithms at run time. Both kinds of study alternate, REPEATS times (default 3).
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from studies import lines, offbeat, write_study


def main(mpi: str = "auto", repeats: str = "3") -> None:
    times: dict[str, list[float]] = {"one launch": [], "one launch an algorithm": []}
    with TemporaryDirectory() as scratch:
        study = write_study(Path(scratch))
        offbeat("run", study, "--mpi", mpi, "--output", Path(scratch) / "warm-up")
        for number in range(int(repeats)):
            for way, options in (("one launch", []), ("one launch an algorithm", ["--isolate"])):
                output = Path(scratch) / f"{number}-{len(options)}"
                _, seconds = offbeat("run", study, "--mpi", mpi, "--output", output, *options)
                launches = len(list((output / "logs").glob("launch-*")))
                times[way].append(seconds)
                print(
                    f"{way}: {seconds:.1f} s, {launches} launches, {len(lines(output, 'cases.jsonl'))} cases",
                    flush=True,
                )
    one, many = (statistics.median(times[way]) for way in times)
    print(f"median {one:.1f} s against {many:.1f} s: one launch takes 1/{many / one:.1f} of the time")


if __name__ == "__main__":
    main(*sys.argv[1:])
