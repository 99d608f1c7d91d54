"""The selection as text: one line per configuration, caveats, and details on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from offbeat.base.terminal_table import FittedTable, wrap_text
from offbeat.base.units import amount, format_list, format_size
from offbeat.model.study.collectives import REDUCING, ROOTED
from offbeat.presentation.selection.details import details
from offbeat.selection.choices import wording
from offbeat.selection.choices.certainty import EXACT
from offbeat.selection.choices.choose import Choice, Selection
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.choices.outcome import outcome

LEAD = ("library", "collective", "of", "p")
"""Columns that identify a configuration, besides the size; empty columns are omitted."""

LEGEND = (
    "a = b: equal scores; a +2: two more algorithms have the score of a.\n"
    "no-delay slowdown: by how much the no-delay winner scores worse than the choice.\n"
    "default slowdown: by how much the library's default scores worse than the choice.\n"
    "Confidence, from simulated repetitions of the study:\n"
    "same choice: the share of repetitions with the same choice; tie: its lead is below the noise floor.\n"
    "within {within}: the share in which the choice is worse than the best by at most {within}.\n"
    "max loss: the 95th percentile of the loss of the choice."
)
"""The meaning of the last columns."""


MOST_NOTE_LINES = 5
"""The lines below the table, unless all notes are printed."""


def rendered(
    selection: Selection,
    console: Console,
    with_details: bool = False,
    *,
    all_notes: bool = False,
    more_notes: Sequence[str] = (),
) -> RenderableType:
    """The output of ``offbeat select``, fitted to the width of ``console``.

    With ``with_details``, each configuration has a screen of tables. Below the table are at most
    :data:`MOST_NOTE_LINES` lines, the warnings first; with ``all_notes`` the meaning of the columns and all
    warnings and notes, ``more_notes`` among them.
    """
    parts: list[RenderableType] = []
    if with_details:
        chosen = {choice.configuration: choice for choice in selection.choices}
        for configuration, table in selection.tables.items():
            parts += [
                details(
                    table,
                    chosen.get(configuration),
                    selection.terms.within,
                    console.width,
                    everything=all_notes,
                ),
                Text(),
            ]
    if selection.choices:
        parts += [
            Text(outcome(selection.choices)),
            Text(headline(selection)),
            Text(),
            selection_table(selection, console.width),
            Text(),
        ]
    warnings = [notice.sentence for notice in selection.reliability]
    notes = [*_notes(selection), *more_notes]
    if not all_notes:
        return Group(*parts, *_few_lines([*warnings, *notes], console.width))
    legend = [_legend(selection)] if selection.choices else []
    return Group(*parts, *legend, *_section("Warnings", warnings), *_section("Notes", notes))


def _few_lines(sentences: Sequence[str], width: int) -> list[RenderableType]:
    """The first sentences that fit into MOST_NOTE_LINES, and a line that says how many there are."""
    distinct = list(dict.fromkeys(sentences))
    lines: list[Text] = []
    for number, sentence in enumerate(distinct):
        wrapped = wrap_text(Text(sentence), width)
        if len(lines) + len(wrapped) >= MOST_NOTE_LINES:
            left = f"{amount(len(distinct) - number, 'more note')} and the meaning of the columns: --notes"
            return [*lines, Text(left, style="dim")]
        lines += wrapped
    return [*lines, Text("The meaning of the columns: --notes", style="dim")]


def _section(title: str, sentences: list[str]) -> list[RenderableType]:
    """Indented sentences under a title; nothing if there are none."""
    lines = [Padding(Text(sentence), (0, 0, 0, 2), expand=False) for sentence in sentences]
    return [Text(f"\n{title}", style="bold"), *lines] if lines else []


def _legend(selection: Selection) -> Text:
    """The meaning of the columns, and the noise of the study."""
    text = LEGEND.format(within=wording.share_label(selection.terms.within))
    control = selection.control
    if control is not None:
        text += (
            f"\nNoise of this study: {control.pairs} pairs of cases that must be equal differ by"
            f" {control.median:.1%} in the median and by {control.largest:.1%} in the 95th percentile"
        )
        widened = control.scatter_factor > 1.005
        text += f"; its intervals were widened {control.scatter_factor:.2f} times." if widened else "."
    return Text(text, style="dim")


def headline(selection: Selection) -> str:
    """The libraries and the rule of a selection, in a sentence."""
    terms = selection.terms
    libraries = dict.fromkeys(configuration.library for configuration in selection.tables)
    scope = {
        "average": "for each pattern, d̂ divided by the smallest d̂; then the mean over the patterns",
        "worst": "for each pattern, d̂ divided by the smallest d̂; then the maximum over the patterns",
        "scenario": f"the smallest d̂ in the {_recorded_kind(selection)} {terms.rule.scenario}",
        "no_delay": "the smallest d̂ when all processes arrive together",
    }[terms.rule.kind]
    included = ", scenarios included" if terms.rule.include_scenarios else ""
    return f"Selection for {', '.join(libraries)} by the rule {terms.rule}: {scope}{included}."


def _recorded_kind(selection: Selection) -> str:
    """``replay`` if the rule's scenario is a replay, else ``scenario``."""
    rule = selection.terms.rule
    kinds = {table.kinds[i] for table in selection.tables.values() for i in rule.rows(table)}
    return "replay" if kinds == {"replay"} else "scenario"


def selection_table(selection: Selection, width: int) -> FittedTable:
    """One line per configuration: the no-delay winner, the choice, the confidence in it, and the slowdown of
    alternatives.

    Collective and processes are columns where these fit into ``width``, else titles above groups of lines.
    """
    choices = selection.choices
    leads = _leads([choice.configuration for choice in choices])
    columns = [name for name in LEAD if any(lead[name] for lead in leads.values())]
    shown = _shown_columns(choices, wording.share_label(selection.terms.within))
    table = _table(columns, shown)
    for choice in choices:
        table.add_row(*(leads[choice.configuration][name] for name in columns), *_cells(choice, shown))
    if table.natural_width <= width:
        return table
    grouped = _table([], shown)
    groups: dict[str, list[Choice]] = {}
    for choice in choices:
        groups.setdefault(_heading(leads[choice.configuration]), []).append(choice)
    for heading, group in groups.items():
        grouped.begin_group(heading)
        for choice in group:
            grouped.add_row(*_cells(choice, shown))
    return grouped


def _leads(configurations: list[Configuration]) -> dict[Configuration, dict[str, str]]:
    """The texts of :data:`LEAD`; the library, and what is reduced or divided, only where they vary."""
    libraries = len({configuration.library for configuration in configurations}) > 1
    sizes = {replace(one, op="", datatype="", root=0, partitions=1, threads=1) for one in configurations}
    operations = len(sizes) < len(configurations)
    return {
        configuration: {
            "library": configuration.library if libraries else "",
            "collective": configuration.collective,
            "of": _operation(configuration) if operations else "",
            "p": configuration.placement,
        }
        for configuration in configurations
    }


def _heading(lead: dict[str, str]) -> str:
    """The heading of a group of configurations: ``reduce of sum double, p=1024 (32×32)``."""
    operation = " of ".join(filter(None, [lead["collective"], lead["of"]]))
    return ", ".join(filter(None, [operation, f"p={lead['p']}", lead["library"]]))


def _shown_columns(choices: Sequence[Choice], within: str) -> dict[str, Callable[[Choice], str]]:
    """Heading → cell, of the columns with information: exact results need no confidence."""
    is_exact = all(choice.certainty is EXACT and not choice.not_measured for choice in choices)
    confidence = {"same\nchoice": _same_choice, f"within\n{within}": _within, "max\nloss": _max_loss}
    columns: dict[str, Callable[[Choice], str]] = {} if is_exact else dict(confidence)
    columns["no-delay\nslowdown"] = lambda choice: wording.cost(choice.cost_of_no_delay_winner)
    columns["default\nslowdown"] = lambda choice: wording.cost(choice.cost_of_default)
    return {
        heading: cell
        for heading, cell in columns.items()
        if any(cell(choice) != wording.DASH for choice in choices)
    }


def _table(lead: Sequence[str], shown: Iterable[str]) -> FittedTable:
    """A table without rows; ``lead`` are the columns before the size."""
    view = FittedTable(rule=True)
    for name in lead:
        view.add_column(name, justify="right" if name == "p" else "left")
    view.add_column("size", justify="right")
    view.add_column("no-delay\nwinner")
    view.add_column("choice", style="bold")
    for heading in shown:
        view.add_column(heading, justify="right")
    return view


def _cells(choice: Choice, shown: Mapping[str, Callable[[Choice], str]]) -> list[str]:
    has_size = choice.configuration.collective != "barrier"
    return [
        format_size(choice.configuration.bytes) if has_size else wording.DASH,
        _with_equals(choice.no_delay_winner or wording.DASH, choice.no_delay_tied),
        _with_equals(choice.algorithm, choice.tied),
        *(cell(choice) for cell in shown.values()),
    ]


def _same_choice(choice: Choice) -> str:
    """The share of resampled studies with the same choice, or why it is not known."""
    if choice.not_measured or choice.certainty is None:
        return "partial" if choice.not_measured else "unknown"
    return "tie" if choice.certainty.ties else wording.confidence(choice.certainty.same_choice)


def _within(choice: Choice) -> str:
    """The share of resampled studies in which the loss is within the tolerance."""
    if choice.not_measured or choice.certainty is None:
        return wording.DASH
    return wording.confidence(choice.certainty.within_tolerance)


def _max_loss(choice: Choice) -> str:
    """The plausible loss."""
    if choice.not_measured or choice.certainty is None:
        return wording.DASH
    loss = choice.certainty.plausible_loss
    return wording.share_label(round(loss, 3 if loss < 0.1 else 2))


def _with_equals(name: str, tied: list[str]) -> str:
    """A name with the algorithms of equal score: ``Lin = L-Sync``; their number if there are several."""
    if len(tied) > 1:
        return f"{name} +{len(tied)}"
    return " = ".join([name, *tied])


def _operation(configuration: Configuration) -> str:
    parts = [configuration.op] if configuration.collective in REDUCING and configuration.op else []
    parts += [configuration.datatype] if configuration.datatype else []
    parts += [f"root {configuration.root}"] if configuration.collective in ROOTED else []
    parts += [configuration.division] if configuration.division else []
    return " ".join(parts)


def _notes(selection: Selection) -> list[str]:
    """Omitted configurations and caveats, each sentence once with the configurations that it applies to.

    Omitted configurations come first, then the caveats that apply to most configurations.
    """
    applies_to: dict[str, list[Configuration]] = {}
    for left in selection.left_out:
        applies_to.setdefault(f"nothing selected: {left.reason}", []).append(left.configuration)
    caveats: dict[str, list[Configuration]] = {}
    for choice in selection.choices:
        for sentence in choice.warnings:
            caveats.setdefault(sentence, []).append(choice.configuration)
    applies_to |= dict(sorted(caveats.items(), key=lambda item: -len(item[1])))
    total = len(selection.choices) + len(selection.left_out)
    sentences = []
    for sentence, configurations in applies_to.items():
        is_general = len(configurations) == total > 1
        sentences.append(
            f"{'every configuration' if is_general else format_list(configurations)}: {sentence}"
        )
    return list(dict.fromkeys([*selection.notes, *sentences]))
