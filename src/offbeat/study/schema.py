"""The study file as typed structures: every key, its meaning, unit and default.

The reference page and the JSON Schema are generated from here. Sizes are bytes, given as integers or as text
with a unit (``"64 KiB"``); times are seconds, given as numbers or as text with a unit (``"100 us"``). The
loader (:mod:`offbeat.study.load`) turns text into numbers before these structures are made.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

INT32_MAX = 2**31 - 1
"""The largest count and the largest rank that the MPI calls of the driver can state."""

EXTENTS = {"byte": 1, "int": 4, "long": 8, "float": 4, "double": 8}
"""Element types and the bytes that one element takes."""

ARITHMETIC = ("sum", "prod", "max", "min")
"""Operations on numbers: every element type has them; a byte is an unsigned number that wraps."""

BITWISE = ("band", "bor", "bxor")
"""Operations on bits: byte, int and long have them, float and double don't."""

OPS = ARITHMETIC + BITWISE
"""Every reduction operation of a study; all are commutative."""


def _quantity(unit: str, *, positive: bool = False) -> Meta:
    """A number that may be written as text with a unit: the loader and the JSON Schema look for ``unit``."""
    text = {
        "bytes": "bytes; an integer or text such as '64 KiB'",
        "seconds": "seconds; a number or text such as '100 us'",
    }[unit]
    if positive:
        return Meta(gt=0, description=text, extra={"unit": unit}, extra_json_schema={"x-unit": unit})
    return Meta(ge=0, description=text, extra={"unit": unit}, extra_json_schema={"x-unit": unit})


def _choice(noun: str) -> Meta:
    """A word out of a list: :func:`offbeat.study.choices.choices` has the list of each noun."""
    return Meta(extra={"choice": noun}, extra_json_schema={"x-choice": noun})


Size = Annotated[int, _quantity("bytes")]
Seconds = Annotated[float, _quantity("seconds")]
PositiveSeconds = Annotated[float, _quantity("seconds", positive=True)]
Count = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
CollectiveName = Annotated[str, _choice("collective")]
ShapeName = Annotated[str, _choice("shape")]
Op = Annotated[str, _choice("op")]
Datatype = Annotated[str, _choice("datatype")]


class _Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections: immutable, keyword-only, unknown keys refused."""


class CollectiveSection(_Section, frozen=True, kw_only=True):
    """What is measured of one or several collectives."""

    names: Annotated[
        list[CollectiveName], Meta(min_length=1, description="collectives, by their MPI names in lower case")
    ]
    sizes: Annotated[
        list[Size], Meta(description="message sizes: bytes per process, as the MPI call states it")
    ] = []
    algorithms: Annotated[
        list[str],
        Meta(
            min_length=1,
            description="algorithms by name, or ['all']; 'offbeat doctor --algorithms' lists the names",
        ),
    ] = field(default_factory=lambda: ["all"])
    op: Annotated[Op, Meta(description="reduction operation: sum, prod, max, min, band, bor, bxor")] = "sum"
    datatype: Annotated[Datatype, Meta(description="element type: byte, int, long, float or double")] = (
        "double"
    )
    root: Annotated[int, Meta(ge=0, le=INT32_MAX, description="root of rooted collectives")] = 0


class ProcessesSection(_Section, frozen=True, kw_only=True):
    """How many processes, and where. Either ``p``, or ``nodes`` and ``ppn``."""

    p: Annotated[list[Count], Meta(description="numbers of processes, placed as the launcher likes")] = []
    nodes: Annotated[list[Count], Meta(description="numbers of nodes; each is combined with each ppn")] = []
    ppn: Annotated[list[Count], Meta(description="processes per node")] = []


DEFAULT_SHAPES = (
    "no_delay",
    "ascending",
    "descending",
    "first_delayed",
    "last_delayed",
    "mid_delayed",
    "random",
)
"""The shapes that are measured when a study names none."""


class PatternsSection(_Section, frozen=True, kw_only=True):
    """The arrival patterns."""

    shapes: Annotated[list[ShapeName], Meta(description="shapes, as 'offbeat pattern make' knows them")] = (
        field(default_factory=lambda: list(DEFAULT_SHAPES))
    )
    files: Annotated[
        list[str], Meta(description="pattern files: one delay in seconds a line; relative to the study file")
    ] = []
    scale_files: Annotated[
        bool, Meta(description="scale the files' delays to the skew policy instead of using them as they are")
    ] = False
    seed: Annotated[Seed, Meta(description="seed of the random shape")] = 1


class SkewSection(_Section, frozen=True, kw_only=True):
    """How large the largest delay of a pattern is."""

    policy: Annotated[
        Literal["mean", "own", "fixed"],
        Meta(
            description="mean: factor × the mean no-delay runtime over all algorithms of that collective and"
            " size; own: factor × this algorithm's own no-delay runtime; fixed: the times given"
        ),
    ] = "mean"
    factors: Annotated[
        list[Annotated[float, Meta(gt=0)]], Meta(description="for the policies mean and own")
    ] = field(default_factory=lambda: [1.5])
    times: Annotated[
        list[PositiveSeconds], Meta(description="for the policy fixed: the largest delays, in seconds")
    ] = []


class RepetitionsSection(_Section, frozen=True, kw_only=True):
    """When a case has been measured often enough."""

    confidence_width: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="stop when half the 95% confidence interval of the median is within this share of it",
        ),
    ] = 0.05
    minimum: Annotated[Count, Meta(description="valid repetitions at least")] = 10
    maximum: Annotated[Count, Meta(description="valid repetitions at most")] = 100
    time_cap: Annotated[Seconds, Meta(description="seconds a case may take, once it has its minimum")] = 2.0
    hang_after: Annotated[
        PositiveSeconds, Meta(description="seconds without a sign of life before a case is quarantined")
    ] = 60.0


class MpiSection(_Section, frozen=True, kw_only=True):
    """Which MPI library, and how it is launched."""

    prefix: Annotated[
        str, Meta(description="'auto', an installation prefix, or a name that 'offbeat doctor' prints")
    ] = "auto"
    launcher: Annotated[
        Literal["auto", "mpirun", "mpiexec", "srun"],
        Meta(description="the launch command: auto, mpirun, mpiexec or srun"),
    ] = "auto"
    hostfile: Annotated[str, Meta(description="passed to the launcher; relative to the study file")] = ""
    options: Annotated[list[str], Meta(description="further launcher options, a word each")] = []
    environment: Annotated[dict[str, str], Meta(description="environment variables for the processes")] = {}
    isolate: Annotated[bool, Meta(description="a launch of its own for each algorithm")] = False


class StartSection(_Section, frozen=True, kw_only=True):
    """The harmonised start."""

    tolerance: Annotated[
        PositiveSeconds | Literal["auto"],
        Meta(
            description="how late a process may start after its planned time, in seconds, for a repetition"
            " to count"
        ),
    ] = "auto"


class Study(_Section, frozen=True, kw_only=True):
    """A whole study file."""

    collective: Annotated[list[CollectiveSection], Meta(min_length=1)]
    processes: ProcessesSection
    name: Annotated[str, Meta(description="a word for tables and the report")] = "study"
    engine: Annotated[Literal["mpi"], Meta(description="what measures: mpi, this machine's library")] = "mpi"
    seed: Annotated[Seed, Meta(description="seed of the order in which cases are measured")] = 1
    patterns: PatternsSection = PatternsSection()
    skew: SkewSection = SkewSection()
    repetitions: RepetitionsSection = RepetitionsSection()
    mpi: MpiSection = MpiSection()
    start: StartSection = StartSection()
