"""The page of environment variables; a test compares its tables with the sources."""

from __future__ import annotations

from markdown import code, table

SOURCE = "docs/reference_pages/environment.py"

YOURS = {
    "OFFBEAT_MPI_PATH": "prefixes of MPI installations to search in addition to `PATH`, separated by colons",
    "OFFBEAT_CACHE": "folder for the built native parts, which compute nodes must be able to read; default:"
    " `$XDG_CACHE_HOME/offbeat`, or `~/.cache/offbeat`",
    "OFFBEAT_SITE": "the knowledge base of `offbeat site`; default: `offbeat-site`",
    "OFFBEAT_READ_LIMIT": "limit on the size of a file that offbeat reads, and on the memory of a table of"
    " results: `8 GB`; default: 1 MiB for study and platform files, 64 MiB for other text, 2 GiB for results,"
    " and 1 TiB for the trace of a rank",
    "OFFBEAT_CASE_LIMIT": "limit on the number of cases of a study for each algorithm; default: 100000",
    "OFFBEAT_ALGORITHM_TIME": "time limit of one call of an algorithm that is written in Python; default:"
    " `10 s`",
    "OFFBEAT_ALGORITHM_MEMORY": "memory limit of such a call; default: `1 GiB`",
    "OFFBEAT_JOB_END": "end of the batch job, in seconds since 1970: `offbeat run` stops before it. Scripts"
    " from `offbeat script` set it if the scheduler does not provide it",
    "OFFBEAT_CLOCK_METHOD": "method of the shared clock: `constraints` (default), `hierarchical`, `offset`,"
    " `hca3`, `jk`, `skampi`",
    "OFFBEAT_CLOCK_SOURCE": "local clock behind the shared clock: `CLOCK_MONOTONIC` (default),"
    " `CLOCK_MONOTONIC_RAW`, `MPI_Wtime`; for tests, `virtual:` and parameters, which `offbeat/clock.h`"
    " explains",
    "OFFBEAT_CLOCK_EXCHANGES": "maximum number of ping-pong exchanges of a process with its reference"
    " process in a sync; default: the method's own number",
    "OFFBEAT_HARMONIZE_TOLERANCE_NS": "how late a process may leave a harmonised start and still be on time,"
    " in nanoseconds; default: 1000",
    "OFFBEAT_HARMONIZE_BARRIERS": "for `liboffbeat-preload.so`: the communicators on which MPI_Barrier is"
    " replaced by a harmonised start: `world` (default), `all`, or patterns of their names, separated by"
    " commas",
    "OFFBEAT_YIELD": "for programs with offbeat's libraries: 1 if a waiting process yields its core, 0 if it"
    " does not; unless it is set, MPIX_Harmonize yields if the node has more processes than cores, and a"
    " process that waits for a partitioned message polls for about 10 ms before it yields. offbeat sets it"
    " for the programs that it launches",
    "OFFBEAT_PARTITIONED_MESSAGES": "for programs with `offbeat/partitioned.h` or"
    " `liboffbeat-partitioned-preload.so`: number of messages of a partitioned send, or `learned`; default:"
    " by size",
    "OFFBEAT_PARTITIONED_MESSAGE_BYTES": "smallest size of such a message in bytes; default: 1048576, of a"
    " collective 32768 or more",
    "OFFBEAT_PARTITIONED_LANES": "number of communicators for these messages; default: 4",
    "OFFBEAT_PARTITIONED_PROGRESS_THREAD": "`true` or `false` (default): whether a thread of each process"
    " drives these messages",
    "OFFBEAT_TRACE_DIR": "for `liboffbeat-trace.so`, and set by `offbeat trace run`: folder of the trace;"
    " default: `offbeat-trace`, or no trace if `OFFBEAT_INJECT_CALL` is set",
    "OFFBEAT_TRACE_RANKS": "records only these ranks of MPI_COMM_WORLD: `0-3,8,16-`",
    "OFFBEAT_TRACE_MESSAGES": "1: also records point-to-point calls",
    "OFFBEAT_TRACE_EVERY": "N: records only every Nth collective of a communicator",
    "OFFBEAT_TRACE_COLLECTIVES": "records only these collectives, with all their variants:"
    " `allreduce,alltoall,constructors`",
    "OFFBEAT_TRACE_COMM_SIZES": "records only calls on communicators of these sizes: `16-`",
    "OFFBEAT_TRACE_WINDOW": "records only calls in these seconds since MPI_Init: `10-60`, `2.5-`",
    "OFFBEAT_TRACE_BYTES": "limit on the size of a rank's file: `100 MB`",
    "OFFBEAT_TRACE_DEPTH": "number of callers that distinguish call sites, 0 to 16; default: 4; 0: as 1, but"
    " without the frames of a Python program",
    "OFFBEAT_TRACE_SYNC_LEVEL": "MPI_Pcontrol with this level, 3 or more, synchronises the clocks again; the"
    " call is then collective over MPI_COMM_WORLD",
    "OFFBEAT_INJECT_CALL": "for `liboffbeat-trace.so`, and set by `offbeat async inject`: the MPI function"
    " whose calls are delayed; without it, nothing is delayed",
    "OFFBEAT_INJECT_NS": "time of a delay in nanoseconds; default: 0, which only counts calls",
    "OFFBEAT_INJECT_DISTRIBUTION": "`fixed` (default), or `exponential` with this time as the mean",
    "OFFBEAT_INJECT_WHEN": "`before` or `after` (default) the call",
    "OFFBEAT_INJECT_RANKS": "which ranks of MPI_COMM_WORLD are delayed: `all` (default), `random:2`,"
    " `each-domain`, or `0-3,8`",
    "OFFBEAT_INJECT_EVERY": "N: delays only calls whose number is a multiple of N; each rank counts its own"
    " calls from 1; default: 1",
    "OFFBEAT_INJECT_FIRST": "number of the first call that may be delayed; default: 1",
    "OFFBEAT_INJECT_LAST": "number of the last one; default: 0, the program's last",
    "OFFBEAT_INJECT_SEED": "seed of random ranks and times; default: 1",
    "OFFBEAT_INJECT_REPORT": "JSON file that rank 0 writes in MPI_Finalize: the calls of each function, and"
    " the calls, occasions and delays of each rank",
}
"""Variables for users."""

OURS = {
    "OFFBEAT_ALGORITHM": "for launched programs: the collective and the algorithm of the launch",
    "OFFBEAT_LAUNCH": "for launched programs: the id of the launch, by which offbeat finds and ends processes"
    " that it left behind",
}
"""Variables that offbeat sets for the programs that it launches, or reads in tests."""

OTHERS = {
    "PATH": "offbeat searches it for launchers (`mpirun`, `mpiexec`)",
    "LOADEDMODULES": "names the environment module of an MPI installation",
    "SLURM_*, PBS_*, LSB_*": "inside a job: its nodes, processes and time limit",
    "CC, CFLAGS, CPPFLAGS, LDFLAGS": "passed to CMake when the native parts are built",
}
"""Variables of other programs that offbeat reads."""


def page() -> str:
    """The whole page."""
    parts = ["# Environment variables\n"]
    for title, variables in (
        ("For users", YOURS),
        ("Set by offbeat", OURS),
        ("Of other programs", OTHERS),
    ):
        rows = [(", ".join(map(code, name.split(", "))), meaning) for name, meaning in variables.items()]
        parts += [f"## {title}\n", table(("variable", "meaning"), rows)]
    return "\n".join(parts)
