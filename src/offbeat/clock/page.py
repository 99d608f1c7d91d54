"""The report of a check: one self-contained HTML file, and its pictures as files.

Every text that comes from measurements is escaped by the template engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from msgspec import Struct

import offbeat
from offbeat.atomic_write import write_atomically
from offbeat.clock import draw
from offbeat.clock.directory import REPORT, ROWS, Check
from offbeat.clock.rows import CheckedAlgorithms, Machine
from offbeat.clock.summary import Ratios, Summary
from offbeat.clock.tables import latency_grid, left_out, proofs, tables
from offbeat.clock.verdict import sentence
from offbeat.errors import BadInput
from offbeat.report.figures import grid_figure
from offbeat.report.grids import Grid
from offbeat.report.pictures import Album, EmbeddedFigure, Link
from offbeat.report.standalone_page import environment, style
from offbeat.units import format_size


class Fact(Struct, frozen=True, kw_only=True):
    """A line of the table about the machine."""

    name: str
    value: str


class Behind(Struct, frozen=True, kw_only=True):
    """A grid of latencies, and the links to its pictures."""

    grid: Grid
    files: list[Link]


def write_page(check: Check, found: Summary, pictures: Path | None) -> Path:
    """Write ``report.html`` into the check's directory and return its path.

    ``pictures`` is the folder for every picture as PNG, PDF and SVG; None writes none. Raises
    :class:`BadInput` when a file cannot be written.
    """
    head = check.head
    if head.machine is None or head.algorithms is None:
        raise BadInput(f"nothing was measured in {check.directory} yet; check again to resume")
    path = check.directory / REPORT
    album = Album(pictures, check.directory.absolute())
    try:
        write_atomically(path, _page(check, head.machine, head.algorithms, found, album).encode())
    except OSError as error:
        raise BadInput(f"cannot write the report {path}: {error.strerror or error}") from error
    return path


def _page(check: Check, machine: Machine, algorithms: CheckedAlgorithms, found: Summary, album: Album) -> str:
    made = tables(found, machine)
    content = {
        "version": offbeat.__version__,
        "title": f"How well {machine.p} processes start together on {machine.host}",
        "subtitle": f"{machine.library} · {_hosts(machine)} · {machine.time}",
        "style": style(),
        "verdict": sentence(found, machine),
        "warnings": machine.warnings,
        "unfinished": not any(row.step.startswith("accuracy") for row in check.rows),
        "tables": {
            name: [table for table in made if table.name.startswith(name)]
            for name in ("skew", "sync", "accuracy")
        },
        "pictures": _pictures(found, machine, album),
        "behind": [part for ratios in found.ratios for part in _behind(ratios, found, album)],
        "machine": _facts(check, machine),
        "evidence": [left_out(algorithms), proofs(algorithms)],
        "failures": found.failures,
        "rows": check.directory / ROWS,
        "pictures_directory": album.directory,
    }
    return environment("offbeat.clock").get_template("clock.html.j2").render(content)


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
            "clocks bent on purpose" if any(one.distorted for one in found.costs) else "clocks as they are"
        )
        figure = draw.sync_figure(found.costs, f"{subject}, {clocks}")
        made["sync"] = [_shown(album, figure, "sync", "How long a sync takes, by processes")]
    for distorted in sorted({one.distorted for one in found.aged}):
        aged = [one for one in found.aged if one.distorted == distorted]
        clocks = "clocks bent on purpose" if distorted else "clocks as they are"
        figure = draw.age_figure(aged, f"{subject}, {clocks}")
        name = "accuracy-bent" if distorted else "accuracy"
        made["accuracy"].append(_shown(album, figure, name, "Error of clocks by the age of their sync"))
    return made


def _shown(album: Album, figure: Figure, name: str, alt: str) -> EmbeddedFigure:
    return album.embed(figure, name, f"{alt}; the table has its numbers")


def _behind(ratios: Ratios, found: Summary, album: Album) -> list[Behind]:
    """The grids of averages and of longest times."""
    several = len({one.bytes for one in found.ratios}) > 1
    size = f"-{format_size(ratios.bytes).replace(' ', '')}" if several else ""
    parts = []
    for longest in (False, True):
        grid = latency_grid(ratios, longest=longest)
        files = album.links(partial(grid_figure, grid), f"{ratios.collective}{size}-{grid.kind}")
        parts.append(Behind(grid=grid, files=files))
    return parts


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
