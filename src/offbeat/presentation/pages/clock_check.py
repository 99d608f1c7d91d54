"""The report of a check: its pictures, and one self-contained HTML file.

Lines in pictures differ in colour, marker and, where there are several kinds, dashes, so that pictures are
readable without colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from offbeat.base.document.tables import Fact
from offbeat.base.errors import BadInput
from offbeat.base.units import format_size, format_time
from offbeat.measurement.clock_check.directory import REPORT, ROWS, Check
from offbeat.measurement.clock_check.rows import HARMONIZE, CheckedAlgorithms, Machine
from offbeat.measurement.clock_check.summary import AgedAccuracy, Ratios, Skew, Summary, SyncCost, sentence
from offbeat.model.study.algorithm import DEFAULT
from offbeat.presentation.drawing import page
from offbeat.presentation.drawing.axes import POINTS, framed_axes, legend_beside, time_axis, titled_figure
from offbeat.presentation.drawing.grid_figure import grid_figure
from offbeat.presentation.drawing.page import Facts, Lines, Section, ShownGrid, Text
from offbeat.presentation.drawing.palette import BLUE, BROWN, GREY, INK, LINES, MARKERS, MUTED
from offbeat.presentation.drawing.picture_files import Album, EmbeddedFigure
from offbeat.presentation.drawing.sheet import width_of
from offbeat.presentation.pages.clock_check_tables import label, latency_grid, left_out, proofs, tables

NEAREST_NS = 10
"""Times below this are drawn at this time on logarithmic scales: clocks hardly resolve less."""

WIDE = 30.0
"""Times whose ratio exceeds this are drawn on a logarithmic scale."""

MOST_LINES = 8
"""Maximum number of starts with a line each; of more starts, those that differ most are drawn."""

_SEED = 7

_INNER, _LEAST_LEFT = 5.0, 1.15
"""Inches: the width of axes, and the least of what is left of them."""


def skew_figure(skews: Sequence[Skew], subject: str) -> Figure:
    """The exit skew of each start: every repetition as a dot, with boxes over them (figure 3)."""
    names = [label(one.start) for one in skews]
    height = 1.3 + 0.42 * len(skews)
    figure, axes = _framed(_INNER + 1, height, "Exit skew of each start", subject, left=names)
    largest, least = max(one.most_s for one in skews), min(one.median_s for one in skews)
    is_wide = largest > WIDE * max(least, NEAREST_NS * 1e-9)
    spread = np.random.default_rng(_SEED)
    for place, one in enumerate(skews):
        shown_s = np.maximum(one.skews_s, NEAREST_NS * 1e-9) if is_wide else one.skews_s
        colour = BLUE if one.start == HARMONIZE else BROWN
        around = place + spread.uniform(-0.28, 0.28, shown_s.size)
        axes.plot(shown_s, around, ".", markersize=3, alpha=0.35, color=colour, markeredgewidth=0)
        _box(axes, shown_s, place, colour)
    axes.set_yticks(range(len(skews)), names, color=INK)
    axes.set_ylim(len(skews) - 0.5, -0.5)
    time_axis(axes, "x", is_log=is_wide)
    if not is_wide:
        axes.set_xlim(left=0)
    axes.set_xlabel("last exit − first exit" + (", logarithmic" if is_wide else ""), fontsize=9)
    return figure


def _box(axes: Axes, values_s: np.ndarray, place: float, colour: str) -> None:
    """A box from the first to the third quartile, the median, and lines to the 5th and 95th percentiles."""
    low, first, middle, third, high = np.quantile(values_s, [0.05, 0.25, 0.5, 0.75, 0.95])
    axes.plot([low, first], [place, place], color=colour, linewidth=1.4)
    axes.plot([third, high], [place, place], color=colour, linewidth=1.4)
    axes.fill_between(
        [first, third], place - 0.2, place + 0.2, facecolor="none", edgecolor=colour, linewidth=1.4
    )
    axes.plot([middle, middle], [place - 0.3, place + 0.3], color=INK, linewidth=2.2)


def lag_figure(skews: Sequence[Skew], subject: str) -> Figure:
    """When each rank leaves: its typical time after the first rank (as in figure 1)."""
    shown = _most_different(skews)
    names = [label(one.start) for one in shown]
    figure, axes = _framed(_INNER, 3.6, "When each process leaves a start", subject, right=names)
    largest_s = [float(one.lags_s.max()) for one in shown]
    is_wide = max(largest_s) > WIDE * max(float(np.median(largest_s)), NEAREST_NS * 1e-9)
    for number, one in enumerate(shown):
        ranks = np.arange(one.lags_s.size)
        marker = MARKERS[number] if one.lags_s.size <= 64 else None
        axes.plot(
            ranks,
            one.lags_s,
            color=LINES[number],
            marker=marker,
            markersize=4,
            linewidth=2.2 if one.start == HARMONIZE else 1.1,
            label=names[number],
        )
    axes.set_xlabel("rank", fontsize=9)
    axes.set_ylabel("median time after\nthe first process left", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if is_wide:
        axes.set_yscale("symlog", linthresh=10 * NEAREST_NS * 1e-9, linscale=0.5)
    axes.set_ylim(bottom=0)
    time_axis(axes, "y")
    legend_beside(axes)
    return figure


def sync_figure(costs: Sequence[SyncCost], subject: str) -> Figure:
    """How long a sync takes, by number of processes, one line per method (figure 15)."""
    kinds = list(dict.fromkeys((one.method, one.distorted) for one in costs))
    are_mixed = len({artificial for _, artificial in kinds}) > 1
    names = [
        f"{method},\nunmodified clocks" if are_mixed and not artificial else method
        for method, artificial in kinds
    ]
    figure, axes = _framed(_INNER, 3.6, "How long a sync takes", subject, right=names)
    for number, (method, distorted) in enumerate(kinds):
        line = sorted(
            (x for x in costs if (x.method, x.distorted) == (method, distorted)), key=lambda x: x.processes
        )
        axes.plot(
            [one.processes for one in line],
            [one.taken_s for one in line],
            color=LINES[number % len(LINES)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            linewidth=1.3,
            linestyle=":" if are_mixed and not distorted else "-",
            label=names[number],
        )
    axes.set_xscale("log", base=2)
    sizes = sorted({one.processes for one in costs})
    axes.set_xticks(sizes, [str(p) for p in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    axes.set_xlabel("processes", fontsize=9)
    axes.set_ylabel("from the start until the last is done", fontsize=9)
    time_axis(axes, "y", is_log=True)
    legend_beside(axes)
    return figure


def age_figure(aged: Sequence[AgedAccuracy], subject: str) -> Figure:
    """The error of clocks by the age of their sync, and their own error bounds (figure 16)."""
    methods = list(dict.fromkeys(one.method for one in aged))
    figure, axes = _framed(_INNER, 4.2, "Accuracy by the age of the sync", subject, right=methods)
    oldest = max(one.age_s for one in aged)
    floor_s = NEAREST_NS * 1e-9
    first = min((one.age_s for one in aged if one.planned_s), default=oldest) / 3
    for number, name in enumerate(methods):
        line = sorted((one for one in aged if one.method == name), key=lambda one: one.planned_s)
        ages = [one.age_s if one.planned_s else first for one in line]
        colour = LINES[number % len(LINES)]
        errors = [max(one.error_s, floor_s) for one in line]
        axes.plot(ages, errors, color=colour, marker=MARKERS[number % len(MARKERS)], markersize=5, label=name)
        bounds = [max(one.bound_s, floor_s) for one in line]
        axes.plot(ages, bounds, color=colour, linewidth=1, linestyle="--")
    resolution = max(one.resolution_s for one in aged)
    axes.axhspan(floor_s / 2, max(resolution, floor_s), color=GREY, alpha=0.18, linewidth=0)
    axes.set_ylim(bottom=floor_s / 2)
    axes.text(
        0.99, 0.02, f"errors below ±{format_time(resolution, 2)} cannot be seen", transform=axes.transAxes,
        fontsize=7.5, color=MUTED, ha="right", va="bottom",
    )  # fmt: skip
    axes.set_xscale("log")
    time_axis(axes, "y", is_log=True)
    time_axis(axes, "x", is_log=True)
    ticks = [
        tick for tick in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0) if first * 1.5 < tick <= oldest * 1.2
    ]
    axes.set_xticks([first, *ticks], ["at once", *(format_time(tick) for tick in ticks)])
    axes.set_xlabel("age of the sync", fontsize=9)
    axes.set_ylabel("error (typical); dashed: the bound", fontsize=9)
    legend_beside(axes)
    return figure


def _most_different(skews: Sequence[Skew]) -> list[Skew]:
    """The harmonised start, the library's own barrier, and the others with the least and largest skews."""
    always = [one for one in skews if one.start in (HARMONIZE, DEFAULT)]
    others = [one for one in skews if one.start not in (HARMONIZE, DEFAULT)]
    room = MOST_LINES - len(always)
    if len(others) > room:
        others = [*others[: room // 2], *others[room // 2 - room :]]
    return [*always, *others]


def _framed(
    inner: float,
    height: float,
    title: str,
    subject: str,
    *,
    left: Sequence[str] = (),
    right: Sequence[str] = (),
) -> tuple[Figure, Axes]:
    """A figure with a title, a line below it, and one pair of axes, ``inner`` inches wide.

    There is room for the texts ``left`` of the axes and for a legend of the texts ``right`` of them.
    """
    before = max([_LEAST_LEFT, *(width_of(line, POINTS) + 0.35 for line in left)])
    behind = max([0.3, *(width_of(line, 8.5) + 0.65 for text in right for line in text.split("\n"))])
    figure = titled_figure(before + inner + behind, height, title, subject)
    axes = framed_axes(figure, before, 0.55, behind, 0.7)
    axes.grid(alpha=0.25)
    return figure, axes


NOT_MEASURED = "Nothing was measured yet."
LEAVING = (
    "Processes leave a barrier one after another; they leave a harmonised start at a common deadline on their"
    " shared clock. The pattern in which the processes leave is the arrival pattern of the call that is"
    " measured next."
)


def write_page(check: Check, summary: Summary, pictures: Path | None) -> Path:
    """Write ``report.html`` into the check's directory and return its path.

    ``pictures`` is the folder for every picture as PNG, PDF and SVG; None writes none. Raises
    :class:`BadInput` when a file cannot be written.
    """
    head = check.head
    if head.machine is None or head.algorithms is None:
        raise BadInput(f"nothing was measured in {check.directory} yet; check again to resume")
    machine, path = head.machine, check.directory / REPORT
    sections = _sections(
        check, machine, head.algorithms, summary, Album(pictures, check.directory.absolute())
    )
    title = f"How well {machine.p} processes start together on {machine.host}"
    subtitle = f"{machine.library} · {_hosts(machine)} · {machine.time}"
    return page.write_page(
        path, page.page(title, subtitle, sections, source=str(check.directory / ROWS), pictures=pictures)
    )


def _sections(
    check: Check, machine: Machine, algorithms: CheckedAlgorithms, summary: Summary, album: Album
) -> list[Section]:
    pictures = _pictures(summary, machine, album)
    shown = tables(summary, machine)

    def measured(anchor: str, title: str, *before: Text) -> Section:
        named = [table for table in shown if table.name.startswith(anchor)]
        missing = [] if named else [Text(text=NOT_MEASURED)]
        return Section(anchor=anchor, title=title, parts=[*before, *named, *pictures[anchor], *missing])

    return [
        _verdict(check, machine, summary),
        measured("skew", "How processes leave a start", Text(text=LEAVING)),
        _behind(summary, album),
        measured("sync", "How long a sync takes"),
        measured("accuracy", "How accurate a clock is after a sync"),
        _measured(check, machine, algorithms, summary),
    ]


def _verdict(check: Check, machine: Machine, summary: Summary) -> Section:
    parts = [Text(text=sentence(summary, machine), kind="verdict")]
    parts += [Text(text=warning, kind="caution") for warning in machine.warnings]
    if not any(row.step.startswith("accuracy") for row in check.rows):
        parts.append(
            Text(
                text="The check is not finished: 'offbeat clock check' with the same settings resumes it.",
                kind="caution",
            )
        )
    return Section(anchor="verdict", title="Verdict", parts=parts)


def _behind(summary: Summary, album: Album) -> Section:
    explanation = Text(
        text="The times that usual benchmarks print: each process reads the clock before and after the call."
        " One table has the average over the processes, the other the longest time of a process."
    )
    grids = [grid for ratios in summary.ratios for grid in _grids(ratios, summary, album)]
    parts: Sequence[page.Part] = grids or [Text(text=NOT_MEASURED)]
    return Section(anchor="behind", title="The same collective after each start", parts=[explanation, *parts])


def _measured(check: Check, machine: Machine, algorithms: CheckedAlgorithms, summary: Summary) -> Section:
    evidence = [table for table in (left_out(algorithms), proofs(algorithms)) if table.rows]
    failures = [f"{step}: {why}" for step, why in summary.failures]
    return Section(
        anchor="measured",
        title="How it was measured",
        parts=[
            Facts(facts=_facts(check, machine)),
            *evidence,
            *([Lines(lines=failures, title="Steps that failed")] if failures else []),
        ],
    )


def _pictures(summary: Summary, machine: Machine, album: Album) -> dict[str, list[EmbeddedFigure]]:
    subject = f"{machine.library}, {machine.p} processes on {_hosts(machine)}"
    figures: dict[str, list[EmbeddedFigure]] = {"skew": [], "sync": [], "accuracy": []}
    if summary.skews:
        figures["skew"] = [
            _shown(album, skew_figure(summary.skews, subject), "skew", "Exit skew of each start"),
            _shown(album, lag_figure(summary.skews, subject), "lags", "When each process leaves a start"),
        ]
    if summary.costs:
        clocks = (
            "artificial clock drift" if any(one.distorted for one in summary.costs) else "unmodified clocks"
        )
        figure = sync_figure(summary.costs, f"{subject}, {clocks}")
        figures["sync"] = [_shown(album, figure, "sync", "How long a sync takes, by processes")]
    for distorted in sorted({one.distorted for one in summary.aged}):
        aged = [one for one in summary.aged if one.distorted == distorted]
        clocks = "artificial clock drift" if distorted else "unmodified clocks"
        figure = age_figure(aged, f"{subject}, {clocks}")
        name = "accuracy-bent" if distorted else "accuracy"
        figures["accuracy"].append(_shown(album, figure, name, "Error of clocks by the age of their sync"))
    return figures


def _shown(album: Album, figure: Figure, name: str, alt: str) -> EmbeddedFigure:
    return album.embed(figure, name, f"{alt}; the table has its numbers")


def _grids(ratios: Ratios, summary: Summary, album: Album) -> list[ShownGrid]:
    """The grids of averages and of longest times."""
    several = len({one.bytes for one in summary.ratios}) > 1
    size = f"-{format_size(ratios.bytes).replace(' ', '')}" if several else ""
    grids = [latency_grid(ratios, longest=longest) for longest in (False, True)]
    return [
        ShownGrid(
            grid=grid,
            files=album.links(partial(grid_figure, grid), f"{ratios.collective}{size}-{grid.kind}"),
        )
        for grid in grids
    ]


def _facts(check: Check, machine: Machine) -> list[Fact]:
    settings = check.head.settings
    clock = "one physical clock, shared by all ranks" if machine.shared else "at least one clock per node"
    pairs: Sequence[tuple[str, Any]] = (
        ("library", machine.library),
        ("processes", machine.p),
        ("hosts", ", ".join(machine.hosts)),
        ("time source", f"{machine.clock}: {clock}"),
        ("starts of each kind", f"{settings.repetitions} alone and followed by each collective, in 4 rounds"),
        ("collective", f"{settings.collective}, {', '.join(format_size(size) for size in settings.sizes)}"),
        ("seed", settings.seed),
        ("launched by", machine.command),
        ("offbeat", machine.offbeat),
    )
    return [Fact(name=name, value=str(value)) for name, value in pairs]


def _hosts(machine: Machine) -> str:
    return machine.hosts[0] if len(machine.hosts) == 1 else f"{len(machine.hosts)} nodes"
