"""The report: one HTML file that opens without a network, and its pictures as files.

:func:`write_report` collects the data of the other modules and fills the template. Numbers come from the
selection's tables; the template engine escapes every text that comes from results.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

import offbeat
from offbeat.atomic_write import write_atomically
from offbeat.errors import BadInput
from offbeat.report import facts, figures, labels, outcome, plot_data, standalone_page
from offbeat.report.configurations import ConfigurationView, views
from offbeat.report.grids import Grid, grids
from offbeat.report.pictures import Album, EmbeddedFigure, Link, Progress
from offbeat.report.tuning_status import TuningStatus, tuning_status
from offbeat.results.read import read_study_toml
from offbeat.select import wording
from offbeat.select.choose import Selection
from offbeat.select.render import headline
from offbeat.study.evidence import short
from offbeat.units import format_size

if TYPE_CHECKING:
    from offbeat.results.read import Results

OPEN_CONFIGURATIONS = 3
"""The number of configurations that are expanded when the page opens."""


def write_report(
    results: Results,
    selection: Selection,
    directory: Path,
    *,
    output: Path | None = None,
    pictures: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the report of some results and return its path: ``output``, or report.html in ``directory``.

    ``pictures`` is the folder for every figure as PNG, PDF and SVG; None writes none. ``progress`` is called
    after each figure. Raises :class:`BadInput` if a file cannot be written.
    """
    output = output or directory / "report.html"
    page = _page(results, selection, directory, Album(pictures, output.absolute().parent, progress))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        if output.is_symlink():
            raise BadInput(
                f"{output} is a symbolic link, and the report would overwrite its target;"
                " remove the link, or give another --output."
            )
        write_atomically(output, page.encode())
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(f"cannot write the report {output}: {reason}; give another --output.") from error
    return output


def _page(results: Results, selection: Selection, directory: Path, album: Album) -> str:
    all_views = views(results.cases, selection)
    status = tuning_status(directory, selection)
    content = (
        _about(results)
        | _outcome(results, selection, all_views, status)
        | _pictures(results, selection, all_views, album)
        | _configurations(all_views)
        | _plot(all_views, results.repetitions)
        | {
            "collectives": facts.algorithm_verdicts(results),
            "marks": facts.MARKS,
            "meanings": facts.MEANINGS,
            "quality": facts.quality(results),
            "machine": facts.machine(results.provenance),
            "study_text": _study_text(results.directory),
            "tuning": status,
            "directory": directory,
            "pictures_directory": album.directory,
        }
    )
    return _environment().get_template("report.html.j2").render(content)


def _environment() -> jinja2.Environment:
    environment = standalone_page.environment("offbeat.report")
    environment.filters |= {
        "name": _breakable,
        "size": lambda view: labels.size_label(view.configuration),
        "confidence": wording.confidence,
        "percent": wording.percent,
        "ratio": partial(wording.ratio, decimals=3),
        "cost": lambda share: labels.typeset(wording.cost(share)),
        "short": short,
        "spaced": lambda status: status.replace("_", " "),
    }
    return environment


def _breakable(name: str) -> Markup:
    """A name, escaped, with line breaks allowed after underscores and before brackets."""
    return Markup(str(escape(name)).replace("_", "_<wbr>").replace("(", "<wbr>("))


def _about(results: Results) -> dict[str, Any]:
    """The title, a summary of the study, the style sheet and the script."""
    provenance = results.provenance
    parts = [
        ", ".join(dict.fromkeys(results.cases["collective"])) or "nothing measured",
        facts.libraries(results),
        f"p = {processes}" if (processes := facts.processes(results)) else "",
        f"on {provenance['host']}" if provenance.get("host") else "",
        str(provenance.get("cpu") or ""),
        str(provenance.get("time") or ""),
    ]
    return {
        "version": offbeat.__version__,
        "title": f"offbeat report: {results.study.get('name') or results.directory.name}",
        "subtitle": " · ".join(part for part in parts if part),
        "style": standalone_page.style(),
        "script": standalone_page.source("report.js"),
    }


def _outcome(
    results: Results,
    selection: Selection,
    all_views: Sequence[ConfigurationView],
    status: TuningStatus | None,
) -> dict[str, Any]:
    """The verdict, the selection table, and the warnings."""
    selected = [view for view in all_views if view.choice is not None]
    return {
        "verdict": outcome.verdict(selected, all_views),
        "headline": headline(selection) if selected else "",
        "within": wording.share_label(selection.terms.within),
        "notices": outcome.warnings(results, all_views, status),
        "selected": selected,
        "several_libraries": len({view.configuration.library for view in all_views}) > 1,
    }


def _pictures(
    results: Results, selection: Selection, all_views: Sequence[ConfigurationView], album: Album
) -> dict[str, Any]:
    """The tables of every configuration and all pictures; written as files too where the album has a
    directory."""
    tables = {view.slug: grids(view, selection.terms.within) for view in all_views}
    penalties = outcome.penalties(all_views)
    plots = plot_data.pattern_plots(results)
    album.total = sum(map(len, tables.values())) + len(penalties) + bool(plots.drawn)
    full_bar = max((line.share for lines in penalties.values() for line in lines), default=1.0)
    return {
        "grids": tables,
        "penalty_pictures": [
            _penalty_picture(name, lines, selection, full_bar, album) for name, lines in penalties.items()
        ],
        "pattern_picture": _pattern_picture(plots, album),
        "missing_patterns": plots.missing,
        "picture_files": {
            f"{slug}-{grid.kind}": _grid_files(grid, slug, album)
            for slug, part in tables.items()
            for grid in part
        },
    }


def _penalty_picture(
    name: str, lines: list[figures.Penalty], selection: Selection, full_bar: float, album: Album
) -> EmbeddedFigure:
    subject = (
        f"{name}: score of the no-delay winner against the selected one’s, rule ‘{selection.terms.rule}’"
    )
    alt = "; ".join(f"{line.configuration}: {labels.typeset(wording.cost(line.share))}" for line in lines)
    figure = figures.penalty_figure(lines, subject, full_bar)
    return album.embed(
        figure, f"{labels.slug(name)}-cost", f"Slowdown of the no-delay winner for {name}: {alt}"
    )


def _pattern_picture(plots: plot_data.PatternPlots, album: Album) -> EmbeddedFigure | None:
    if not plots.drawn:
        return None
    figure = figures.pattern_figure(plots.drawn, "delay of each rank as a share of the largest delay s")
    names = ", ".join(pattern.label for pattern in plots.drawn)
    return album.embed(figure, "patterns", f"Arrival patterns: {names}")


def _grid_files(grid: Grid, slug: str, album: Album) -> list[Link]:
    return album.links(partial(figures.grid_figure, grid), f"{slug}-{grid.kind}")


def _configurations(all_views: Sequence[ConfigurationView]) -> dict[str, Any]:
    """The configurations, their index, and the reasons for missing times."""
    return {
        "views": all_views,
        "index": _index(all_views),
        "open_configurations": OPEN_CONFIGURATIONS,
        "unmeasured": {view.slug: _unmeasured(view) for view in all_views if view.table is None},
        "last_delay": labels.LAST_DELAY,
    }


def _index(all_views: Sequence[ConfigurationView]) -> dict[str, Any]:
    """The table of links: collectives and p in rows, sizes in columns."""
    sizes = sorted({view.configuration.bytes for view in all_views})
    rows: dict[str, dict[int, list[ConfigurationView]]] = {}
    for view in all_views:
        name = f"{view.configuration.collective} · {labels.processes_label(view.configuration)}"
        rows.setdefault(name, {}).setdefault(view.configuration.bytes, []).append(view)
    return {
        "sizes": [format_size(size) for size in sizes],
        "rows": [
            {"name": name, "entries": [row.get(size, []) for size in sizes]} for name, row in rows.items()
        ],
    }


def _unmeasured(view: ConfigurationView) -> list[str]:
    """The reasons why no case of a configuration has a time."""
    groups = view.cases.group_by("algorithm", "status", "reason", maintain_order=True).agg(pl.col("pattern"))
    return [
        f"{algorithm} under {', '.join(dict.fromkeys(under))}: {status}; {reason or 'no reason recorded'}"
        for algorithm, status, reason, under in groups.iter_rows()
    ]


def _plot(all_views: Sequence[ConfigurationView], repetitions: pl.DataFrame) -> dict[str, Any]:
    """The data of the interactive plot, and the library that draws it, once; neither if nothing was
    measured."""
    data = plot_data.distributions(all_views, repetitions)
    return (
        {"plot": data, "plotly": Markup(get_plotlyjs())}
        if data["configurations"]
        else {"plot": None, "plotly": ""}
    )


def _study_text(directory: Path) -> str:
    try:
        return read_study_toml(directory / "study.toml")
    except BadInput as error:
        return f"({error})"
