"""``offbeat partitioned``: partitioned messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import US_PER_MB, parse_size, parse_time
from offbeat.cli import partitioned_check, run
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json

if TYPE_CHECKING:
    from offbeat.model.platform.schema import PlatformFile
    from offbeat.partitioned.predictions import MessageTimes, ReadySource
    from offbeat.partitioned.recommendation import Adviser

app = typer.Typer(
    help="Predict what early partitions of a message gain, fit costs to measurements, advise how to send a"
    " message, and check MPI libraries."
    " 'offbeat run' measures such messages, by a study with sections [[partitioned]].",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SIZES = ("1 KiB", "16 KiB", "256 KiB", "4 MiB", "64 MiB")
PER_THREAD = (1, 4)
COMPARED_PER_THREAD = (1, 2, 4, 8, 16)
PAPER_PLATFORM = "meluxina"
"""The cluster of the paper."""

PAPER_GHZ = 3.5
"""With this frequency, equation 6 gives the delay rates of the paper, which does not state it."""

PAPER_NOISE = 0.04
"""The system noise ε of the paper's examples."""

MOST_OPTIONS = 12
"""Options that are printed, the best ones."""


@app.callback()
def partitioned() -> None:
    """Predict what early partitions of a message gain, advise how to send it, and check MPI libraries.

    'offbeat run' measures such messages, by a study with sections [[partitioned]].
    """


app.command("run", help="Measure a study; the same as 'offbeat run'.")(run.command)
app.command("check")(partitioned_check.command)


DelayRate = Annotated[
    float | None,
    typer.Option(
        help="The last partition is ready later than the others by this many µs per MB of a partition."
        " [default: 100, unless other delays are given]"
    ),
]

Skew = Annotated[str, typer.Option(help="The largest delay of a shape: seconds, or a time such as '100 us'.")]

Sources = Annotated[
    list[Path],
    typer.Argument(help="Result directories of studies with [[partitioned]].", metavar="RESULTS..."),
]


@app.command("fit")
def fit_costs(
    results: Sources,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The platform file to write.", metavar="PATH")
    ] = Path("platform.toml"),
    base: Annotated[
        str,
        typer.Option("--base", help="The platform (file or name) to which the costs are added."),
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
    all_notes: AllNotes = False,
    json: Json = "",
) -> None:
    """Fit the costs of messages in partitions to measurements, and write them into a platform file.

    Prints each cost with its 95% interval.
    """
    from offbeat.base.atomic_write import check_new, write_new
    from offbeat.base.terminal_table import FittedTable
    from offbeat.base.toml.write import toml_text
    from offbeat.model.platform import machine
    from offbeat.partitioned import cost_fit, tables
    from offbeat.partitioned.cells import read_measured
    from offbeat.partitioned.document import FitDocument

    check_new(output, force=force)
    platform = machine.load(base).file if base else None
    cells = read_measured(results)
    fits = cost_fit.fit(cells)
    left_out = cost_fit.too_few(cells)
    console = stdout()
    if prints_text(json):
        console.print(FittedTable(tables.COST_HEADINGS, tables.cost_rows(fits), texts=(0, 1)))
        for fit_of_approach in fits:
            error = f"the root mean square error is {100 * fit_of_approach.error:.0f}%"
            console.print(f"{fit_of_approach.approach}: {error}", markup=False)
        if left_out:
            console.print(tables.too_few_sentence(left_out), markup=False)
        print_notes(console, cells.notes, everything=all_notes)
    write_json(json, lambda: FitDocument(fits=fits))
    file = cost_fit.fitted_platform(fits, cells, platform)
    machine.from_structure(file, str(output))  # a platform file that can be read
    write_new(output, toml_text(file), "the platform file", force=force)
    if prints_text(json):
        console.print(f"wrote {output}", markup=False)


@app.command("advise")
def recommend(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="A platform file that 'offbeat partitioned fit' wrote, or result directories of studies with"
            " [[partitioned]]: then measured times are used for messages that the studies measured.",
            metavar="PLATFORM|RESULTS...",
        ),
    ],
    size: Annotated[str, typer.Option("--size", help="Size of the whole message, such as '4 MiB'.")],
    threads: Annotated[
        int, typer.Option(min=1, max=1024, help="Threads that compute partitions at the same time.")
    ] = 1,
    partitions: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=65536,
            help="Partitions of each thread. May be given several times. [default: 1 with --delay-rate, else"
            " those of 1, 2, 4, 8 and 16 that divide the size and for which there are delays]",
        ),
    ] = None,
    delay_rate: DelayRate = None,
    compute_rate: Annotated[
        float | None,
        typer.Option(
            help="Instead of a delay rate: each thread computes its partitions in turn, for this many µs per"
            " MB."
        ),
    ] = None,
    deviation: Annotated[
        float | None,
        typer.Option(
            help="With --compute-rate: standard deviation as a share of the computing time. [default:"
            " flop_noise of the platform file, which 'offbeat platform calibrate' measures; 0.02 without]"
        ),
    ] = None,
    pattern: Annotated[
        str,
        typer.Option(
            help="Instead of a delay rate: a pattern or replay file with the ready time of each partition, or"
            " the name of a shape.",
            metavar="FILE|SHAPE",
        ),
    ] = "",
    skew: Skew = "100 us",
    all_notes: AllNotes = False,
    json: Json = "",
) -> None:
    """Advise how to send a message: which approach, how many partitions a thread, how many messages.

    Prints the best options, each with its time after the last ready partition, its gain over a single
    message, and what these rest on: a measurement, the fitted model, or an extrapolation.
    """
    from offbeat.base.terminal_table import FittedTable
    from offbeat.partitioned import tables
    from offbeat.partitioned.document import recommendation_document
    from offbeat.partitioned.predictions import check_partitions
    from offbeat.partitioned.recommendation import advise, message_of

    total_bytes = _size(size)
    is_rate = compute_rate is None and not pattern
    per_thread = list(dict.fromkeys(partitions or COMPARED_PER_THREAD[: 1 if is_rate else None]))
    check_partitions(threads, per_thread)
    adviser = _adviser(sources)
    if deviation is None:
        deviation = adviser.flop_noise or PAPER_NOISE / 2
    elif compute_rate is None:
        raise BadInput("--deviation is that of a computing time: give --compute-rate, too")
    delays = _advised_source(delay_rate, compute_rate, deviation, pattern, skew)
    divisions = [number for number in per_thread if total_bytes % (threads * number) == 0]
    left = [number for number in per_thread if number not in divisions]
    if left and (partitions or not divisions):
        raise BadInput(
            f"--size {size}: {total_bytes} B cannot be divided into {threads * left[0]} equal"
            " partitions; give another size or other --threads or --partitions"
        )
    if pattern and partitions is None:
        divisions = _fitting(delays, threads, divisions)
    recommendation = advise(
        adviser,
        [(n, message_of(delays, total_bytes, threads, n, adviser.noise_s)) for n in divisions],
    )
    console = stdout()
    if prints_text(json):
        console.print(
            FittedTable(
                tables.OPTION_HEADINGS,
                tables.option_rows(recommendation.options[:MOST_OPTIONS]),
                texts=(0, 6),
            )
        )
        if len(recommendation.options) > MOST_OPTIONS:
            console.print(
                f"and {len(recommendation.options) - MOST_OPTIONS} further options; --json has all of them"
            )
        for sentence in tables.recommendation_sentences(recommendation):
            console.print(sentence, markup=False, soft_wrap=False)
        print_notes(console, adviser.notes, everything=all_notes)
    write_json(json, lambda: recommendation_document(recommendation))


@app.command("model")
def show_model(
    platform: Annotated[
        str, typer.Argument(help="A platform file, or a name that 'offbeat platform list' prints.")
    ] = PAPER_PLATFORM,
    threads: Annotated[
        int, typer.Option(min=1, max=65536, help="Threads that compute partitions at the same time.")
    ] = 8,
    partitions: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=65536,
            help="Partitions of each thread: 1 and 4 unless given. May be given several times.",
        ),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Size of the whole message, such as '4 MiB': 1 KiB to 64 MiB unless given. May be given"
            " several times."
        ),
    ] = None,
    delay_rate: DelayRate = None,
    arithmetic_intensity: Annotated[
        float | None,
        typer.Option(
            help="Instead of a delay rate: each thread computes its partitions in turn, with this many flops"
            " per byte of memory."
        ),
    ] = None,
    communication_intensity: Annotated[
        float, typer.Option(help="Share of the computation's memory that is sent.")
    ] = 1.0,
    frequency: Annotated[
        float | None,
        typer.Option(
            help="For the computation: GHz of a core, which computes 8 flops a cycle. [default: 1/8 of the"
            " platform's flop_rate, which 'offbeat platform calibrate' measures; 3.5 without]"
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            help="For the computation: system noise ε, as a share of the computing time. [default: twice the"
            " platform's flop_noise, which 'offbeat platform calibrate' measures; 0.04 without]"
        ),
    ] = None,
    imbalance: Annotated[
        float, typer.Option(help="For the computation: imbalance δ, as a share of the computing time.")
    ] = 0.0,
    pattern: Annotated[
        str,
        typer.Option(
            help="Instead of a delay rate: a pattern or replay file with a delay for each partition, or the"
            " name of a shape.",
            metavar="FILE|SHAPE",
        ),
    ] = "",
    skew: Skew = "100 us",
    inside: Annotated[
        bool, typer.Option("--inside", help="Both processes are on the same node; otherwise on two nodes.")
    ] = False,
    message_cost: Annotated[
        str,
        typer.Option(
            help="Time that each message costs its sender. [default: the latency, as the paper assumes"
            " for small messages]",
            metavar="TIME",
        ),
    ] = "",
    approach: Annotated[
        str,
        typer.Option(
            help="Predict with the costs of this approach that 'offbeat partitioned fit' wrote into the"
            " platform file, such as offbeat, many or library, instead of the paper's model.",
            metavar="NAME",
        ),
    ] = "",
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", help="Picture of the gain over size and delay to write: a .png, .svg or .pdf file."
        ),
    ] = None,
    json: Json = "",
) -> None:
    """Predict the gain of partitioned messages by size and partitions, with delays between the partitions.

    The model is that of "Quantifying the Performance Benefits of Partitioned Communication in MPI", with the
    latencies and bandwidths of a platform; with --approach, that of 'offbeat partitioned fit' and 'advise'.
    """
    from offbeat.base.terminal_table import FittedTable
    from offbeat.model.platform import machine
    from offbeat.partitioned import tables
    from offbeat.partitioned.document import model_document
    from offbeat.partitioned.predictions import check_partitions, predictions

    if picture is not None:
        from offbeat.presentation.drawing.picture_files import check_picture_path  # loads slowly

        check_picture_path(picture)
    platform_file = machine.load(platform).file
    rate_ghz = _frequency(platform_file) if frequency is None else frequency
    share = (2 * platform_file.flop_noise or PAPER_NOISE) if noise is None else noise
    computation = (arithmetic_intensity, communication_intensity, rate_ghz, share, imbalance)
    source = _source(delay_rate, computation, pattern, skew)
    per_thread = list(dict.fromkeys(partitions or PER_THREAD))
    check_partitions(threads, per_thread)
    times = _message_times(platform_file, approach, message_cost, inside=inside)
    sizes = [_size(text) for text in dict.fromkeys(size or SIZES)]
    rows = list(predictions(times, source, sizes, threads, per_thread))
    console = stdout()
    if prints_text(json):
        console.print(f"{times.label}: {times.description}", markup=False)
        for sentence in tables.computation_sentences(source, per_thread):
            console.print(sentence, markup=False)
        console.print()
        console.print(FittedTable(tables.HEADINGS, tables.rows(rows), texts=()))
        console.print(f"\n{tables.EXPLANATION}", soft_wrap=False)
    write_json(json, lambda: model_document(rows))
    if picture is not None:
        from offbeat.presentation.pictures.partitioned import picture as draw_picture

        draw_picture(times, source, threads, per_thread, picture)
        if prints_text(json):
            console.print(f"wrote {picture}", markup=False)


def _frequency(platform: PlatformFile) -> float:
    """GHz with which 8 flops a cycle are the platform's flop rate; without one, the paper's."""
    from offbeat.partitioned.delay_rate import FLOPS_PER_CYCLE

    return platform.flop_rate / (FLOPS_PER_CYCLE * 1e9) or PAPER_GHZ


def _message_times(platform: PlatformFile, approach: str, message_cost: str, *, inside: bool) -> MessageTimes:
    """What the options of model choose. Raises BadInput."""
    from offbeat.partitioned.predictions import fitted_messages, network

    if not approach:
        return network(
            platform, _time("--message-cost", message_cost) if message_cost else None, inside=inside
        )
    if message_cost or inside:
        raise BadInput("--message-cost and --inside change the paper's model: leave them out with --approach")
    return fitted_messages(platform, approach)


def _source(
    delay_rate: float | None,
    computation: tuple[float | None, float, float, float, float],
    pattern: str,
    skew: str,
) -> ReadySource:
    """The delays that the options describe: the rate, the computation or the pattern. Raises BadInput."""
    from offbeat.partitioned.delay_rate import Computation
    from offbeat.partitioned.predictions import GivenDelays, LastDelayed, RandomComputation

    intensity, communication_intensity, frequency_ghz, noise, imbalance = computation
    if (delay_rate is not None) + (intensity is not None) + bool(pattern) > 1:
        raise BadInput("give one of --delay-rate, --arithmetic-intensity and --pattern")
    if pattern:
        return GivenDelays(name=pattern, skew_s=_time("--skew", skew))
    if intensity is None:
        rate = 100.0 if delay_rate is None else _checked("--delay-rate", delay_rate, 0, 1e12)
        return LastDelayed(delay_rate=rate * US_PER_MB)
    return RandomComputation(
        computation=Computation(
            arithmetic_intensity=_checked("--arithmetic-intensity", intensity, 1e-9, 1e9),
            communication_intensity=_checked("--communication-intensity", communication_intensity, 1e-9, 1e9),
            frequency_hz=_checked("--frequency", frequency_ghz, 1e-6, 1e6) * 1e9,
            system_noise=_checked("--noise", noise, 0, 1e3),
            imbalance=_checked("--imbalance", imbalance, 0, 1e3),
        )
    )


def _advised_source(
    delay_rate: float | None, compute_rate: float | None, deviation: float, pattern: str, skew: str
) -> ReadySource:
    """The delays of the options of advise. Raises BadInput."""
    from offbeat.partitioned.delay_rate import Computation
    from offbeat.partitioned.predictions import RandomComputation

    if compute_rate is None:
        return _source(delay_rate, (None, 1.0, 1.0, 0.0, 0.0), pattern, skew)
    if delay_rate is not None or pattern:
        raise BadInput("give one of --delay-rate, --compute-rate and --pattern")
    rate = _checked("--compute-rate", compute_rate, 1e-9, 1e12) * US_PER_MB
    share = _checked("--deviation", deviation, 0, 1e3)
    return RandomComputation(computation=Computation.of_rate(rate, share))


def _adviser(sources: list[str]) -> Adviser:
    """The adviser of a platform, or of result directories. Raises BadInput."""
    from offbeat.model.platform import machine
    from offbeat.partitioned.cells import read_measured
    from offbeat.partitioned.recommendation import adviser_of_platform, adviser_of_results

    directories = [Path(source) for source in sources if Path(source).is_dir()]
    if len(directories) == len(sources):
        return adviser_of_results(read_measured(directories))
    if len(sources) > 1:
        raise BadInput("give either one platform or result directories")
    return adviser_of_platform(machine.load(sources[0]).file)


def _fitting(delays: ReadySource, threads: int, per_thread: list[int]) -> list[int]:
    """The numbers of partitions per thread for which there are delays: a file has one number of them."""
    possible, fault = [], None
    for number in per_thread:
        try:
            delays.ready_s(threads, number, 1.0)
            possible.append(number)
        except BadInput as error:
            fault = fault or error
    if not possible and fault:
        raise fault
    return possible


def _checked(option: str, value: float, smallest: float, largest: float) -> float:
    if not smallest <= value <= largest:
        raise BadInput(f"{option} {value:g}: give a number from {smallest:g} to {largest:g}")
    return value


def _time(option: str, text: str) -> float:
    try:
        return parse_time(text)
    except BadInput as error:
        raise BadInput(f"{option}: {error}") from None


def _size(text: str) -> int:
    try:
        size_bytes = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--size: {error}") from None
    if size_bytes < 1:
        raise BadInput(f"--size {text}: a message has 1 byte or more")
    return size_bytes
