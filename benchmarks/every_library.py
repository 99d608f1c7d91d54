"""All steps on every MPI library of this machine: study, selection, tuning file, verification.

Usage: python benchmarks/every_library.py [MPI ...]

Runs the study of three collectives on four processes with all algorithms, on each named installation
(default: all that 'offbeat doctor' finds), writes its tuning file, and prints how many (algorithm, size)
pairs were proved, duplicates, wrong, refused or quarantined, and in how many configurations the library
obeyed its file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from studies import lines, offbeat, verdict_counts, write_study

STATUSES = ("proved", "duplicate", "fell_back", "unproved", "wrong", "refused", "quarantined")


def one_library(mpi: str, scratch: Path) -> None:
    study = write_study(scratch)
    results = scratch / "results"
    _, seconds = offbeat("run", study, "--mpi", mpi, "--output", results)
    offbeat("select", results)
    offbeat("export", results)
    output, _ = offbeat("verify", results, check=False)
    counts = verdict_counts(results)
    cases = lines(results, "cases.jsonl")
    complete = sum(case["status"] == "measured" for case in cases)
    print(f"{mpi}: {complete} of {len(cases)} cases measured in {seconds:.0f} s")
    print("  verdicts: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status]))
    commutative = sum(bool(verdict["commutative_only"]) for verdict in lines(results, "verdicts.jsonl"))
    print(f"  wrong with a non-commutative operation alone: {commutative}")
    print(
        "  " + next((line for line in output.splitlines() if " obeys in " in line), output.strip()),
        flush=True,
    )


def main(*only: str) -> None:
    names = only or [
        installation["name"]
        for installation in json.loads(offbeat("doctor", "--json", "-")[0])["survey"]["installations"]
    ]
    for name in names:
        with TemporaryDirectory() as scratch:
            one_library(name, Path(scratch))


if __name__ == "__main__":
    main(*sys.argv[1:])
