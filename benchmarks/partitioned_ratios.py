"""Partitioned sends by liboffbeat-partitioned, plain messages, and the MPI library's own partitioned calls.

Usage: python benchmarks/partitioned_ratios.py [MPI] [REPETITIONS] [PROGRESS_THREAD] [RUNS]

Two processes; all approaches take turns in one run. `single` is one message after the last partition is
ready, `many` one message a partition (what MPIPCL does), `library` the MPI library's own MPI_Psend_init,
`offbeat` this library, `offbeat:K` with K messages. Times are from the start until all data arrived, less the
delay of the last partition. The 10th percentile over REPETITIONS (default 300) is compared, as other programs
only lengthen times; of single calls and of the first iterations of new requests, the median. A table of
medians shows an approach that is fast in some repetitions only.

Each of RUNS (default 5) measures at MPI_THREAD_MULTIPLE, where this library needs atomic updates if several
threads mark partitions of a message. Approaches make one iteration in each turn; then they make two, and the
second is measured: the receiver's buffer was used just before (*warm*), while in the first case other buffers
were used in between (*cold*; at 4 MiB in 32 partitions, these buffers are larger than most caches). The
sender always has just filled its buffer. Then the run measures what depends on the thread level at
MPI_THREAD_SERIALIZED, where this library needs no atomic updates.

Each ratio is of times of the same run. Its median over the runs is printed beside its target, with the lowest
and the highest value: the place that a hypervisor gives to the cores changes ratios for seconds. The median
ratios of `library` and `many` are beside it. PROGRESS_THREAD at MPI_THREAD_MULTIPLE: true or false (default).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from native_program import NATIVE, compiled, output_of

from offbeat.base.progress_bar import ProgressBar
from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation

APPROACHES = ("list", "messages", "partitioned", "transfer", "windows")
SOURCES = [Path(__file__).with_suffix(".c"), *(NATIVE / f"approaches/{name}.c" for name in APPROACHES)]
KIB, MIB = 1 << 10, 1 << 20
COMPARED = ("single", "many", "offbeat", "library")
FIXED = tuple(f"offbeat:{messages}" for messages in (1, 2, 3, 4, 6, 8, 12, 16, 32))
"""Learning tries 1, 2, 4, 6, 12 and 32 of these."""

EARLY_BIRD = "≥ 3.6*"

PROGRAMS = {"cold": ("multiple", 1), "warm": ("multiple", 2), "serialized": ("serialized", 1)}
"""What is measured → the thread level, and the iterations of a turn."""

Times = Mapping[tuple[str, int, int, int], float]
"""Approach, bytes, partitions, delay in ns → time in ns."""


class Measured(NamedTuple):
    """What one program printed."""

    low: Times
    """10th percentiles."""

    median: Times

    costs: Mapping[tuple[str, str], float]
    """Calls (``readies``, ``shared`` or ``parrived``), approach → median time in ns."""


Ratios = Mapping[str, float]
"""Approach → ratio."""


class Row(NamedTuple):
    """A ratio with a target."""

    what: str
    target: str
    ratios: Callable[[Measured], Ratios]


def read(printed: str) -> Measured:
    low: dict[tuple[str, int, int, int], float] = {}
    median: dict[tuple[str, int, int, int], float] = {}
    costs: dict[tuple[str, str], float] = {}
    for line in printed.splitlines():
        words = line.split()
        if words[0] == "cost":
            costs[words[1], words[2]] = float(np.median(np.array(words[3:], dtype=float)))
            continue
        numbers = [int(word) for word in words[1:]]
        key = words[0], numbers[0], numbers[1], numbers[2]
        low[key], median[key] = np.percentile(numbers[3:], (10, 50)).tolist()
    return Measured(low, median, costs)


def measure(
    installation: Installation, repetitions: str, progress_thread: str, runs: int
) -> dict[str, list[Measured]]:
    """Key of PROGRAMS → what it printed in each run."""
    measured: dict[str, list[Measured]] = {name: [] for name in PROGRAMS}
    with TemporaryDirectory() as folder, ProgressBar("measuring") as bar:
        program = compiled(installation, "liboffbeat-partitioned.a", Path(folder), SOURCES)
        for number in range(runs):
            for name, (level, turn) in PROGRAMS.items():
                bar.update(detail=f"run {number + 1}, {name}", done_count=number, total=runs)
                thread = progress_thread if level == "multiple" else "false"
                environment = {"OFFBEAT_PARTITIONED_PROGRESS_THREAD": thread}
                printed = output_of(installation, program, 2, [repetitions, level, turn], environment)
                measured[name].append(read(printed))
            bar.print_periodically(f"{number + 1} of {runs} runs")
    return measured


def size_text(size_bytes: int) -> str:
    return f"{size_bytes // MIB} MiB" if size_bytes >= MIB else f"{size_bytes // KIB} KiB"


def ratios_to_single(times: Times, case: tuple[int, int, int]) -> dict[str, float]:
    single = times["single", *case]
    return {key[0]: times[key] / single for key in times if key[1:] == case}


# --- the table of all approaches ---


def print_table(runs: Sequence[Times], what: str) -> None:
    """Each approach against one message."""
    print(f"  {what}, relative to one message")
    times = runs[0]
    cases = sorted({key[1:] for key in times if key[0] == "single"})
    approaches = dict.fromkeys(key[0] for key in times if "/" not in key[0])

    def row(head: str, cells: Iterable[str]) -> None:
        print(f"  {head:<15}" + "".join(f"{cell:>9}" for cell in cells))

    def ratio(name: str, case: tuple[int, int, int]) -> str:
        if (name, *case) not in times:
            return "–"
        return f"{np.median([one[name, *case] / one['single', *case] for one in runs]):.2f}"

    row("bytes", (size_text(size) for size, _, _ in cases))
    row("partitions", (str(partitions) for _, partitions, _ in cases))
    row("last one late", (f"{delay_ns // 1000} µs" for _, _, delay_ns in cases))
    singles = (np.median([one["single", *case] for one in runs]) for case in cases)
    row("single, unit", (f"{single / 1000:.1f} µs" for single in singles))
    for name in approaches:
        if name != "single":
            row(name, (ratio(name, case) for case in cases))


# --- ratios with targets ---


def to_single(what: str, target: str, size: int, partitions: int, delay_ns: int) -> Row:
    return Row(what, target, lambda of: ratios_to_single(of.low, (size, partitions, delay_ns)))


def gain(what: str, target: str, size: int, partitions: int, delay_ns: int, ours: str = "offbeat") -> Row:
    """Of the approach ``ours`` over a single message."""

    def ratios(of: Measured) -> Ratios:
        gains = {
            name: 1 / ratio for name, ratio in ratios_to_single(of.low, (size, partitions, delay_ns)).items()
        }
        return gains | {"offbeat": gains[ours]}

    return Row(what, target, ratios)


def learned(what: str, time_ns: Callable[[Measured, str], float]) -> Row:
    """The time of learned aggregation, by that of the best fixed number of messages."""

    def ratios(of: Measured) -> Ratios:
        return {"offbeat": time_ns(of, "offbeat:learned") / min(time_ns(of, approach) for approach in FIXED)}

    return Row(what, "≤ 1.15", ratios)


def learned_late(size: int) -> Row:
    """After the second round of trials."""
    what = f"learned / best number, {size_text(size)}"
    return learned(what, lambda of, approach: of.low[approach, size, 32, 0])


def learned_early(size: int) -> Row:
    """After the first round of trials: iterations 10 to 15 of new requests."""

    def time_ns(of: Measured, approach: str) -> float:
        return float(np.median([of.median[f"{n}/{approach}", size, 32, 0] for n in range(10, 16)]))

    return learned(f"learned after 10 iterations, {size_text(size)}", time_ns)


def first_iteration(size: int) -> Row:
    def ratios(of: Measured) -> Ratios:
        names = (name for name in COMPARED if (f"0/{name}", size, 32, 0) in of.median)
        return {
            name: of.median[f"0/{name}", size, 32, 0] / of.median[f"5/{name}", size, 32, 0] for name in names
        }

    return Row(f"first iteration / sixth, {size_text(size)}", "≤ 1.5", ratios)


def calls(what: str, target: str, which: str, unit_ns: float, ours: str) -> Row:
    names = {"many": "many", "library": "library", ours: "offbeat"}

    def costs(of: Measured) -> Ratios:
        return {
            names[name]: cost_ns / unit_ns
            for (kind, name), cost_ns in of.costs.items()
            if kind == which and name in names
        }

    return Row(what, target, costs)


SIZES = (KIB, 32 * KIB, 256 * KIB, 4 * MIB)
IN_TURNS = [
    to_single("1 KiB in 32 partitions / one message", "≤ 1.3", KIB, 32, 0),
    to_single("4 MiB in 32 partitions / one message", "≤ 1.15", 4 * MIB, 32, 0),
    gain("gain, 16 KiB in 64, last 30 µs late", "≥ many", 16 * KIB, 64, 30_000, "offbeat:1024"),
    gain("gain, 4 MiB in 4, last 400 µs late", EARLY_BIRD, 4 * MIB, 4, 400_000),
    gain("gain, 4 MiB in 4, last 1600 µs late", EARLY_BIRD, 4 * MIB, 4, 1_600_000),
    *(learned_late(size) for size in SIZES),
]
CALLS = [
    calls("32 readies, µs", "≤ 1.5", "readies", 1000, "offbeat:1"),
    calls("Parrived, ns", "≤ 50", "parrived", 1, "offbeat:33"),
]
SERIALIZED = [IN_TURNS[0], first_iteration(KIB), *CALLS]
NEW_REQUESTS = [
    *(first_iteration(size) for size in SIZES),
    *(learned_early(size) for size in SIZES),
    *CALLS,
    calls("32 readies after another thread's, µs", "≤ 1.5", "shared", 1000, "offbeat:1"),
]


def print_rows(what: str, rows: Sequence[Row], runs: Sequence[Measured]) -> None:
    """The median over the runs of each ratio, and the lowest and highest of `offbeat`."""
    print(f"  {what:<38}offbeat {'range':>12} target library  many")
    for row in rows:
        ratios = [row.ratios(of) for of in runs]
        low, median, high = np.percentile([one["offbeat"] for one in ratios], (0, 50, 100))
        library, many = (
            f"{np.median([one[name] for one in ratios]):.2f}" if name in ratios[0] else "–"
            for name in ("library", "many")
        )
        span = f"{low:.2f}-{high:.2f}"
        print(f"  {row.what:<38}{median:7.2f} {span:>12} {row.target:<6} {library:>7} {many:>5}")


def print_lateness(runs: Sequence[Measured], what: str) -> None:
    """The paper's γβ of the gains at 4 MiB: the delay over the time of a partition."""
    late = (
        np.median([4 * delay_ns / of.low["single", 4 * MIB, 4, delay_ns] for of in runs])
        for delay_ns in (400_000, 1_600_000)
    )
    print(f"    γβ, {what}: " + ", ".join(f"{one:.1f}" for one in late))


def main(
    mpi: str = "auto", repetitions: str = "300", progress_thread: str = "false", runs: str = "5"
) -> None:
    installation = find.choose(mpi)
    measured = measure(installation, repetitions, progress_thread, int(runs))
    in_turns = {"cold": measured["cold"], "warm": measured["warm"]}
    print(f"{installation.version_text}, progress thread: {progress_thread}, {runs} runs")
    for what, of_runs in in_turns.items():
        print_table([of.low for of in of_runs], f"10th percentiles, {what}")
        print_table([of.median for of in of_runs], f"medians, {what}")
    print_rows("MPI_THREAD_SERIALIZED, cold", SERIALIZED, measured["serialized"])
    print_rows("MPI_THREAD_MULTIPLE, new requests", NEW_REQUESTS, measured["cold"])
    for what, of_runs in in_turns.items():
        print_rows(f"MPI_THREAD_MULTIPLE, {what}", IN_TURNS, of_runs)
    print("  * where γβ, the delay over the time of a partition, is at least 3; Intel MPI: ≥ 1.5")
    for what, of_runs in in_turns.items():
        print_lateness(of_runs, what)


if __name__ == "__main__":
    main(*sys.argv[1:])
