"""The report of a check: one self-contained HTML file, and its pictures as files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from offbeat.clock import draw
from offbeat.clock.directory import REPORT, ROWS, Check
from offbeat.clock.rows import CheckedAlgorithms, Machine
from offbeat.clock.summary import Ratios, Summary
from offbeat.clock.tables import latency_grid, left_out, proofs, tables
from offbeat.clock.verdict import sentence
from offbeat.drawing import page
from offbeat.drawing.grid_figure import grid_figure
from offbeat.drawing.page import Facts, Lines, Section, ShownGrid, Text
from offbeat.drawing.pictures import Album, EmbeddedFigure
from offbeat.drawing.tables import Fact
from offbeat.errors import BadInput
from offbeat.units import format_size

NOT_MEASURED = "Nothing was measured yet."
LEAVING = (
    "Processes leave a barrier one after another; they leave a harmonised start at a common deadline on their"
    " shared clock. The pattern in which the processes leave is the arrival pattern of the call that is"
    " measured next."
)


def write_page(check: Check, found: Summary, pictures: Path | None) -> Path:
    """Write ``report.html`` into the check's directory and return its path.

    ``pictures`` is the folder for every picture as PNG, PDF and SVG; None writes none. Raises
    :class:`BadInput` when a file cannot be written.
    """
    head = check.head
    if head.machine is None or head.algorithms is None:
        raise BadInput(f"nothing was measured in {check.directory} yet; check again to resume")
    machine, path = head.machine, check.directory / REPORT
    sections = _sections(check, machine, head.algorithms, found, Album(pictures, check.directory.absolute()))
    title = f"How well {machine.p} processes start together on {machine.host}"
    subtitle = f"{machine.library} · {_hosts(machine)} · {machine.time}"
    return page.write_page(
        path, page.page(title, subtitle, sections, source=str(check.directory / ROWS), pictures=pictures)
    )


def _sections(
    check: Check, machine: Machine, algorithms: CheckedAlgorithms, found: Summary, album: Album
) -> list[Section]:
    pictures = _pictures(found, machine, album)
    shown = tables(found, machine)

    def measured(anchor: str, title: str, *before: Text) -> Section:
        named = [table for table in shown if table.name.startswith(anchor)]
        missing = [] if named else [Text(text=NOT_MEASURED)]
        return Section(anchor=anchor, title=title, parts=[*before, *named, *pictures[anchor], *missing])

    return [
        _verdict(check, machine, found),
        measured("skew", "How processes leave a start", Text(text=LEAVING)),
        _behind(found, album),
        measured("sync", "How long a sync takes"),
        measured("accuracy", "How accurate a clock is after a sync"),
        _measured(check, machine, algorithms, found),
    ]


def _verdict(check: Check, machine: Machine, found: Summary) -> Section:
    parts = [Text(text=sentence(found, machine), kind="verdict")]
    parts += [Text(text=warning, kind="caution") for warning in machine.warnings]
    if not any(row.step.startswith("accuracy") for row in check.rows):
        parts.append(
            Text(
                text="The check is not finished: 'offbeat clock check' with the same settings resumes it.",
                kind="caution",
            )
        )
    return Section(anchor="verdict", title="Verdict", parts=parts)


def _behind(found: Summary, album: Album) -> Section:
    explanation = Text(
        text="The times that usual benchmarks print: each process reads the clock before and after the call."
        " One table has the average over the processes, the other the longest time of a process."
    )
    grids = [grid for ratios in found.ratios for grid in _grids(ratios, found, album)]
    parts: Sequence[page.Part] = grids or [Text(text=NOT_MEASURED)]
    return Section(anchor="behind", title="The same collective after each start", parts=[explanation, *parts])


def _measured(check: Check, machine: Machine, algorithms: CheckedAlgorithms, found: Summary) -> Section:
    evidence = [table for table in (left_out(algorithms), proofs(algorithms)) if table.rows]
    failures = [f"{step}: {why}" for step, why in found.failures]
    return Section(
        anchor="measured",
        title="How it was measured",
        parts=[
            Facts(facts=_facts(check, machine)),
            *evidence,
            *([Lines(lines=failures, title="Steps that failed")] if failures else []),
        ],
    )


def _pictures(found: Summary, machine: Machine, album: Album) -> dict[str, list[EmbeddedFigure]]:
    subject = f"{machine.library}, {machine.p} processes on {_hosts(machine)}"
    made: dict[str, list[EmbeddedFigure]] = {"skew": [], "sync": [], "accuracy": []}
    if found.skews:
        made["skew"] = [
            _shown(album, draw.skew_figure(found.skews, subject), "skew", "Exit skew of each start"),
            _shown(album, draw.lag_figure(found.skews, subject), "lags", "When each process leaves a start"),
        ]
    if found.costs:
        clocks = (
            "artificial clock drift" if any(one.distorted for one in found.costs) else "unmodified clocks"
        )
        figure = draw.sync_figure(found.costs, f"{subject}, {clocks}")
        made["sync"] = [_shown(album, figure, "sync", "How long a sync takes, by processes")]
    for distorted in sorted({one.distorted for one in found.aged}):
        aged = [one for one in found.aged if one.distorted == distorted]
        clocks = "artificial clock drift" if distorted else "unmodified clocks"
        figure = draw.age_figure(aged, f"{subject}, {clocks}")
        name = "accuracy-bent" if distorted else "accuracy"
        made["accuracy"].append(_shown(album, figure, name, "Error of clocks by the age of their sync"))
    return made


def _shown(album: Album, figure: Figure, name: str, alt: str) -> EmbeddedFigure:
    return album.embed(figure, name, f"{alt}; the table has its numbers")


def _grids(ratios: Ratios, found: Summary, album: Album) -> list[ShownGrid]:
    """The grids of averages and of longest times."""
    several = len({one.bytes for one in found.ratios}) > 1
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
