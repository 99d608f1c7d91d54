"""Partitioned sends by liboffbeat-partitioned, plain messages, and the MPI library's own partitioned calls.

Usage: python benchmarks/partitioned_ratios.py [MPI] [REPETITIONS] [PROGRESS_THREAD]

Two processes; all approaches take turns in one run. `single` is one message after the last partition is
ready, `many` one message a partition (what MPIPCL does), `library` the MPI library's own MPI_Psend_init,
`offbeat` this library, `offbeat:K` with K messages. Times are from the start until all data arrived, less the
delay of the last partition. The 10th percentile over REPETITIONS (default 400) is compared, as other programs
only lengthen times; a table of medians shows an approach that is fast in some repetitions only. Prints each
ratio beside its target, and beside the same ratio of `library` and `many`.
A second run measures what depends on the thread level at MPI_THREAD_SERIALIZED, where this library needs no
atomic updates; the first run is at MPI_THREAD_MULTIPLE, where this library needs them if several threads mark
partitions of a message. PROGRESS_THREAD of the first run: true or false (default).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from native_program import NATIVE, compiled, output_of

from offbeat.mpi import find
from offbeat.mpi.installation import Installation

APPROACHES = ("approaches", "messages", "own", "windows")
SOURCES = [Path(__file__).with_suffix(".c"), *(NATIVE / f"approaches/{name}.c" for name in APPROACHES)]
KIB, MIB = 1 << 10, 1 << 20
COMPARED = ("single", "many", "offbeat", "library")
FIXED = tuple(f"offbeat:{messages}" for messages in (1, 2, 3, 4, 6, 8, 12, 16, 32))
"""Learning tries the powers of two among these."""

EARLY_BIRD = "≥ 3.6*"

Times = dict[tuple[str, int, int, int], float]
"""Approach, bytes, partitions, delay in ns → time in ns."""

Costs = dict[tuple[str, str], float]
"""Calls (``readies``, ``shared`` or ``parrived``), approach → time in ns."""


def run(installation: Installation, repetitions: str, level: str, progress_thread: str) -> str:
    with TemporaryDirectory() as folder:
        program = compiled(installation, "liboffbeat-partitioned.a", Path(folder), SOURCES)
        environment = {"OFFBEAT_PARTITIONED_PROGRESS_THREAD": progress_thread}
        return output_of(installation, program, 2, [repetitions, level], environment)


def read(printed: str, percentile: int = 10) -> tuple[Times, Costs]:
    times: Times = {}
    costs: Costs = {}
    for line in printed.splitlines():
        words = line.split()
        if words[0] == "cost":
            costs[words[1], words[2]] = float(np.median(np.array(words[3:], dtype=float)))
            continue
        numbers = [int(word) for word in words[1:]]
        times[words[0], numbers[0], numbers[1], numbers[2]] = float(np.percentile(numbers[3:], percentile))
    return times, costs


def size_text(size_bytes: int) -> str:
    return f"{size_bytes // MIB} MiB" if size_bytes >= MIB else f"{size_bytes // KIB} KiB"


def line(what: str, target: str, ratios: Mapping[str, float]) -> None:
    """One ratio of `offbeat` beside its target; `library` and `many` may have the same ratio."""
    others = (f"{ratios[name]:8.2f}" if name in ratios else f"{'–':>8}" for name in ("library", "many"))
    print(f"  {what:<50} {ratios['offbeat']:8.2f}  {target:<7} {' '.join(others)}")


def ratios_to_single(times: Times, case: tuple[int, int, int]) -> dict[str, float]:
    single = times["single", *case]
    return {key[0]: times[key] / single for key in times if key[1:] == case}


def gains_over_single(times: Times, case: tuple[int, int, int]) -> dict[str, float]:
    return {name: 1 / ratio for name, ratio in ratios_to_single(times, case).items()}


def print_table(times: Times, what: str) -> None:
    """Each approach against one message."""
    print(f"  {what}, relative to one message")
    cases = sorted({key[1:] for key in times if key[0] == "single"})
    approaches = dict.fromkeys(key[0] for key in times if "/" not in key[0])

    def row(head: str, cells: Iterable[str]) -> None:
        print(f"  {head:<15}" + "".join(f"{cell:>9}" for cell in cells))

    row("bytes", (size_text(size) for size, _, _ in cases))
    row("partitions", (str(partitions) for _, partitions, _ in cases))
    row("last one late", (f"{delay_ns // 1000} µs" for _, _, delay_ns in cases))
    row("single, unit", (f"{times['single', *case] / 1000:.1f} µs" for case in cases))
    for name in approaches:
        ratios = (
            f"{times[name, *c] / times['single', *c]:.2f}" if (name, *c) in times else "–" for c in cases
        )
        if name != "single":
            row(name, ratios)


def print_head(level: str) -> None:
    what = f"ratio (MPI_THREAD_{level.upper()})"
    print(f"  {what:<50} {'offbeat':>8}  {'target':<7} {'library':>8} {'many':>8}")


def print_first(times: Times, size: int) -> None:
    case = (size, 32, 0)
    ratios = {
        name: times[f"first/{name}", *case] / times[f"later/{name}", *case]
        for name in COMPARED
        if (f"first/{name}", *case) in times
    }
    line(f"first iteration / sixth, {size_text(size)} (single: {ratios['single']:.2f})", "≤ 1.5", ratios)


def print_calls(costs: Costs, calls: str, what: str, unit_ns: float, target: str, own: str) -> None:
    names = {"many": "many", "library": "library", own: "offbeat"}
    of_calls = {
        names[name]: cost_ns / unit_ns
        for (which, name), cost_ns in costs.items()
        if which == calls and name in names
    }
    line(f"{what} (median)", target, of_calls)


def print_small_targets(times: Times, costs: Costs) -> None:
    """Those that depend on the thread level."""
    line("1 KiB in 32 partitions / one message", "≤ 1.3", ratios_to_single(times, (KIB, 32, 0)))
    print_first(times, KIB)
    print_calls(costs, "readies", "32 readies, µs", 1000, "≤ 1.5", "offbeat:1")
    if any(calls == "shared" for calls, _ in costs):
        print_calls(costs, "shared", "32 readies, several threads mark, µs", 1000, "≤ 1.5", "offbeat:1")
    print_calls(costs, "parrived", "Parrived, ns", 1, "≤ 50", "offbeat:33")


def print_large_targets(times: Times) -> None:
    line("4 MiB in 32 partitions / one message", "≤ 1.15", ratios_to_single(times, (4 * MIB, 32, 0)))
    small = gains_over_single(times, (16 * KIB, 64, 30_000))
    small["offbeat"] = small["offbeat:1024"]
    line("gain, 16 KiB in 64 messages, last 30 µs late", "≥ many", small)
    for delay_ns in (400_000, 1_600_000):
        case = (4 * MIB, 4, delay_ns)
        gains = gains_over_single(times, case)
        lateness = delay_ns / (times["single", *case] / 4)
        line(f"gain, 4 MiB in 4, last {delay_ns // 1000} µs late (γβ={lateness:.1f})", EARLY_BIRD, gains)
    for size in (KIB, 32 * KIB, 256 * KIB, 4 * MIB):
        best = min(times[approach, size, 32, 0] for approach in FIXED)
        learned = times["offbeat:learned", size, 32, 0] / best
        line(f"learned / best fixed number, {size_text(size)}", "≤ 1.15", {"offbeat": learned})
    print_first(times, 256 * KIB)
    print(f"  {EARLY_BIRD}: where γβ ≥ 3; Intel MPI: ≥ 1.5")


def main(mpi: str = "auto", repetitions: str = "400", progress_thread: str = "false") -> None:
    installation = find.choose(mpi)
    printed = run(installation, repetitions, "multiple", progress_thread)
    times, costs = read(printed)
    serialized = read(run(installation, repetitions, "serialized", "false"))
    print(f"{installation.version_text}, progress thread: {progress_thread}")
    print_table(times, "10th percentiles")
    print_table(read(printed, percentile=50)[0], "medians")
    print_head("serialized")
    print_small_targets(*serialized)
    print_head("multiple")
    print_small_targets(times, costs)
    print_large_targets(times)


if __name__ == "__main__":
    main(*sys.argv[1:])
