"""The selection as text: one line per configuration, caveats, and details on request."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from offbeat.select import wording
from offbeat.select.choose import Choice, Selection
from offbeat.select.details import details
from offbeat.select.outcome import outcome
from offbeat.select.table import Configuration
from offbeat.study.collectives import REDUCING, ROOTED
from offbeat.table import FittedTable, wrap_text
from offbeat.units import counted, format_size, listed

LEAD = ("library", "collective", "of", "p")
"""Columns that identify a configuration, besides the size; empty columns are omitted."""

LEGEND = (
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
            *selection_tables(selection, console),
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
            left = f"{counted(len(distinct) - number, 'more note')} and the meaning of the columns: --notes"
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
        widened = control.widening > 1.005
        text += f"; its intervals were widened {control.widening:.2f} times." if widened else "."
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


def selection_tables(selection: Selection, console: Console) -> list[RenderableType]:
    """One line per configuration: the no-delay winner, the choice, the confidence in it, and the slowdown of
    alternatives.

    One table where that fits into the console, else one for each collective and number of processes.
    """
    leads = _leads([choice.configuration for choice in selection.choices])
    columns = [name for name in LEAD if any(lead[name] for lead in leads.values())]
    within = wording.share_label(selection.terms.within)
    single = _table(columns, within, "p")
    for choice in selection.choices:
        single.add_row(*(Text(leads[choice.configuration][name]) for name in columns), *_columns(choice))
    if single.natural_width <= console.width:
        return [Text(), single]
    parts: list[RenderableType] = []
    groups: dict[str, list[Choice]] = {}
    for choice in selection.choices:
        groups.setdefault(_heading(leads[choice.configuration]), []).append(choice)
    for heading, group in groups.items():
        table = _table([], within)
        for choice in group:
            table.add_row(*_columns(choice))
        parts += [Text(f"\n{heading}", style="bold"), table]
    return parts


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


def _table(lead: list[str], within: str, right: str = "") -> FittedTable:
    """A table without rows; ``right`` is the leading column that is aligned right."""
    view = FittedTable(rule=True)
    for name in lead:
        view.add_column(name, justify="right" if name == right else "left")
    view.add_column("size", justify="right")
    view.add_column("no-delay\nwinner")
    view.add_column("choice", style="bold")
    view.add_column("same\nchoice", justify="right")
    view.add_column(f"within\n{within}", justify="right")
    view.add_column("max\nloss", justify="right")
    view.add_column("no-delay\nslowdown", justify="right")
    view.add_column("default\nslowdown", justify="right")
    return view


def _columns(choice: Choice) -> list[Text]:
    texts = [
        wording.NOTHING
        if choice.configuration.collective == "barrier"
        else format_size(choice.configuration.bytes),
        _with_equals(choice.no_delay_winner or wording.NOTHING, choice.no_delay_tied),
        _with_equals(choice.algorithm, choice.tied),
        *_certainty_columns(choice),
        wording.cost(choice.cost_of_no_delay_winner),
        wording.cost(choice.cost_of_default),
    ]
    return [Text(text) for text in texts]


def _certainty_columns(choice: Choice) -> list[str]:
    """The shares of resampled studies with the same choice and within the tolerance; the plausible loss."""
    certainty = choice.certainty
    if choice.not_measured:
        return ["partial", wording.NOTHING, wording.NOTHING]
    if certainty is None:
        return ["unknown", wording.NOTHING, wording.NOTHING]
    loss = certainty.plausible_loss
    return [
        "tie" if certainty.ties else wording.confidence(certainty.same_choice),
        wording.confidence(certainty.within_tolerance),
        wording.share_label(round(loss, 3 if loss < 0.1 else 2)),
    ]


def _with_equals(name: str, tied: list[str]) -> str:
    """A name with the algorithms of equal score: ``Lin = L-Sync``, or their number if there are several."""
    if len(tied) > 1:
        return f"{name} (and {len(tied)} equal)"
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
        sentences.append(f"{'every configuration' if is_general else listed(configurations)}: {sentence}")
    return list(dict.fromkeys([*selection.notes, *sentences]))
