"""The study file as typed structures: every key with its meaning, unit and default.

The reference page and the JSON Schema are generated from here. Sizes are bytes, given as integers or as text
with a unit (``"64 KiB"``); times are seconds, given as numbers or as text with a unit (``"100 us"``). The
loader (:mod:`offbeat.model.study.study_file`) converts text to numbers before it creates these structures.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from offbeat.base.toml.quantities import PositiveSeconds, Seconds, Section, Size, choice
from offbeat.model.pattern import SHAPE_NAMES
from offbeat.model.study.skew_policy import CHOICES

INT32_MAX = 2**31 - 1
"""The largest count and the largest rank that the MPI calls of the driver can state."""

EXTENTS = {"byte": 1, "int": 4, "long": 8, "float": 4, "double": 8}
"""Element types and the bytes that one element takes."""

ARITHMETIC = ("sum", "prod", "max", "min")
"""Operations on numbers, for every element type; a byte is an unsigned number that wraps around."""

BITWISE = ("band", "bor", "bxor")
"""Operations on bits, for byte, int and long."""

OPS = ARITHMETIC + BITWISE
"""Every reduction operation of a study; all are commutative."""


Count = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
CollectiveName = Annotated[str, choice("collective")]
ShapeName = Annotated[str, choice("shape")]
Op = Annotated[str, choice("op")]
Datatype = Annotated[str, choice("datatype")]


class CollectiveSection(Section, frozen=True, kw_only=True):
    """One or several collectives, with their message sizes and algorithms."""

    names: Annotated[
        list[CollectiveName], Meta(min_length=1, description="collectives, by their MPI names in lower case")
    ]
    sizes: Annotated[
        list[Size], Meta(description="message sizes: bytes per process, as the MPI call states it")
    ] = field(default_factory=list)
    algorithms: Annotated[
        list[str],
        Meta(
            min_length=1,
            description="algorithms by name, or ['all']; 'offbeat doctor --algorithms' lists the names;"
            " with the engine sim also algorithms of yours, FILE.py:FUNCTION, relative to the study file",
        ),
    ] = field(default_factory=lambda: ["all"])
    op: Annotated[Op, Meta(description="reduction operation: sum, prod, max, min, band, bor, bxor")] = "sum"
    datatype: Annotated[Datatype, Meta(description="element type: byte, int, long, float or double")] = (
        "double"
    )
    root: Annotated[int, Meta(ge=0, le=INT32_MAX, description="root of rooted collectives")] = 0
    p: Annotated[
        list[Count],
        Meta(description="those numbers of processes of the study that they are measured with; empty: all"),
    ] = field(default_factory=list)
    files: Annotated[
        list[str], Meta(description="pattern files for these collectives only, with those of [patterns]")
    ] = field(default_factory=list)
    replays: Annotated[
        list[str], Meta(description="replay files for these collectives only, with those of [patterns]")
    ] = field(default_factory=list)
    skews: Annotated[
        list[PositiveSeconds],
        Meta(description="the largest delays of shapes for these collectives only, instead of [skew]"),
    ] = field(default_factory=list)
    communicators: Annotated[
        Count,
        Meta(
            description="number of communicators into which the processes are divided; all call the"
            " collective at the same time, each with the delays of the pattern"
        ),
    ] = 1
    stride: Annotated[
        Count,
        Meta(
            description="distance between the ranks of consecutive members of a communicator: 1 for the rows"
            " of a process grid, the length of a row for its columns"
        ),
    ] = 1


class PartitionedSection(Section, frozen=True, kw_only=True):
    """Messages in partitions, from one process to another. A study measures either these or collectives."""

    sizes: Annotated[list[Size], Meta(min_length=1, description="sizes of the whole message")]
    partitions: Annotated[
        list[Count], Meta(min_length=1, description="numbers of partitions, which divide the sizes")
    ]
    threads: Annotated[
        list[Count],
        Meta(
            min_length=1,
            description="threads of the sender that mark partitions as ready; combined with each number of"
            " partitions that is not smaller",
        ),
    ] = field(default_factory=lambda: [1])
    approaches: Annotated[
        list[str],
        Meta(
            min_length=1,
            description="how messages are sent: offbeat and offbeat_learned (offbeat's own library, with"
            " messages of 1 MiB or more, and with as many as it learns; settings in parentheses:"
            " 'offbeat(messages=32)', message_bytes, lanes, progress_thread), single (one message), many (one"
            " a partition), library (the library's MPI_Psend_init), offbeat_polled and library_polled (the"
            " receiver asks for each partition, by MPI_Parrived), rma_active_single, rma_active_many,"
            " rma_passive_single, rma_passive_many, rma_fence (MPI_Put), or ['all']",
        ),
    ] = field(default_factory=lambda: ["all"])


class ProcessesSection(Section, frozen=True, kw_only=True):
    """How many processes, and where. Either ``p``, or ``nodes`` and ``ppn``."""

    p: Annotated[list[Count], Meta(description="numbers of processes, placed by the launcher")] = field(
        default_factory=list
    )
    nodes: Annotated[list[Count], Meta(description="numbers of nodes; each is combined with each ppn")] = (
        field(default_factory=list)
    )
    ppn: Annotated[list[Count], Meta(description="processes per node")] = field(default_factory=list)


DEFAULT_SHAPES = tuple(
    name for name in SHAPE_NAMES if name not in ("half_delayed", "bell", "node_delayed", "noise")
)
"""The shapes that are measured when a study names none."""


class PatternsSection(Section, frozen=True, kw_only=True):
    """The arrival patterns."""

    shapes: Annotated[list[ShapeName], Meta(description="shapes of 'offbeat pattern make'")] = field(
        default_factory=lambda: list(DEFAULT_SHAPES)
    )
    files: Annotated[
        list[str],
        Meta(description="pattern files: one delay in seconds per line; relative to the study file"),
    ] = field(default_factory=list)
    replays: Annotated[
        list[str],
        Meta(
            description="replay files: one recorded call per line, measured call by call in this order;"
            " relative to the study file"
        ),
    ] = field(default_factory=list)
    scale_files: Annotated[
        bool, Meta(description="scale the files' delays to the skew policy instead of using them unchanged")
    ] = False
    seed: Annotated[Seed, Meta(description="seed of the shapes random and noise")] = 1


class SkewSection(Section, frozen=True, kw_only=True):
    """How large the largest delay of a pattern is."""

    policy: Annotated[
        str,
        choice("skew policy"),
        Meta(description="; ".join(f"{policy.key}: {policy.meaning}" for policy in CHOICES.values())),
    ] = "mean"
    factors: Annotated[
        list[Annotated[float, Meta(gt=0)]], Meta(description="for the policies mean, median, fastest and own")
    ] = field(default_factory=lambda: [1.5])
    times: Annotated[
        list[PositiveSeconds], Meta(description="for the policy fixed: the largest delays, in seconds")
    ] = field(default_factory=list)
    rates: Annotated[
        list[Annotated[float, Meta(gt=0)]],
        Meta(description="for the policy rate: delay rates in microseconds per megabyte of a partition"),
    ] = field(default_factory=list)


class RepetitionsSection(Section, frozen=True, kw_only=True):
    """How many repetitions and blocks a case has."""

    blocks: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="number of blocks of each case, each in another round and another launch;"
            " up to twice as many if its interval is wider than confidence_width. The variation"
            " between blocks determines the confidence of a choice; a single block cannot show it."
            " Raise it in a finished study to measure further blocks only",
        ),
    ] = 5
    confidence_width: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="stop when half the confidence interval of the delay is within this share of it;"
            " a smaller share adds blocks to the finished cases that exceed it",
        ),
    ] = 0.05
    confidence: Annotated[
        float,
        Meta(
            ge=0.5,
            le=0.999,
            description="confidence of the interval that confidence_width bounds; the intervals in the"
            " results are always those of 95%",
        ),
    ] = 0.95
    minimum: Annotated[
        Count,
        Meta(
            description="minimum of valid repetitions, over all blocks; a larger one adds blocks to the"
            " finished cases that have fewer. A replay goes through all of its calls in every block"
        ),
    ] = 10
    maximum: Annotated[
        Count,
        Meta(
            description="maximum of valid repetitions, over all blocks; for a replay, of each of its calls."
            " Blocks that are added to a finished study are measured beyond it"
        ),
    ] = 100
    time_cap: Annotated[
        Seconds,
        Meta(description="limit in seconds on all blocks of a case, once it has its minimum"),
    ] = 2.0
    hang_after: Annotated[
        PositiveSeconds,
        Meta(
            description="seconds without output of the driver after which a case is quarantined;"
            " for cases that are only slow, raise it and run with --retry"
        ),
    ] = 60.0

    @property
    def planned_blocks(self) -> int:
        """The minimum number of blocks of a case: ``blocks``, but not more than repetitions."""
        return min(self.blocks, self.maximum)


class MpiSection(Section, frozen=True, kw_only=True):
    """Which MPI library, and how it is launched."""

    prefix: Annotated[
        str, Meta(description="'auto', an installation prefix, or a name that 'offbeat doctor' prints")
    ] = "auto"
    launcher: Annotated[
        Literal["auto", "mpirun", "mpiexec", "srun"],
        Meta(description="the launch command: auto, mpirun, mpiexec or srun"),
    ] = "auto"
    hostfile: Annotated[str, Meta(description="passed to the launcher; relative to the study file")] = ""
    options: Annotated[list[str], Meta(description="further launcher options, one argument each")] = field(
        default_factory=list
    )
    environment: Annotated[dict[str, str], Meta(description="environment variables for the processes")] = (
        field(default_factory=dict)
    )
    isolate: Annotated[bool, Meta(description="a separate launch for each algorithm")] = False


FAMILIES = ("openmpi", "mpich", "simgrid")
"""The families of algorithms of the simulator."""

SIMULATING = ("sim", "smpi")
"""The engines that simulate; their results are exact after one repetition."""


Executor = Literal["local", "mpi4py", "dask"]


class SimulatorSection(Section, frozen=True, kw_only=True):
    """The machine that the engines sim and smpi simulate, and the family of algorithms."""

    platform: Annotated[
        str,
        Meta(
            description="a platform file, relative to the study file, or a name that 'offbeat platform list'"
            " prints"
        ),
    ] = "paper"
    family: Annotated[
        Literal["openmpi", "mpich", "simgrid"],
        Meta(description="family of algorithms and of their names: openmpi, mpich or simgrid"),
    ] = "openmpi"
    executor: Annotated[
        Executor,
        Meta(description="where sim computes: local (this machine's cores), mpi4py or dask"),
    ] = "local"


class StartSection(Section, frozen=True, kw_only=True):
    """The harmonised start."""

    tolerance: Annotated[
        PositiveSeconds | Literal["auto"],
        Meta(
            description="latest start of a process after its planned time, in seconds, for a repetition to be"
            " valid; the error bound of its clock is added to its lateness"
        ),
    ] = "auto"


class Study(Section, frozen=True, kw_only=True):
    """A whole study file."""

    collective: list[CollectiveSection] = field(default_factory=list)
    partitioned: list[PartitionedSection] = field(default_factory=list)
    processes: ProcessesSection
    name: Annotated[str, Meta(description="the name of the study in tables and the report")] = "study"
    engine: Annotated[
        Literal["mpi", "sim", "smpi"],
        Meta(
            description="mpi measures with the MPI library of this machine; sim simulates with offbeat's"
            " simulator, smpi with SimGrid"
        ),
    ] = "mpi"
    seed: Annotated[
        Seed | Literal["auto"],
        Meta(
            description="seed of the order in which cases are measured; auto: drawn when the results are"
            " created and stored in their study.toml, so that repeated studies differ in their order"
        ),
    ] = "auto"
    patterns: PatternsSection = PatternsSection()
    skew: SkewSection = SkewSection()
    repetitions: RepetitionsSection = RepetitionsSection()
    mpi: MpiSection = MpiSection()
    simulator: SimulatorSection = SimulatorSection()
    start: StartSection = StartSection()
