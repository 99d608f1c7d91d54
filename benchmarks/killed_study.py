"""A study that is killed at random moments and resumed each time, compared with an uninterrupted one: both
have the same cases, and no case is measured twice.

Usage: python benchmarks/killed_study.py [MPI] [KILLS] [SEED]

Kills 'offbeat run' with SIGKILL at KILLS random moments (default 10), lets it finish, and compares.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from studies import THREE_COLLECTIVES_AT_LENGTH, lines, offbeat, write_study


def case_ids(results: Path) -> Counter[str]:
    return Counter(str(case["case"]) for case in lines(results, "cases.jsonl"))


def main(mpi: str = "auto", kills: str = "10", seed: str = "1") -> None:
    draw = random.Random(int(seed))
    with TemporaryDirectory() as scratch:
        study = write_study(Path(scratch), THREE_COLLECTIVES_AT_LENGTH)
        alone, killed = Path(scratch) / "alone", Path(scratch) / "killed"
        _, whole_s = offbeat("run", study, "--mpi", mpi, "--output", alone)
        for number in range(int(kills)):
            moment_s = draw.uniform(0.2, whole_s / 3)
            arguments: list[str | Path] = [sys.executable, "-m", "offbeat", "run", study]
            arguments += ["--mpi", mpi, "--output", killed]
            process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(moment_s)
                how = "had ended by itself"
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                how = "killed"
            print(
                f"{number + 1}: {how} after {moment_s:.1f} s, {sum(case_ids(killed).values())} cases on disk",
                flush=True,
            )
        offbeat("run", study, "--mpi", mpi, "--output", killed)
        one, other = case_ids(alone), case_ids(killed)
        twice = sum(count > 1 for count in other.values())
        print(
            f"uninterrupted: {len(one)} cases; killed: {len(other)} cases, {twice} measured twice,"
            f" {len(one.keys() ^ other.keys())} different"
        )
        sys.exit(0 if one == other else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
