"""The sections of a report: a function for each, and their order on the page.

A section takes the :class:`Content` of a report and says what it shows as parts of
:mod:`offbeat.presentation.drawing.page`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, format_size
from offbeat.measurement.results.read import Results, read_study_toml
from offbeat.model.study.evidence import short
from offbeat.presentation.drawing.page import (
    Code,
    Details,
    Facts,
    Lines,
    Part,
    Section,
    ShownGrid,
    Text,
    environment,
)
from offbeat.presentation.drawing.picture_files import EmbeddedFigure
from offbeat.presentation.selection.text import headline
from offbeat.presentation.study_report import facts, labels, outcome
from offbeat.presentation.study_report.configurations import ConfigurationView
from offbeat.presentation.study_report.tuning_status import TuningStatus
from offbeat.selection.choices import wording
from offbeat.selection.choices.choose import Selection
from offbeat.selection.choices.reliability import Notice

OPEN_CONFIGURATIONS, OPEN_COLLECTIVES, OPEN_LINES, SHOWN_PENALTIES = 3, 3, 12, 3
"""The numbers of configurations, collectives, lines of a table and pictures that are expanded when the page
opens."""


class Content(Struct, frozen=True, kw_only=True):
    """What the sections of a report show.

    ``grids`` are the tables of each configuration by its slug, ``plot`` the data of the interactive plot, or
    None if nothing was measured.
    """

    results: Results
    selection: Selection
    directory: Path
    views: Sequence[ConfigurationView]
    status: TuningStatus | None
    notices: Sequence[Notice]
    grids: dict[str, list[ShownGrid]]
    penalties: Sequence[EmbeddedFigure]
    patterns: EmbeddedFigure | None
    missing_patterns: Sequence[str]
    plot: dict[str, Any] | None


def verdict(content: Content) -> Section:
    """The outcome in a sentence, the selection table, and what ignoring arrival patterns costs."""
    selected = [view for view in content.views if view.choice is not None]
    parts: list[Part] = [Text(text=outcome.verdict(selected, content.views), kind="verdict")]
    if content.notices:
        parts.append(_rendered("caveats", notices=content.notices))
    if selected:
        scores = (
            "A score of 1 is the fastest under every pattern. A slowdown is how much worse another choice"
            " scores under the same rule."
        )
        parts.append(Text(text=f"{headline(content.selection)} {scores}"))
        parts.append(
            _rendered(
                "selection",
                selected=selected,
                within=wording.share_label(content.selection.terms.within),
                several_libraries=len({view.configuration.library for view in content.views}) > 1,
            )
        )
        number = len(content.penalties)
        title = f"Penalty of ignoring arrival patterns for {number} collectives"
        folded = number > SHOWN_PENALTIES
        parts += [Details(title=title, parts=content.penalties)] if folded else content.penalties
    return Section(anchor="verdict", title="Verdict", parts=parts)


def configurations(content: Content) -> Section | None:
    """The tables of each configuration, below an index of links."""
    if not content.views:
        return None
    explanation = (
        f"{wording.LAST_DELAY} is the last delay: last exit − last arrival. Each configuration has three"
        " tables: rows are arrival patterns, columns are algorithms; s is the largest delay of a pattern."
    )
    several = len(content.views) > 1
    return Section(
        anchor="configurations",
        title="Results per configuration",
        link="Configurations" if several else "",
        parts=[
            Text(text=explanation),
            *([_rendered("index", index=_index(content.views))] if several else []),
            *(
                _configuration(view, content.grids[view.slug], is_open=place < OPEN_CONFIGURATIONS)
                for place, view in enumerate(content.views)
            ),
        ],
    )


def _configuration(view: ConfigurationView, grids: Sequence[ShownGrid], *, is_open: bool) -> Details:
    parts: list[Part] = []
    remark: str = "nothing selected"
    if view.left_out:
        parts.append(Text(text=f"Nothing selected: {view.left_out}", kind="caution"))
    if choice := view.choice:
        remark = Markup("select <b>{}</b>").format(choice.algorithm)
        if choice.no_delay_winner and choice.no_delay_winner != choice.algorithm:
            cost = wording.typeset(wording.cost(choice.cost_of_no_delay_winner))
            remark += f", not {choice.no_delay_winner} ({cost})"
        parts.append(Lines(lines=choice.warnings, kind="remarks"))
    parts += grids
    if not grids:
        parts.append(Text(text="No case of this configuration has a measured time."))
        parts.append(Lines(lines=_unmeasured(view)))
    return Details(
        title=view.title, remark=remark, parts=parts, is_open=is_open, kind="configuration", anchor=view.slug
    )


def _index(views: Sequence[ConfigurationView]) -> dict[str, Any]:
    """The table of links: collectives and p in rows, sizes in columns."""
    sizes = sorted({view.configuration.bytes for view in views})
    rows: dict[str, dict[int, list[ConfigurationView]]] = {}
    for view in views:
        name = f"{view.configuration.collective} · {labels.processes_label(view.configuration)}"
        rows.setdefault(name, {}).setdefault(view.configuration.bytes, []).append(view)
    return {
        "sizes": [format_size(size) for size in sizes],
        "rows": [
            {"name": name, "entries": [row.get(size, []) for size in sizes]} for name, row in rows.items()
        ],
    }


def _unmeasured(view: ConfigurationView) -> list[str]:
    groups = view.cases.group_by("algorithm", "status", "reason", maintain_order=True).agg(pl.col("pattern"))
    return [
        f"{algorithm} under {', '.join(dict.fromkeys(under))}: {status}; {reason or 'no reason recorded'}"
        for algorithm, status, reason, under in groups.iter_rows()
    ]


def distribution(content: Content) -> Section | None:
    """The interactive plot of the repetitions' last delays."""
    if content.plot is None:
        return None
    return Section(
        anchor="distribution",
        title="How the last delays are distributed",
        link="Distributions",
        parts=[_rendered("distribution", plot=content.plot)],
    )


def patterns(content: Content) -> Section:
    """The arrival patterns as pictures."""
    missing = f"Not drawn: {'; '.join(content.missing_patterns)}."
    return Section(
        anchor="patterns",
        title="Arrival patterns used",
        link="Patterns",
        parts=[
            content.patterns or Text(text="No pattern was measured."),
            *([Text(text=missing)] if content.missing_patterns else []),
        ],
    )


def algorithms(content: Content) -> Section:
    """The algorithms of each collective with their verdicts."""
    collectives = facts.algorithm_verdicts(content.results)
    parts: list[Part] = [
        Details(
            title=one.collective,
            remark=", ".join(f"{number} {status.replace('_', ' ')}" for status, number in one.counts.items())
            or f"{len(one.lines)} without a verdict",
            parts=[_rendered("verdicts", part=one, verdicts=facts.VERDICTS)],
            is_open=len(collectives) <= OPEN_COLLECTIVES,
        )
        for one in collectives
    ]
    if collectives:
        parts.append(_rendered("meanings", verdicts=facts.VERDICTS))
    else:
        parts.append(Text(text="The results hold no list of algorithms."))
    return Section(anchor="algorithms", title="Algorithms", link="Algorithms", parts=parts)


def measured(content: Content) -> Section:
    """How it was measured: numbers, the machine, the study file."""
    machine = facts.machine(content.results.provenance)
    study = Code(text=_study_text(content.results.directory))
    return Section(
        anchor="measured",
        title="How it was measured",
        link="How it was measured",
        parts=[
            Facts(facts=facts.quality(content.results)),
            *([Facts(facts=machine, title="Machine, library and settings")] if machine else []),
            Details(title="study.toml", remark="resolved, with all defaults", parts=[study]),
        ],
    )


def _study_text(directory: Path) -> str:
    try:
        return read_study_toml(directory / "study.toml")
    except BadInput as error:
        return f"({error})"


def warnings(content: Content) -> Section:
    """The warnings, each with its reason, its remedy and its places."""
    notices = [
        _rendered("notice", warning=notice, number=number) for number, notice in enumerate(content.notices, 1)
    ]
    return Section(
        anchor="warnings",
        title="Warnings",
        link=amount(len(notices), "warning"),
        parts=notices or [Text(text="None: no limit was exceeded.")],
    )


def tuning(content: Content) -> Section:
    """The tuning files beside the results: how to launch with them, their rules, their proofs."""
    return Section(
        anchor="use",
        title="Tuning files",
        link="Tuning files",
        parts=_tuning(content.directory, content.status),
    )


def _tuning(directory: Path, status: TuningStatus | None) -> list[Part]:
    if status is None:
        return [
            Text(
                text="No tuning file has been written from these results yet. Write one, and verify that the"
                " library obeys it:"
            ),
            Code(text=f"offbeat export {directory}\noffbeat verify {directory}"),
            Text(
                text="Then write this report again: it will show how to launch an application with the file."
            ),
        ]
    if status.error:
        return [Text(text=status.error, kind="caution")]
    files = Markup(", ").join(Markup("<code>{}</code>").format(file) for file in status.files)
    launch = Markup("Tuning files for {}: {}. Launch the application with one of").format(
        status.library, files
    )
    others = "all other calls are left to the library’s default"
    return [
        Text(text=launch),
        Code(text="\n".join(status.usage)),
        Lines(lines=status.notes),
        Details(
            title="Rules",
            remark=f"{amount(len(status.rules.rows), 'rule')}; {others}",
            parts=[status.rules],
            is_open=len(status.rules.rows) <= OPEN_LINES,
        ),
        _proofs(directory, status),
    ]


def _proofs(directory: Path, status: TuningStatus) -> Part:
    if not status.outcome:
        verify = Markup(
            "Not verified yet: <code>offbeat verify {}</code> launches the library with the files and"
        )
        shows = " shows which algorithm runs in each configuration."
        return Text(text=verify.format(directory) + shows)
    return Details(
        title="Proof",
        remark=status.outcome,
        parts=[status.proofs],
        is_open=len(status.proofs.rows) <= OPEN_LINES,
    )


SECTIONS: tuple[Callable[[Content], Section | None], ...] = (
    verdict,
    configurations,
    distribution,
    patterns,
    algorithms,
    measured,
    warnings,
    tuning,
)
"""The sections in the order of the page; None leaves one out."""


def _rendered(name: str, **values: Any) -> Markup:
    return Markup(_templates().get_template(f"{name}.html.j2").render(values))


@cache
def _templates() -> jinja2.Environment:
    templates = environment("offbeat.presentation.study_report")
    templates.filters |= {
        "size": lambda view: labels.size_label(view.configuration),
        "confidence": wording.confidence,
        "percent": wording.percent,
        "ratio": partial(wording.ratio, decimals=3),
        "cost": lambda share: wording.typeset(wording.cost(share)),
        "short": short,
        "spaced": lambda status: status.replace("_", " "),
    }
    return templates
