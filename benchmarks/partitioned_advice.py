"""How often the recommended way of sending a partitioned message is within 10% of the measured best way.

Usage: python benchmarks/partitioned_advice.py LIBRARY [FOLDER] [REPETITIONS] [TOLERANCE] [THREADS]

Measures, with the MPI installation LIBRARY, a study of 60 cells (4 sizes × 3 numbers of partitions × 5
delays) with one thread in each of the two processes. With THREADS = 2, it has 80 cells (4 sizes × 2 numbers
of partitions × 1 and 2 threads × 5 delays), and needs 4 cores: on fewer, spinning threads wait for a core,
and times vary by half of their value. The default is what the machine's cores allow. FOLDER (default: a
temporary one) holds the results; a study that is in it already is not measured again. The approaches are
single, many, offbeat, offbeat with 4 messages and with one message a partition, offbeat_learned and the
library's own calls. All are measured in turn in each block, so that changes of the machine affect all of
them. TOLERANCE (default 20 us) is the accepted lateness of threads. REPETITIONS (default 320) is the least
number for each case, in at least 64 blocks, which takes about 20 minutes. Times differ more between blocks
than inside them: with 16 blocks of as many repetitions, the way that was fastest in one half of the blocks
was within 10% of the fastest in the other half in 85% of the cells; with 64 blocks, in 97% (Open MPI 5.0, two
cores of a virtual machine).

Cross-validation: the cells are divided at random into five parts, and recommendations for each part come from
costs that were fitted to the other four alone, so that no cell is judged by itself. This is repeated with
four random divisions: shares are those over all of them, and the lowest and the highest of a single division
are printed, too. The same is done with two parts, so that recommendations rest on half of the cells. Prints
the share of cells in which the measured time of the recommended way is within 10% of the shortest measured
time:

- strict: of the measured times;
- distinguishable: as strict, but only over the cells in which the 95% intervals of the best and of the second
  best way do not overlap, and the share of these cells;
- within the noise: the recommended way's interval begins below 1.1 times the upper end of the best way's.

Each is printed for recommendations from results (model and correction by nearby cells) and from a platform
file (model alone, fitted to four of five parts), beside always sending in the same way. For both, a line says
how many of the measured gains of all ways over a single message are inside their predicted 95% intervals, and
another one gives the mean logarithm of the density that was predicted at the logarithm of a measured time
(the higher, the more probable the measured times). The length scales in
``offbeat.partitioned.recommendation`` were chosen by this mean and by the strict share.

The last two lines show what the noise allows. Both are strict shares by the times of one half of each case's
blocks: of the recommended way, and of the way that was fastest in the other half of the blocks. The latter is
what a user gets who measures, takes the fastest way, and measures again.

Other programs on the machine make the measurements useless: threads are preempted, and blocks take seconds
instead of milliseconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec.structs import replace
from studies import write_study

from offbeat.libraries.installations import find
from offbeat.measurement.engines.engine_choice import find_approaches
from offbeat.measurement.results.blocks import hodges_lehmann
from offbeat.measurement.results.read import read_study
from offbeat.model.pattern.shapes import delays
from offbeat.partitioned.cells import Cell, Measured, read_measured
from offbeat.partitioned.cost_fit import Z95, fit
from offbeat.partitioned.costs import SINGLE, Costs, approach_time_s, message_counts
from offbeat.partitioned.recommendation import Adviser, Message, Option, with_gain

WITHIN = 1.1
SEEDS = {5: (1, 2, 3, 4), 2: (1, 2)}
"""Parts of the cells → a random division into parts for each seed."""

STUDY = """
name = "messages"
[[partitioned]]
sizes = ["1 KiB", "16 KiB", "256 KiB", "4 MiB"]
{divisions}
approaches = {approaches}
[processes]
p = [2]
[patterns]
shapes = ["no_delay", "last_delayed", "ascending"]
[skew]
policy = "fixed"
times = ["30 us", "600 us"]
[repetitions]
blocks = 64
minimum = {repetitions}
maximum = {most}
time_cap = "300 ms"
hang_after = "20 s"
[start]
tolerance = "{tolerance}"
[mpi]
prefix = "{library}"
"""

DIVISIONS = {1: "partitions = [4, 16, 64]\nthreads = [1]", 2: "partitions = [4, 16]\nthreads = [1, 2]"}
"""The largest number of threads in a process → the divisions of messages that are measured."""

SETTINGS = (0, 4, 1024)
"""The numbers of messages that are set for offbeat's own library; 0: none."""

APPROACHES = [
    *("single", "many", "offbeat", "offbeat_learned", "library"),
    *(f"offbeat(messages={setting})" for setting in SETTINGS if setting),
]


def measure(library: str, folder: Path, repetitions: int, tolerance: str, threads: int) -> Path:
    """The result directory."""
    text = STUDY.format(
        divisions=DIVISIONS[threads],
        approaches=find_approaches(find.choose(library), APPROACHES),
        repetitions=repetitions,
        most=2 * repetitions,
        tolerance=tolerance,
        library=library,
    )
    results = folder / "results"
    study = write_study(folder / "study", text)
    command = [sys.executable, "-m", "offbeat", "run", str(study), "--output", str(results)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return results


def made_up() -> Measured:
    """Cells of a machine with costs like those of a node, whose approaches differ, with 3% noise."""
    generator = np.random.default_rng(1)
    costs = Costs(
        latency_s=8e-7,
        message_s=3e-7,
        partition_s=4e-8,
        contention=0.5,
        eager_below=8192,
        eager_bandwidth=4e9,
        rendezvous_latency_s=1.5e-6,
        rendezvous_message_s=6e-7,
        rendezvous_bandwidth=9e9,
        eager_progress=0.95,
        rendezvous_progress=0.9,
    )
    differing = {"single": 1.0, "many": 1.1, "offbeat": 0.9, "library": 1.3}
    cells = []
    for size, partitions, threads in product((2**10, 2**14, 2**18, 2**22), (4, 16), (1, 2)):
        for pattern, delay_s in product(("last_delayed", "ascending"), (0.0, 3e-5, 6e-4)):
            if pattern == "ascending" and not delay_s:
                continue
            ready_s = delays(pattern, partitions, delay_s) if delay_s else np.zeros(partitions)
            for name, factor in differing.items():
                own = replace(costs, latency_s=factor * costs.latency_s, message_s=factor * costs.message_s)
                for setting in SETTINGS if name == "offbeat" else (0,):
                    exact_s = approach_time_s(own, name, ready_s[None], size, threads, setting)[0]
                    time_s = float(exact_s * np.exp(0.03 * generator.normal()))
                    cells.append(
                        Cell(
                            approach=name,
                            total_bytes=size,
                            threads=threads,
                            pattern=f"{pattern} {delay_s}",
                            ready_s=ready_s,
                            time_s=time_s,
                            low_s=time_s * 0.94,
                            high_s=time_s * 1.06,
                            setting=setting,
                        )
                    )
    return Measured(cells=cells, noise_s=(0.0, 0.0), source="made-up", date="", nodes=1, cores=2)


def predicted(adviser: Adviser, cells: Sequence[Cell]) -> list[tuple[Option, Cell]]:
    """The option of each measured way of sending a message, and its cell."""
    first = cells[0]
    message = Message(total_bytes=first.total_bytes, threads=first.threads, ready_s=first.ready_s[None])
    per_thread = first.partitions // first.threads
    return [
        (adviser.option(message, cell.approach, cell.setting, per_thread), cell)
        for cell in cells
        if cell.approach in adviser.fits
    ]


def are_inside(options: Sequence[tuple[Option, Cell]]) -> list[bool]:
    """Whether the measured gain of each way over a single message is inside its predicted 95% interval."""
    single, alone = next(one for one in options if one[1].approach == SINGLE)
    gains = [(with_gain(option, single), alone.time_s / cell.time_s) for option, cell in options]
    return [one.gain_low <= gain <= one.gain_high for one, gain in gains if one.approach != SINGLE]


def log_densities(options: Sequence[tuple[Option, Cell]]) -> list[float]:
    """The logarithm of the predicted density at the logarithm of each way's measured time."""
    both = np.log([[(one.low_s, one.high_s) for one in pair] for pair in options])
    times = np.log([cell.time_s for _, cell in options])
    deviations = np.hypot.reduce(both[:, :, 1] - both[:, :, 0], axis=1) / (2 * Z95)
    distances = (times - both[:, 0].mean(axis=1)) / deviations
    densities: list[float] = (-(distances**2) / 2 - np.log(deviations * np.sqrt(2 * np.pi))).tolist()
    return densities


def messages_of(cell: Cell) -> int:
    """The largest number of messages of the cell's way."""
    return max(message_counts(cell.approach, cell.partitions, cell.total_bytes, cell.setting))


class Judged(NamedTuple):
    """The cell of a way, the cells of all ways for its message, which gains are in their intervals, and the
    logarithms of the predicted densities at the measured times."""

    chosen: Cell
    cells: list[Cell]
    are_inside: Sequence[bool] = ()
    log_densities: Sequence[float] = ()


def judged_by(adviser: Adviser, cells: list[Cell]) -> Judged:
    options = predicted(adviser, cells)
    fastest = min(options, key=lambda one: one[0].time_s)
    return Judged(fastest[1], cells, are_inside(options), log_densities(options))


def counts(judged: Judged) -> tuple[bool, bool, bool]:
    """Strictly within 10% of the best; whether the best is distinguishable; within the noise."""
    by_time = sorted(judged.cells, key=lambda cell: cell.time_s)
    best, chosen = by_time[0], judged.chosen
    is_distinct = best.high_s < by_time[1].low_s
    is_within = chosen.time_s <= WITHIN * best.time_s
    return is_within, is_distinct, is_within or chosen.low_s <= WITHIN * best.high_s


def mean_of(same: Sequence[Cell]) -> Cell:
    """The geometric mean of measurements of the same way."""
    logs, lows, highs = (
        np.log([getattr(cell, name) for cell in same]) for name in ("time_s", "low_s", "high_s")
    )
    half_width = np.hypot.reduce(highs - lows) / (2 * len(same))
    mean = logs.mean()
    low_s, time_s, high_s = np.exp([mean - half_width, mean, mean + half_width]).tolist()
    return replace(same[0], time_s=time_s, low_s=low_s, high_s=high_s)


def by_message(measured: Measured) -> list[list[Cell]]:
    """The cells of each message, one for each way: 4 partitions in 4 messages and in at most 1024 are the
    same way, measured twice."""
    messages: dict[tuple[object, ...], dict[tuple[str, int], list[Cell]]] = {}
    for cell in measured.cells:
        ways = messages.setdefault(cell.message, {})
        ways.setdefault((cell.approach, messages_of(cell)), []).append(cell)
    return [[mean_of(same) for same in ways.values()] for ways in messages.values()]


def judge(measured: Measured, parts: int) -> tuple[list[Judged], list[Judged]]:
    """Recommendations for every cell from the parts that it is not in, over all divisions: from results, and
    from a platform file."""
    messages = by_message(measured)
    from_results: list[Judged] = []
    from_platform: list[Judged] = []
    for seed in SEEDS[parts]:
        part_of = np.random.default_rng(seed).permutation(len(messages)) % parts
        divided = [[messages[place] for place in np.flatnonzero(part_of == part)] for part in range(parts)]
        for others in divided:
            own = [cell for part in divided if part is not others for cells in part for cell in cells]
            known = replace(measured, cells=own)
            fits = fit(known)
            for cells_known, judged in ((known, from_results), (None, from_platform)):
                adviser = Adviser(fits, cells_known, measured.noise_s, measured.source)
                judged += [judged_by(adviser, cells) for cells in others]
    return from_results, from_platform


def key_of(cell: Cell) -> tuple[object, ...]:
    return cell.approach, messages_of(cell), *cell.message


def half_times(measured: Measured, directory: Path) -> dict[tuple[object, ...], tuple[float, float]]:
    """Key of each way of sending a message → its times by blocks with even and by those with odd numbers."""
    delay = pl.col("last_delay_s").median()
    blocks = read_study(directory).repetitions.filter("valid").group_by("case", "block").agg(delay)
    by_case: dict[str, list[tuple[int, float]]] = {}
    for case, block, time_s in blocks.iter_rows():
        by_case.setdefault(case, []).append((block, time_s))
    halves: dict[tuple[object, ...], tuple[list[float], list[float]]] = {}
    for cell in measured.cells:
        times = halves.setdefault(key_of(cell), ([], []))
        for block, time_s in by_case[cell.case]:
            times[block % 2].append(time_s)
    return {
        key: (hodges_lehmann(even), hodges_lehmann(odd))
        for key, (even, odd) in halves.items()
        if even and odd
    }


def report_halves(judged: Sequence[Judged], times: dict[tuple[object, ...], tuple[float, float]]) -> None:
    """Print how often ways are within 10% of the best, if half of the blocks are the judge."""
    advised, measured = [], []
    for chosen, cells, *_ in judged:
        keys = [key_of(cell) for cell in cells if key_of(cell) in times]
        if key_of(chosen) not in keys:
            continue
        for half, other in ((0, 1), (1, 0)):
            limit_s = WITHIN * min(times[key][half] for key in keys)
            advised.append(times[key_of(chosen)][half] <= limit_s)
            measured.append(times[min(keys, key=lambda key: times[key][other])][half] <= limit_s)
    print(f"  {'recommended, by half of the blocks':<34} {100 * np.mean(advised):5.0f}%")
    print(f"  {'fastest in the other half':<34} {100 * np.mean(measured):5.0f}%")


def line(what: str, judged: Sequence[Judged]) -> str:
    strict, distinct, noise = np.array([counts(one) for one in judged], dtype=bool).T
    share = f"{100 * strict[distinct].mean():3.0f}% of {distinct.mean():.0%}" if distinct.any() else "none"
    return f"  {what:<34} {100 * strict.mean():5.0f}%   {share:>14}   {100 * noise.mean():5.0f}%"


def prediction_lines(judged: Sequence[Judged]) -> str:
    """How good the predicted times of all ways are."""
    share = np.mean([inside for one in judged for inside in one.are_inside])
    density = np.mean([density for one in judged for density in one.log_densities])
    return (
        f"  {'gains in their 95% intervals':<34} {100 * share:5.0f}%\n"
        f"  {'mean log density of times':<34} {density:6.2f}"
    )


def report(measured: Measured, directory: Path | None = None) -> None:
    """Print the shares, by source of the recommendation, and for single approaches."""
    messages = by_message(measured)
    print(f"{measured.source}, {len(messages)} cells, {len(measured.cells)} times")
    print(f"  {'within 10% of the best':<34} strict  distinguishable  within the noise")
    from_results, from_platform = judge(measured, 5)
    print(line("recommended, 4 of 5 parts known", from_results))
    by_division = np.reshape([counts(one)[0] for one in from_results], (len(SEEDS[5]), -1)).mean(axis=1)
    print(f"  {'in a single division':<34} {by_division.min():.0%} to {by_division.max():.0%}")
    print(prediction_lines(from_results))
    print(line("recommended, 1 of 2 parts known", judge(measured, 2)[0]))
    print(line("recommended from a platform file", from_platform))
    print(prediction_lines(from_platform))
    for approach, setting in sorted({(cell.approach, cell.setting) for cell in measured.cells}):
        always = [
            Judged(cell, cells)
            for cells in messages
            for cell in cells
            if cell.approach == approach and messages_of(cell) == messages_of(replace(cell, setting=setting))
        ]
        print(line(f"always {approach}{f', {setting} messages' if setting else ''}", always))
    if directory:
        report_halves(from_results, half_times(measured, directory))


def main(
    library: str, folder: str = "", repetitions: str = "320", tolerance: str = "20 us", threads: str = ""
) -> None:
    most_threads = int(threads or min(2, max(1, len(os.sched_getaffinity(0)) // 2)))
    with TemporaryDirectory() as scratch:
        if library == "made-up":
            report(made_up())
        else:
            directory = measure(library, Path(folder or scratch), int(repetitions), tolerance, most_threads)
            report(read_measured([directory]), directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
