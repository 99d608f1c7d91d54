"""Figures 4 to 8 of "Quantifying the Performance Benefits of Partitioned Communication in MPI", measured.

The paper measured them between two nodes with up to 32 cores for each process; here they are studies of this
machine's MPI library. The paper repeats a measurement until half its 90% confidence interval is within 5% of
it, at most 50 times; so does each study, over blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size, parse_size
from offbeat.libraries.launch.cores import available
from offbeat.model.study.schema import RepetitionsSection

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
