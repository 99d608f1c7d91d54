"""The duration of a sync of the shared clock against the number of processes, in a network model.

Usage: python benchmarks/sync_time.py [LARGEST_P]

With the default method and HCA3 processes synchronise along a tree, with JK and SKaMPI each process
synchronises with rank 0 in turn. Messages take 1.5 µs plus a jitter of 0.2 µs; no MPI is used. Prints the
duration of a sync in the model for p = 4, 16, ... LARGEST_P (default 16,384), the time per round of the tree,
and how the duration grows with p: by a constant for each doubling, or twofold.
"""

from __future__ import annotations

import json
import subprocess
import sys
from math import ceil, log2
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

SOURCE = Path(__file__).with_suffix(".c")
NATIVE = SOURCE.parents[1] / "native"
PARTS = (
    "clock/exchange",
    "clock/history",
    "clock/model",
    "clock/pair_sync",
    "clock/sync_schedule",
    "clock/virtual_clock",
    "testing/network_model",
)
METHODS = ("constraints", "hca3", "jk", "skampi")
THERE_NS, BACK_NS, JITTER_NS = 1500, 1500, 200


def compiled(folder: Path) -> Path:
    program = folder / SOURCE.stem
    sources = [SOURCE, *(NATIVE / f"{part}.c" for part in PARTS)]
    subprocess.run(["cc", "-O2", *sources, "-o", program, f"-I{NATIVE}"], check=True)
    return program


def syncs(program: Path, method: str, sizes: list[int]) -> list[dict[str, int]]:
    arguments = [program, method, THERE_NS, BACK_NS, JITTER_NS, *sizes]
    done = subprocess.run([str(word) for word in arguments], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def describe(method: str, records: list[dict[str, int]]) -> None:
    print(method)
    for record in records:
        p, sync_us, rounds = record["p"], record["sync_ns"] / 1000, ceil(log2(record["p"]))
        error_us, bound_us = record["error_ns"] / 1000, record["bound_ns"] / 1000
        print(
            f"  p = {p:5}: {sync_us:11.1f} µs, {sync_us / rounds:9.1f} µs a round;"
            f" {record['exchanges']} ping-pongs; worst error {error_us:.3f} µs, bound {bound_us:.1f} µs"
        )
    sizes = np.array([record["p"] for record in records])
    taken_us = np.array([record["sync_ns"] for record in records]) / 1000
    slope_us, _ = np.polyfit(np.log2(sizes), taken_us, 1)
    fit = np.corrcoef(np.log2(sizes), taken_us)[0, 1] ** 2
    half = len(sizes) // 2
    power, _ = np.polyfit(np.log(sizes[half:]), np.log(taken_us[half:]), 1)
    print(
        f"  {slope_us:.1f} µs more for each doubling (r² = {fit:.3f} against log p);"
        f" from p = {sizes[half]} on it grows as p to the power of {power:.2f}"
    )


def main(largest: str = "16384") -> None:
    if not largest.isdecimal() or int(largest) < 64:
        sys.exit("LARGEST_P must be a whole number, at least 64")
    sizes = [size for size in (4**rounds for rounds in range(1, 11)) if size <= int(largest)]
    with TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        taken_ns = {}
        for method in METHODS:
            records = syncs(program, method, sizes)
            describe(method, records)
            taken_ns[method] = records[-1]["sync_ns"]
    for method in METHODS[1:]:
        ratio = taken_ns[method] / taken_ns[METHODS[0]]
        print(f"p = {sizes[-1]}: {method} takes {ratio:.1f} times as long as the default")


if __name__ == "__main__":
    main(*sys.argv[1:])
