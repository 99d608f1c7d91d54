"""Job scripts that run a study, or another command of offbeat, under Slurm or PBS."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.model.study.schema import SIMULATING, Study
from offbeat.model.study.study_file import LoadedStudy

STOP_BEFORE_LIMIT_MIN = 5
"""How many minutes before its time limit a job stops measuring."""

JOB_END = "OFFBEAT_JOB_END"
"""Environment variable: end of the job's time limit in whole seconds since 1970; PBS does not provide it."""

_TIME = re.compile(r"(?:(\d{1,3})-)?(\d{1,4}):([0-5]\d):([0-5]\d)")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:+,=&|*-]*")
_MEMORY = re.compile(r"[0-9]{1,9}[KMGT]")


class JobSize(Struct, frozen=True, kw_only=True):
    """The resources of a job; ``nodes`` and ``ppn`` are 0 if the scheduler places p processes freely."""

    p: int
    nodes: int
    ppn: int


class JobOptions(Struct, frozen=True, kw_only=True):
    """The user's options for the job: time limit in seconds, and names that are omitted if empty.

    ``memory`` is for each node, as Slurm and PBS write it (``16G``). ``setup`` are lines of the script that
    make MPI and offbeat available.
    """

    time_limit_s: int = 3600
    account: str = ""
    partition: str = ""
    qos: str = ""
    constraint: str = ""
    memory: str = ""
    nodes: int = 0
    ppn: int = 0
    setup: list[str] = []

    def __post_init__(self) -> None:
        """Raise :class:`BadInput` for names that would be several words of a directive."""
        for option, name in (
            ("--account", self.account),
            ("--partition (--queue)", self.partition),
            ("--qos", self.qos),
            ("--constraint", self.constraint),
        ):
            if name and not _WORD.fullmatch(name):
                raise BadInput(f"{option} {name!r}: this is not a name; write one word")
        if self.memory and not _MEMORY.fullmatch(self.memory):
            raise BadInput(f"--mem {self.memory!r}: write a number with K, M, G or T, such as 16G")


class Job(Struct, frozen=True, kw_only=True):
    """What a job runs: a command line for a shell, in a folder. ``purpose`` and ``resumed`` are comments."""

    name: str
    size: JobSize
    purpose: str
    folder: Path
    resumed: list[str]
    command: str


def job_size(study: Study, nodes: int = 0, ppn: int = 0) -> JobSize:
    """The resources for the largest placement of a study.

    ``nodes`` and ``ppn`` replace those of the study (0: those of the study). Raises :class:`BadInput` if the
    study does not fit.
    """
    for name, value in (("--nodes", nodes), ("--ppn", ppn)):
        if value < 0:
            raise BadInput(f"{name} {value}: it must be 1 or more")
    if study.engine in SIMULATING:
        return _simulating(study, nodes, ppn)
    if study.processes.p:
        return _freely_placed(max(study.processes.p), nodes, ppn)
    least = JobSize(p=0, nodes=max(study.processes.nodes), ppn=max(study.processes.ppn))
    for name, requested_count, least_count in (("nodes", nodes, least.nodes), ("ppn", ppn, least.ppn)):
        if requested_count and requested_count < least_count:
            remedy = f"give --{name} {least_count}, or measure less"
            raise BadInput(
                f"--{name} {requested_count}: the study goes up to {name} = {least_count}; {remedy}"
            )
    return JobSize(p=least.nodes * least.ppn, nodes=nodes or least.nodes, ppn=ppn or least.ppn)


def _simulating(study: Study, nodes: int, ppn: int) -> JobSize:
    """A simulating job: one task on all cores of its node, unless its executor takes several."""
    if nodes > 1 and study.simulator.executor == "local":
        raise BadInput(
            f"--nodes {nodes}: this study is simulated on the cores of one node; leave out --nodes, or set"
            " executor = 'mpi4py' in [simulator] to use several"
        )
    if nodes or ppn:
        return JobSize(p=(nodes or 1) * (ppn or 1), nodes=nodes or 1, ppn=ppn or 1)
    return JobSize(p=1, nodes=0, ppn=0)


def parse_time_limit(text: str, option: str = "--time") -> int:
    """The seconds of a time limit ``HH:MM:SS`` or ``D-HH:MM:SS``, above STOP_BEFORE_LIMIT_MIN.

    Raises :class:`BadInput`, which names the ``option``.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise BadInput(
            f"{option} {text!r}: this is not a time limit; write HH:MM:SS or D-HH:MM:SS, such as 01:00:00"
        )
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    limit_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if limit_s <= STOP_BEFORE_LIMIT_MIN * 60:
        because = f"a job stops {STOP_BEFORE_LIMIT_MIN} minutes before its limit and would measure nothing"
        raise BadInput(f"{option} {text}: {because}; give more time")
    return limit_s


def job_of(loaded: LoadedStudy, options: JobOptions) -> Job:
    """The job that runs a study. Raises :class:`BadInput` if the study does not fit into ``options``."""
    size = job_size(loaded.study, options.nodes, options.ppn)
    placement_text = f" ({size.nodes} nodes × {size.ppn})" if size.nodes else ""
    path = loaded.path.resolve()
    purpose = (
        f"Measures an offbeat study on up to {size.p} processes{placement_text}, with the nodes to itself."
    )
    if loaded.study.engine in SIMULATING:
        purpose = "Simulates an offbeat study on all cores of the job's node; no MPI process is launched."
    return Job(
        name=job_name(loaded.study.name),
        size=size,
        purpose=purpose,
        folder=path.parent,
        resumed=[
            f"Stops {STOP_BEFORE_LIMIT_MIN} minutes before the time limit;"
            " what was measured by then is kept, and the job ends with status 0.",
            "Submit this script again to resume: nothing is measured twice.",
        ],
        command=f"offbeat run {shlex.quote(path.name)} --stop-before-limit {STOP_BEFORE_LIMIT_MIN}"
        " --stopped-status 0",
    )


def job_of_command(arguments: Sequence[str], folder: Path, p: int, options: JobOptions) -> Job:
    """The job that runs a command of offbeat, whose launches have up to ``p`` processes."""
    size = _freely_placed(p, options.nodes, options.ppn)
    return Job(
        name=job_name(f"offbeat-{arguments[0]}"),
        size=size,
        purpose=f"Runs 'offbeat {arguments[0]}' on {p} processes, with the nodes to itself.",
        folder=folder,
        resumed=["Submit this script again to resume: nothing that is done is repeated."],
        command=f"offbeat {shlex.join(arguments)}",
    )


def slurm_script(job: Job, options: JobOptions) -> str:
    """The job script for ``sbatch``."""
    size = job.size
    tasks = (
        [f"--nodes={size.nodes}", f"--ntasks-per-node={size.ppn}"] if size.nodes else [f"--ntasks={size.p}"]
    )
    directives = [
        f"--job-name={job.name}",
        *tasks,
        "--exclusive",
        f"--time={_clock(options.time_limit_s)}",
        *_named("--account=", options.account),
        *_named("--partition=", options.partition),
        *_named("--qos=", options.qos),
        *_named("--constraint=", options.constraint),
        *_named("--mem=", options.memory),
        "--output=%x-%j.log",
    ]
    return _script([f"#SBATCH {line}" for line in directives], job, options, [])


def pbs_script(job: Job, options: JobOptions) -> str:
    """The job script for ``qsub`` of OpenPBS and PBS Professional."""
    size = job.size
    memory = f":mem={options.memory}b".lower() if options.memory else ""
    feature = f":{options.constraint}=True" if options.constraint else ""
    chunks, processes_per_chunk, placement = (
        (size.nodes, size.ppn, "scatter") if size.nodes else (size.p, 1, "free")
    )
    directives = [
        f"-N {job.name}",
        f"-l select={chunks}:ncpus={processes_per_chunk}:mpiprocs={processes_per_chunk}{memory}{feature}",
        f"-l place={placement}:excl",
        f"-l walltime={_clock(options.time_limit_s)}",
        *_named("-A ", options.account),
        *_named("-q ", options.partition),
        *_named("-l qos=", options.qos),
        "-j oe",
    ]
    end = [
        "# End of the time limit, which PBS does not provide: change the seconds together with walltime.",
        f"export {JOB_END}=$(($(date +%s) + {options.time_limit_s}))",
        "",
    ]
    return _script([f"#PBS {line}" for line in directives], job, options, end)


SCHEDULERS = {"slurm": slurm_script, "pbs": pbs_script}
"""Scheduler → the function that writes its job script."""


def job_name(name: str) -> str:
    """A name as schedulers allow it: at most 15 letters, digits, dots, dashes and underlines."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")
    return (name if name[:1].isalpha() else f"offbeat-{name}".rstrip("-"))[:15]


def job_end_s(environ: Mapping[str, str]) -> float | None:
    """The end of the job in seconds since 1970 if our script has set it; raises :class:`BadInput`."""
    text = environ.get(JOB_END, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        raise BadInput(
            f"{JOB_END}={text}: this should be when the job ends, in whole seconds since 1970, such as"
            f" {JOB_END}=$(($(date +%s) + 3600)) for one hour from now"
        )
    return float(text)


def _freely_placed(p: int, nodes: int, ppn: int) -> JobSize:
    if not nodes and not ppn:
        return JobSize(p=p, nodes=0, ppn=0)
    nodes, ppn = nodes or math.ceil(p / ppn), ppn or math.ceil(p / nodes)
    if nodes * ppn < p:
        remedy = f"give --nodes {math.ceil(p / ppn)}, or measure fewer processes"
        raise BadInput(
            f"{nodes} nodes × {ppn} hold {nodes * ppn} processes, but launches have up to {p}; {remedy}"
        )
    return JobSize(p=p, nodes=nodes, ppn=ppn)


_NO_SETUP = [
    "# Nothing is loaded automatically: add the commands that make MPI and offbeat available, such as",
    "#   module load openmpi",
    "#   source ~/offbeat/bin/activate",
]


def _script(directives: list[str], job: Job, options: JobOptions, before: list[str]) -> str:
    lines = [
        "#!/bin/bash",
        *directives,
        "",
        f"# {job.purpose}",
        *(options.setup or _NO_SETUP),
        "",
        "if ! command -v offbeat > /dev/null; then",
        "    echo 'offbeat is not on the PATH of this job: activate it in the job script' >&2",
        "    exit 2",
        "fi",
        "",
        *before,
        *(f"# {line}" for line in job.resumed),
        f"cd {shlex.quote(str(job.folder))} || exit 2",
        job.command,
    ]
    return "\n".join(lines) + "\n"


def _named(prefix: str, name: str) -> list[str]:
    """The directive for a name; none if the name is empty."""
    return [prefix + name] if name else []


def _clock(duration_s: int) -> str:
    """Seconds as ``HH:MM:SS``, with as many hours as it takes."""
    minutes, seconds = divmod(duration_s, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
