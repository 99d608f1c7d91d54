"""The report: one HTML file that opens without a network, and its pictures as files.

:func:`write_report` collects the data of the other modules; :mod:`offbeat.presentation.study_report.sections`
shows them. Numbers come from the selection's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup
from msgspec.json import encode

from offbeat.base.atomic_write import write_atomically
from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import Results
from offbeat.presentation.drawing.grid_figure import grid_figure
from offbeat.presentation.drawing.page import ShownGrid, page, source_of
from offbeat.presentation.drawing.picture_files import Album, EmbeddedFigure, Progress
from offbeat.presentation.study_report import facts, figures, labels, outcome, plot_data
from offbeat.presentation.study_report.configurations import views
from offbeat.presentation.study_report.grids import grids
from offbeat.presentation.study_report.sections import SECTIONS, Content
from offbeat.presentation.study_report.tuning_status import tuning_status
from offbeat.selection.choices import wording
from offbeat.selection.choices.choose import Selection


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
    text = _page(results, selection, directory, Album(pictures, output.absolute().parent, progress))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        if output.is_symlink():
            raise BadInput(
                f"{output} is a symbolic link, and the report would overwrite its target;"
                " remove the link, or give another --output."
            )
        write_atomically(output, text.encode())
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(f"cannot write the report {output}: {reason}; give another --output.") from error
    return output


def _page(results: Results, selection: Selection, directory: Path, album: Album) -> str:
    content = _content(results, selection, directory, album)
    sections = [section(content) for section in SECTIONS]
    return page(
        f"offbeat report: {results.study.get('name') or results.directory.name}",
        _subtitle(results),
        [section for section in sections if section is not None],
        source=str(directory),
        pictures=album.directory,
        scripts=_scripts(content.plot),
    )


def _subtitle(results: Results) -> str:
    provenance = results.provenance
    return labels.joined(
        ", ".join(dict.fromkeys(results.cases["collective"])) or "nothing measured",
        facts.libraries(results),
        f"p = {processes}" if (processes := facts.processes(results)) else "",
        f"on {provenance['host']}" if provenance.get("host") else "",
        str(provenance.get("cpu") or ""),
        str(provenance.get("time") or ""),
    )


def _scripts(plot: dict[str, Any] | None) -> list[Markup]:
    """The scripts of the page, after the data of the plot, if there is one."""
    names = ["report.js"] if plot is None else ["box_plot.js", "report.js"]
    scripts = [
        Markup("<script>{}</script>").format(source_of("offbeat.presentation.study_report", name))
        for name in names
    ]
    if plot is None:
        return scripts
    data = encode(plot).decode().replace("<", "\\u003c")
    return [
        Markup('<script type="application/json" id="plot-data">{}</script>').format(Markup(data)),
        *scripts,
    ]


def _content(results: Results, selection: Selection, directory: Path, album: Album) -> Content:
    """What the sections show; all pictures are written as files too where the album has a directory."""
    all_views = views(results.cases, selection)
    status = tuning_status(directory, selection)
    tables = {view.slug: grids(view, selection.terms.within) for view in all_views}
    penalties = outcome.penalties(all_views)
    drawn, missing = plot_data.pattern_plots(results)
    album.total = sum(map(len, tables.values())) + len(penalties) + bool(drawn)
    full_bar = max((line.share for lines in penalties.values() for line in lines), default=1.0)
    plot = plot_data.distributions(all_views, results.repetitions)
    return Content(
        results=results,
        selection=selection,
        directory=directory,
        views=all_views,
        status=status,
        notices=outcome.warnings(results, all_views, status),
        penalties=[
            _penalty_picture(name, lines, selection, full_bar, album) for name, lines in penalties.items()
        ],
        patterns=_pattern_picture(drawn, album),
        missing_patterns=missing,
        grids={
            slug: [
                ShownGrid(grid=grid, files=album.links(partial(grid_figure, grid), f"{slug}-{grid.kind}"))
                for grid in part
            ]
            for slug, part in tables.items()
        },
        plot=plot if plot["configurations"] else None,
    )


def _penalty_picture(
    name: str, lines: list[figures.Penalty], selection: Selection, full_bar: float, album: Album
) -> EmbeddedFigure:
    subject = (
        f"{name}: score of the no-delay winner against the selected one’s, rule ‘{selection.terms.rule}’"
    )
    alt = "; ".join(f"{line.configuration}: {wording.typeset(wording.cost(line.share))}" for line in lines)
    figure = figures.penalty_figure(lines, subject, full_bar)
    return album.embed(
        figure, f"{labels.slug(name)}-cost", f"Slowdown of the no-delay winner for {name}: {alt}"
    )


def _pattern_picture(drawn: Sequence[figures.PatternPlot], album: Album) -> EmbeddedFigure | None:
    if not drawn:
        return None
    figure = figures.pattern_figure(drawn, f"delay of each {drawn[0].noun} as a share of the largest delay s")
    names = ", ".join(pattern.label for pattern in drawn)
    return album.embed(figure, "patterns", f"Arrival patterns: {names}")
