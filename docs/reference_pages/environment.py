"""The page of environment variables; a test holds its table against the sources."""

from __future__ import annotations

from markdown import code, table

SOURCE = "docs/reference_pages/environment.py"

YOURS = {
    "OFFBEAT_MPI_PATH": "prefixes of MPI installations to look at beside those on PATH, separated by colons",
    "OFFBEAT_CACHE": "folder for the built native parts, which compute nodes must see; where it is not set,"
    " `~/.cache/offbeat` or `$XDG_CACHE_HOME/offbeat`",
    "OFFBEAT_READ_LIMIT": "the most that offbeat reads from one file, and the most memory that one table of"
    " results may take: `8 GB`; where it is not set, 1 MiB for study and platform files, 64 MiB for other"
    " text, 2 GiB for results, and 1 TiB for the trace of a rank",
    "OFFBEAT_CASE_LIMIT": "how many cases a study may have for each algorithm: 100000 where it is not set",
    "OFFBEAT_ALGORITHM_TIME": "how long one call of an algorithm that is written in Python may run: `10 s`"
    " where it is not set",
    "OFFBEAT_ALGORITHM_MEMORY": "how much memory such a call may take: `1 GiB` where it is not set",
    "OFFBEAT_JOB_END": "when the batch job ends, in seconds since 1970: `offbeat run` stops before it. What"
    " `offbeat script` writes sets it where the scheduler does not tell",
    "OFFBEAT_CLOCK_METHOD": "the method of the shared clock: `constraints` where it is not set;"
    " `hierarchical`, `offset`, `hca3`, `jk`, `skampi`",
    "OFFBEAT_CLOCK_SOURCE": "the local clock behind the shared one: `CLOCK_MONOTONIC` where it is not"
    " set; `CLOCK_MONOTONIC_RAW`, `MPI_Wtime`, and for tests `virtual:` with the text that `offbeat/clock.h`"
    " explains",
    "OFFBEAT_CLOCK_EXCHANGES": "maximum number of ping-pong exchanges of a process with its reference"
    " process in a sync; default: the method's own number",
    "OFFBEAT_HARMONIZE_TOLERANCE_NS": "how late a process may leave a harmonised start and still be on time,"
    " in nanoseconds; 1000 where it is not set",
    "OFFBEAT_HARMONIZE_BARRIERS": "for `liboffbeat-preload.so`: on which communicators MPI_Barrier becomes a"
    " harmonised start: `world` where it is not set; `all`, or patterns of their names, separated by commas",
    "OFFBEAT_TRACE_DIR": "for `liboffbeat-trace.so`, and set by `offbeat trace run`: the folder of the trace;"
    " `offbeat-trace` where it is not set",
    "OFFBEAT_TRACE_RANKS": "only these ranks of MPI_COMM_WORLD are traced: `0-3,8,16-`",
    "OFFBEAT_TRACE_EVERY": "only every so many-th call of a communicator is recorded",
    "OFFBEAT_TRACE_COLLECTIVES": "only these collectives are recorded, with all their variants:"
    " `allreduce,alltoall,constructors`",
    "OFFBEAT_TRACE_COMM_SIZES": "only calls on communicators of these sizes are recorded: `16-`",
    "OFFBEAT_TRACE_WINDOW": "only calls in these seconds since MPI_Init are recorded: `10-60`, `2.5-`",
    "OFFBEAT_TRACE_BYTES": "how large the file of a rank may become: `100 MB`",
    "OFFBEAT_TRACE_DEPTH": "so many callers tell call sites apart, 0 to 16; 4 where it is not set; 0: as 1,"
    " and the interpreter of a Python program is not asked for its frames",
    "OFFBEAT_TRACE_SYNC_LEVEL": "MPI_Pcontrol with this level, 3 or more, synchronises the clocks anew; it is"
    " then collective over MPI_COMM_WORLD",
}
"""What a user may set."""

OURS = {
    "OFFBEAT_YIELD": "for launched programs: 1 where more processes run than there are cores, so that a"
    " waiting process gives its core away; MPIX_Harmonize finds out by itself where it is not set",
    "OFFBEAT_ALGORITHM": "for launched programs: the collective and the algorithm that a launch is for",
    "OFFBEAT_LAUNCH": "for launched programs: the launch's mark, by which what it left behind is ended",
}
"""What offbeat sets for the programs that it launches, or reads in tests."""

OTHERS = {
    "PATH": "launchers (`mpirun`, `mpiexec`) on it are looked at",
    "LOADEDMODULES": "names the module that an MPI came from",
    "SLURM_*, PBS_*": "inside a job: its nodes, processes and time limit",
    "CC, CFLAGS, CPPFLAGS, LDFLAGS": "reach CMake when the native parts are built",
}
"""Variables of others that offbeat reads."""


def page() -> str:
    """The whole page."""
    parts = ["# Environment variables\n"]
    for title, variables in (("Yours", YOURS), ("Set by offbeat", OURS), ("Of others", OTHERS)):
        rows = [(", ".join(map(code, name.split(", "))), meaning) for name, meaning in variables.items()]
        parts += [f"## {title}\n", table(("variable", "meaning"), rows)]
    return "\n".join(parts)
