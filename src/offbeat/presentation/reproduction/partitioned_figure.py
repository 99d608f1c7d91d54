"""Figures 4 to 8 of "Quantifying the Performance Benefits of Partitioned Communication in MPI", measured.

The paper measured them between two nodes with up to 32 cores for each process; here they are studies of this
machine's MPI library. The paper repeats a measurement until half its 90% confidence interval is within 5% of
it, at most 50 times; so does each study, over blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size, parse_size
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.find import choose
from offbeat.libraries.launch.cores import available
from offbeat.measurement.engines.engine_choice import engine_of, find_approaches
from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs import resume
from offbeat.measurement.runs.run import run
from offbeat.measurement.runs.run_progress import ProgressListener
from offbeat.model.study.schema import (
    MpiSection,
    PartitionedSection,
    PatternsSection,
    ProcessesSection,
    RepetitionsSection,
    SkewSection,
    Study,
)
from offbeat.model.study.study_file import LoadedStudy, loads, resolved_toml
from offbeat.presentation.reproduction.claims import Reproduction

POINT_TO_POINT = ("single", "many", "library")
RMA_PASSIVE = ("rma_passive_single", "rma_passive_many")
RMA = (*RMA_PASSIVE, "rma_active_single", "rma_active_many")

LANES = "OFFBEAT_PARTITIONED_LANES"
"""The variable for the number of lanes of a communicator (``native/partitioned``)."""

AGGREGATIONS = (512, 1024, 4096, 16384)
"""Bytes of an aggregated message in figure 7."""

PAPER_RULE = RepetitionsSection(confidence=0.9, confidence_width=0.05, minimum=25, maximum=50)


def each_partition(partitions: int) -> str:
    """offbeat's approach with a message for each partition: ``Pt2Pt part`` without aggregation."""
    return f"offbeat(messages={partitions})"


def aggregated(message_bytes: int) -> str:
    """offbeat's approach with messages of this size."""
    return f"offbeat(message_bytes={message_bytes})"


class PaperFigure(Struct, frozen=True, kw_only=True):
    """A figure of the paper: the message, the sizes in bytes, and which approaches it compares.

    ``threads`` are the paper's. ``delay_rate`` is γ in µs/MB, 0 without delays. ``has_interfaces`` says that
    every thread has a network interface of its own (MPICH's VCIs). ``is_bandwidth`` says what is drawn.
    """

    number: int
    title: str
    partitions: int
    threads: int
    sizes: tuple[int, ...]
    approaches: tuple[str, ...]
    delay_rate: float = 0.0
    has_interfaces: bool = False
    is_bandwidth: bool = False


def _sizes(first_exponent: int) -> tuple[int, ...]:
    """Every second power of two up to 16 MiB, in bytes."""
    return tuple(2**exponent for exponent in range(first_exponent, 25, 2))


FIGURES = {
    figure.number: figure
    for figure in (
        PaperFigure(
            number=4,
            title="One thread and one partition",
            partitions=1,
            threads=1,
            sizes=_sizes(4),
            approaches=("offbeat", *POINT_TO_POINT, *RMA),
        ),
        PaperFigure(
            number=5,
            title="Thread congestion",
            partitions=32,
            threads=32,
            sizes=_sizes(10),
            approaches=(each_partition(32), "offbeat", *POINT_TO_POINT, *RMA_PASSIVE),
        ),
        PaperFigure(
            number=6,
            title="Thread congestion with an interface for each thread",
            partitions=32,
            threads=32,
            sizes=_sizes(10),
            approaches=(each_partition(32), "offbeat", *POINT_TO_POINT, *RMA_PASSIVE),
            has_interfaces=True,
        ),
        PaperFigure(
            number=7,
            title="Message aggregation",
            partitions=128,
            threads=4,
            sizes=_sizes(10),
            approaches=(each_partition(128), *map(aggregated, AGGREGATIONS), *POINT_TO_POINT),
        ),
        PaperFigure(
            number=8,
            title="Early-bird effect",
            partitions=4,
            threads=4,
            sizes=_sizes(8),
            approaches=(each_partition(4), *POINT_TO_POINT, "rma_passive_single"),
            delay_rate=100.0,
            is_bandwidth=True,
        ),
    )
}


class Setting(Struct, frozen=True, kw_only=True):
    """A figure as it is measured here: what options select, and ``cores`` of this node.

    ``nodes`` is 1 if both processes share a node, or 2. ``library`` is the name of the MPI installation, or
    empty for the usual one.
    """

    figure: PaperFigure
    sizes: tuple[int, ...]
    threads: int
    cores: int
    delay_rate: float
    nodes: int = 1
    library: str = ""

    @property
    def shares_cores(self) -> bool:
        """Whether threads wait for cores: the sender's threads and the receiver have fewer than they need."""
        return self.threads + (1 if self.nodes == 1 else 0) > self.cores


def setting(
    number: int,
    sizes: Sequence[str] = (),
    threads: int | None = None,
    delay_rate: float | None = None,
    nodes: int = 1,
    library: str = "",
    cores: int | None = None,
) -> Setting:
    """A figure with options; ``cores`` are looked up if None. Raises BadInput for what the figure has not.

    Without ``threads``, the sender has the paper's threads if there are cores for them, else as many as there
    are cores, but 2 where the paper has several: one thread never contends.
    """
    if number not in FIGURES:
        raise BadInput(f"figure {number}: the figures with measurements are {', '.join(map(str, FIGURES))}")
    figure = FIGURES[number]
    cores = available().physical if cores is None else cores
    if threads is None:
        threads = min(figure.threads, max(2, cores if nodes == 2 else cores - 1))
    elif threads > figure.partitions:
        raise BadInput(
            f"--threads {threads}: figure {number} has a message in {figure.partitions} partitions, so that"
            f" at most {figure.partitions} threads can mark them"
        )
    if delay_rate is not None and not figure.delay_rate:
        raise BadInput(f"--delay-rate {delay_rate:g}: figure {number} has no delays; figure 8 has")
    if delay_rate is not None and not 0 < delay_rate < 1e9:
        raise BadInput(f"--delay-rate {delay_rate:g}: a delay rate is a number above 0, such as 100")
    return Setting(
        figure=figure,
        sizes=tuple(dict.fromkeys(_size(text, figure) for text in sizes)) or figure.sizes,
        threads=threads,
        cores=cores,
        delay_rate=figure.delay_rate if delay_rate is None else delay_rate,
        nodes=nodes,
        library=library,
    )


def _size(text: str, figure: PaperFigure) -> int:
    try:
        size = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--size {text}: {error}") from None
    if size < 1 or size % figure.partitions:
        raise BadInput(
            f"--size {text}: figure {figure.number} sends {figure.partitions} equal partitions; write a"
            f" multiple of {format_size(figure.partitions)}"
        )
    return size


def study(one: Setting, approaches: Sequence[str], environment: Mapping[str, str]) -> LoadedStudy:
    """The study of a figure; ``approaches`` are those that the library has."""
    figure = one.figure
    name = f"partitioned-figure{figure.number}"
    requested = Study(
        name=name,
        partitioned=[
            PartitionedSection(
                sizes=list(one.sizes),
                partitions=[figure.partitions],
                threads=[one.threads],
                approaches=list(approaches),
            )
        ],
        processes=ProcessesSection(nodes=[2], ppn=[1]) if one.nodes == 2 else ProcessesSection(p=[2]),
        patterns=PatternsSection(shapes=["last_delayed" if one.delay_rate else "no_delay"]),
        skew=SkewSection(policy="rate", rates=[one.delay_rate]) if one.delay_rate else SkewSection(),
        repetitions=PAPER_RULE,
        mpi=MpiSection(prefix=one.library or "auto", environment=dict(environment)),
    )
    return loads(resolved_toml(requested), Path(f"{name}.toml"))  # the name is for messages


def interfaces(one: Setting, variable: str) -> dict[str, str]:
    """The environment that gives each thread an interface: lanes of offbeat, and the library's variable."""
    if not one.figure.has_interfaces:
        return {}
    return dict.fromkeys(filter(None, (LANES, variable)), str(one.threads))


FOLDER = "pictures"
"""The folder of the picture inside the result directory."""


def reproduce(
    one: Setting,
    directory: Path,
    listener: ProgressListener,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Reproduction:
    """Measure the rest, draw the figure and check the paper's claims.

    Raises BadInput if the directory holds anything else, and RunFailed if the library cannot be launched.
    """
    from offbeat.presentation.drawing.pictures import write_pictures
    from offbeat.presentation.reproduction.partitioned_claims import remarks, sentences
    from offbeat.presentation.reproduction.partitioned_lines import figure_of, measured

    installation = choose(one.library or "auto")
    variable = library_of(installation).interfaces_variable if one.figure.has_interfaces else ""
    environment = interfaces(one, variable)
    loaded = study(one, find_approaches(installation, one.figure.approaches), environment)
    with resume.open_store(loaded, directory) as store:
        engine = engine_of(loaded, directory, installation)
        try:
            outcome = run(loaded, store, engine, listener, out_of_time)
        finally:
            engine.close()
    if outcome.stopped:
        return Reproduction(done=outcome.done, total=outcome.total, pictures=[], remarks=[], claims=[])
    results = measured(one, read_study(directory))
    return Reproduction(
        done=outcome.done,
        total=outcome.total,
        pictures=write_pictures(
            figure_of(results), directory / FOLDER, f"partitioned-figure{one.figure.number}"
        ),
        remarks=remarks(results, variable),
        claims=sentences(results),
    )
