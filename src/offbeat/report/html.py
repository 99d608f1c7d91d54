"""The report: one HTML file that opens without a network, and its pictures as files.

:func:`write_report` gathers what the other modules of this room make of the results and fills the template.
Numbers come from the selection's tables; every text that comes from results is escaped by the template
engine.
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
from offbeat.errors import BadInput
from offbeat.report import figures, found, interactive, labels, measured, patterns, verdict, warnings
from offbeat.report.configurations import ConfigurationView, views
from offbeat.report.grids import Grid, grids
from offbeat.report.palette import TONES
from offbeat.report.pictures import Album, Link, Progress, Shown
from offbeat.report.use import Use, use
from offbeat.results.read import read_study_toml
from offbeat.select import wording
from offbeat.select.choose import Selection
from offbeat.select.render import headline
from offbeat.study.evidence import short
from offbeat.units import format_size
from offbeat.whole_file import write_whole_file

if TYPE_CHECKING:
    from offbeat.results.read import Results

OPEN_CONFIGURATIONS = 3
"""How many configurations are unfolded when the page opens."""


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

    ``pictures`` is the folder for every picture as PNG, PDF and SVG; None writes none. ``progress`` is called
    after each picture. Raises :class:`BadInput` when a file cannot be written.
    """
    output = output or directory / "report.html"
    page = _page(results, selection, directory, Album(pictures, output.absolute().parent, progress))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        if output.is_symlink():
            raise BadInput(
                f"{output} is a symbolic link, and the report would overwrite what it leads to;"
                " remove the link, or give another --output."
            )
        write_whole_file(output, page.encode())
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(f"cannot write the report {output}: {reason}; give another --output.") from error
    return output


def _page(results: Results, selection: Selection, directory: Path, album: Album) -> str:
    shown = views(results.cases, selection)
    written = use(directory, selection)
    content = (
        _about(results)
        | _outcome(results, selection, shown, written)
        | _pictures(results, selection, shown, album)
        | _configurations(shown)
        | _plot(shown, results.repetitions)
        | {
            "found": found.found(results),
            "marks": found.MARKS,
            "meanings": found.MEANINGS,
            "quality": measured.quality(results),
            "machine": measured.machine(results.provenance),
            "study_text": _study_text(results.directory),
            "use": written,
            "directory": directory,
            "pictures_directory": album.directory,
        }
    )
    return _environment().get_template("report.html.j2").render(content)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("offbeat.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "name": _breakable,
        "size": lambda view: labels.size_label(view.configuration),
        "confidence": wording.confidence,
        "percent": wording.percent,
        "ratio": partial(wording.ratio, decimals=3),
        "cost": lambda share: labels.typeset(wording.cost(share)),
        "short": short,
        "words": lambda status: status.replace("_", " "),
    }
    return environment


def _breakable(name: str) -> Markup:
    """A name, escaped, that may break behind underscores and before brackets."""
    return Markup(str(escape(name)).replace("_", "_<wbr>").replace("(", "<wbr>("))


def _about(results: Results) -> dict[str, Any]:
    """Title, what was measured, and what makes the page look and act as it does."""
    provenance = results.provenance
    parts = [
        ", ".join(dict.fromkeys(results.cases["collective"])) or "nothing measured",
        measured.libraries(results),
        f"p = {processes}" if (processes := measured.processes(results)) else "",
        f"on {provenance['host']}" if provenance.get("host") else "",
        str(provenance.get("cpu") or ""),
        str(provenance.get("time") or ""),
    ]
    return {
        "version": offbeat.__version__,
        "title": f"offbeat report: {results.study.get('name') or results.directory.name}",
        "subtitle": " · ".join(part for part in parts if part),
        "style": Markup(_own_text("style.css") + _tone_rules()),
        "script": Markup(_own_text("report.js")),
    }


def _own_text(name: str) -> str:
    """A file that lies beside the templates."""
    return jinja2.PackageLoader("offbeat.report").get_source(jinja2.Environment(), name)[0]


def _tone_rules() -> str:
    """The palette's tones as style rules, for light and dark pages."""
    light = "".join(f".t-{name}{{background:{t.light};color:{t.light_text}}}" for name, t in TONES.items())
    dark = "".join(f".t-{name}{{background:{t.dark};color:{t.dark_text}}}" for name, t in TONES.items())
    return f"{light}\n@media screen and (prefers-color-scheme: dark){{{dark}}}\n"


def _outcome(
    results: Results, selection: Selection, shown: Sequence[ConfigurationView], written: Use | None
) -> dict[str, Any]:
    """The verdict, the selection table, and the warnings."""
    selected = [view for view in shown if view.choice is not None]
    return {
        "verdict": verdict.sentence(selected, shown),
        "headline": headline(selection) if selected else "",
        "within": wording.share_label(selection.terms.within),
        "notices": warnings.warnings(results, shown, written),
        "selected": selected,
        "several_libraries": len({view.configuration.library for view in shown}) > 1,
    }


def _pictures(
    results: Results, selection: Selection, shown: Sequence[ConfigurationView], album: Album
) -> dict[str, Any]:
    """The tables of every configuration and all pictures; written as files too where the album has a
    directory."""
    tables = {view.slug: grids(view, selection.terms.within) for view in shown}
    costs = verdict.costs(shown)
    drawn = patterns.patterns(results)
    album.total = sum(map(len, tables.values())) + len(costs) + bool(drawn.drawn)
    full_bar = max((line.share for lines in costs.values() for line in lines), default=1.0)
    return {
        "grids": tables,
        "cost_pictures": [
            _cost_picture(name, lines, selection, full_bar, album) for name, lines in costs.items()
        ],
        "pattern_picture": _pattern_picture(drawn, album),
        "missing_patterns": drawn.missing,
        "picture_files": {
            f"{slug}-{grid.kind}": _grid_files(grid, slug, album)
            for slug, part in tables.items()
            for grid in part
        },
    }


def _cost_picture(
    name: str, lines: list[figures.Cost], selection: Selection, full_bar: float, album: Album
) -> Shown:
    subject = (
        f"{name}: score of the no-delay winner against the selected one’s, rule ‘{selection.terms.rule}’"
    )
    alt = "; ".join(f"{line.configuration}: {labels.typeset(wording.cost(line.share))}" for line in lines)
    figure = figures.cost_figure(lines, subject, full_bar)
    return album.shown(figure, f"{labels.slug(name)}-cost", f"Cost of the no-delay winner for {name}: {alt}")


def _pattern_picture(drawn: patterns.Patterns, album: Album) -> Shown | None:
    if not drawn.drawn:
        return None
    figure = figures.pattern_figure(drawn.drawn, "delay of each rank as a share of the largest delay s")
    names = ", ".join(pattern.label for pattern in drawn.drawn)
    return album.shown(figure, "patterns", f"Arrival patterns: {names}")


def _grid_files(grid: Grid, slug: str, album: Album) -> list[Link]:
    return album.links(partial(figures.grid_figure, grid), f"{slug}-{grid.kind}")


def _configurations(shown: Sequence[ConfigurationView]) -> dict[str, Any]:
    """The configurations, where to find each, and why some have no times."""
    return {
        "views": shown,
        "index": _index(shown),
        "open_configurations": OPEN_CONFIGURATIONS,
        "lost": {view.slug: _lost(view) for view in shown if view.table is None},
        "last_delay": labels.LAST_DELAY,
    }


def _index(shown: Sequence[ConfigurationView]) -> dict[str, Any]:
    """Collectives and p down, sizes across."""
    sizes = sorted({view.configuration.bytes for view in shown})
    rows: dict[str, dict[int, list[ConfigurationView]]] = {}
    for view in shown:
        name = f"{view.configuration.collective} · {labels.processes_label(view.configuration)}"
        rows.setdefault(name, {}).setdefault(view.configuration.bytes, []).append(view)
    return {
        "sizes": [format_size(size) for size in sizes],
        "rows": [
            {"name": name, "entries": [row.get(size, []) for size in sizes]} for name, row in rows.items()
        ],
    }


def _lost(view: ConfigurationView) -> list[str]:
    """Why the cases of a configuration without any time have none."""
    groups = view.cases.group_by("algorithm", "status", "reason", maintain_order=True).agg(pl.col("pattern"))
    return [
        f"{algorithm} under {', '.join(dict.fromkeys(under))}: {status}; {reason or 'no reason on record'}"
        for algorithm, status, reason, under in groups.iter_rows()
    ]


def _plot(shown: Sequence[ConfigurationView], repetitions: pl.DataFrame) -> dict[str, Any]:
    """The data of the interactive plot, and the library that draws it, once; neither where nothing was
    measured."""
    data = interactive.payload(shown, repetitions)
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
