"""The overhead of tracing a call: MPI_Allreduce of 8 bytes between two ranks, with the tracer and without.

Usage: python benchmarks/trace_overhead.py [MPI] [BATCHES] [CALLS] [messages|sites]

With ``messages``, point-to-point calls instead: a message of 8 bytes there and one back (MPI_Send and
MPI_Recv) between two ranks; and on one process alone a table of kinds of calls, which alternate in one run.
Its figures are per record: a blocking call has one, a message that is sent or received by a request has two
(its issue and its completion). The table compares each kind with the collective that has the same calls: one
call, or a call and its wait. A batch of each kind has CALLS records, so that all kinds meet the growth of the
file as often; the medians are without it in three of four batches. With ``sites``, the allreduces are called
from 64 functions in turn: then each call has another call path than the ones before it, and a record should
cost about the same.

Batches of CALLS calls (default 1000) that the tracer records alternate in one run with batches that it does
not record (calls of the library's own function), BATCHES of each in all (default 400), so that both use the
same cores. Three kinds of runs alternate as well: with the tracer; with two readings of the time and nothing
else, which is the least that any tracer needs (the limit); and with neither, where the ratio must be 1,
otherwise the measurement is invalid. Printed is for each the median over batches of the ratio of the two
times, with its 95% interval from resampled batches. Between two ranks the ratio includes the overhead of
both.

Also printed are the nanoseconds per record, from calls on one process alone, and its bytes. The aim is a
median overhead within 0.03 of the limit, and at most 24 bytes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np

from offbeat.libraries.installations import build, find
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

SOURCE = Path(__file__).with_suffix(".c")
LIMIT = SOURCE.with_name("trace_overhead_limit.c")
ROUNDS = 4
CALLS_BEFORE = 200_000  # as in the program
RESAMPLES = 2000
KINDS = {  # name in the program -> what is printed, records
    "collective": ("MPI_Allreduce", 1),
    "nonblocking_collective": ("MPI_Iallreduce, MPI_Wait", 2),
    "blocking": ("MPI_Bsend, MPI_Recv", 2),
    "probe": ("MPI_Bsend, MPI_Probe, MPI_Recv", 3),
    "nonblocking": ("MPI_Irecv, MPI_Isend, 2 MPI_Wait", 4),
    "nonblocking_all": ("MPI_Irecv, MPI_Isend, MPI_Waitall", 4),
    "persistent": ("2 MPI_Start, 2 MPI_Wait", 4),
}

Pairs = dict[str, np.ndarray]
"""Name → (batches, 2): nanoseconds of a recorded call and of one that is not recorded."""


def compiled(installation: Installation, source: Path, output: Path, *options: str) -> Path:
    library = installation.library
    rpaths = [f"-Wl,-rpath,{place}" for place in (library.parent, library.resolve().parent)]
    arguments = ["cc", "-O2", *options, source, "-o", output, f"-I{installation.include}", library, *rpaths]
    subprocess.run([str(word) for word in arguments], check=True)
    return output


def run(installation: Installation, program: Path, assigned: list[str], arguments: list[str]) -> Pairs:
    launch = command(installation, ["/usr/bin/env", *assigned, str(program), *arguments], 2, steerable=False)
    done = subprocess.run(launch.argv, env=launch.environment, stdout=subprocess.PIPE, text=True, check=True)
    pairs_ns: dict[str, list[list[float]]] = {}
    for line in done.stdout.splitlines():
        name, *numbers = line.split()
        pairs_ns.setdefault(name, []).append([float(number) for number in numbers])
    return {name: np.array(pairs) for name, pairs in pairs_ns.items()}


def in_turns(
    installation: Installation,
    program: Path,
    trace: Path,
    preloads: dict[str, Path | None],
    arguments: list[str],
) -> dict[str, Pairs]:
    """The measured times with each preloaded library. Runs alternate, as each may get other cores."""
    runs: dict[str, list[Pairs]] = {name: [] for name in preloads}
    for name, preload in [*preloads.items()] * ROUNDS:
        rmtree(trace, ignore_errors=True)
        tracer = [f"OFFBEAT_TRACE_DIR={trace}", "OFFBEAT_TRACE_MESSAGES=1"]
        assigned = [f"LD_PRELOAD={preload}", *tracer] if preload else []
        runs[name].append(run(installation, program, assigned, arguments))
    return {
        name: {kind: np.concatenate([each[kind] for each in kinds]) for kind in kinds[0]}
        for name, kinds in runs.items()
    }


def median_with_interval(values: np.ndarray) -> str:
    """The median with its 95% interval."""
    drawn = np.random.default_rng(1).choice(values, (RESAMPLES, len(values)))
    low, high = np.percentile(np.median(drawn, axis=1), [2.5, 97.5])
    return f"{np.median(values):.3f} [{low:.3f}, {high:.3f}]"


def ratio(pairs: np.ndarray) -> str:
    """The median of the ratio of recorded to unrecorded calls, with its interval."""
    return median_with_interval(pairs[:, 0] / pairs[:, 1])


def added_ns(pairs: np.ndarray) -> np.ndarray:
    """What a record adds in each batch."""
    return pairs[:, 0] - pairs[:, 1]


def print_kinds(by_library: dict[str, Pairs]) -> None:
    """What a record of each kind of calls takes, and the ratios to a record of collectives."""
    traced = {kind: added_ns(by_library["tracer"][kind]) for kind in KINDS}
    print("nanoseconds per record (limit: two readings of the time alone)")
    print(f"{'calls':35}{'records':>8}{'MPI':>7}{'limit':>7}{'record':>8}{'mean':>7}")
    for kind, (calls, records) in KINDS.items():
        library_ns = np.median(by_library["nothing"][kind][:, 1])
        limit_ns = np.median(added_ns(by_library["limit"][kind]))
        print(f"{calls:35}{records:8}{library_ns:7.1f}{limit_ns:7.1f}", end="")
        print(f"{np.median(traced[kind]):8.1f}{np.mean(traced[kind]):7.1f}")
    for kind, other in [
        ("blocking", "collective"),
        ("nonblocking", "nonblocking_collective"),
        ("nonblocking", "blocking"),
        ("nonblocking", "collective"),
        ("nonblocking_all", "collective"),
        ("persistent", "collective"),
    ]:
        quotient = median_with_interval(traced[kind] / traced[other])
        print(f"{KINDS[kind][0]} / {KINDS[other][0]}: {quotient}")


def records_written(what: str, batches: int, calls: int) -> int:
    """Of rank 0, between two ranks and alone."""
    batches += CALLS_BEFORE // calls
    if what != "messages":
        return 2 * batches * calls
    return batches * (2 * calls + sum(calls // records * records for _, records in KINDS.values()))


def main(mpi: str = "auto", batches: str = "400", calls: str = "1000", what: str = "collectives") -> None:
    installation = find.choose(mpi)
    (tracer,) = build.build_native(installation).parents[1].glob("lib*/**/liboffbeat-trace.so")
    has_messages = what == "messages"
    in_a_round, words = int(batches) // ROUNDS, [str(int(batches) // ROUNDS), calls, what]
    with TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled(installation, SOURCE, folder / "trace_overhead")
        limit = compiled(installation, LIMIT, folder / "limit.so", "-shared", "-fPIC")
        preloads = {"nothing": None, "limit": limit, "tracer": tracer}  # the tracer last: its file is read
        by_library = in_turns(installation, program, folder / "trace", preloads, words)
        file_bytes = (folder / "trace" / "rank-000000.trace").stat().st_size
    records = records_written(what, in_a_round, int(calls))
    measured = "a message of 8 B and one back" if has_messages else "MPI_Allreduce of 8 B"
    print(f"{installation.version_text}, two ranks, {measured}")
    print(f"without the tracer: {np.median(by_library['nothing']['pair'][:, 1]):.0f} ns")
    print(f"with the tracer over without: {ratio(by_library['tracer']['pair'])}")
    print(f"the limit, two readings of the time and nothing else: {ratio(by_library['limit']['pair'])}")
    print(f"the same with neither, which should be 1: {ratio(by_library['nothing']['pair'])}")
    if has_messages:
        print_kinds(by_library)
    else:
        alone_ns = added_ns(by_library["tracer"]["alone"])
        mean = f"mean {np.mean(alone_ns):.0f}, as the file grows"
        print(f"a record takes {np.median(alone_ns):.0f} ns ({mean})")
    print(f"a record has {file_bytes / records:.2f} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
