"""The selection as text: one line a cell, what is to be known about it, and the details on demand."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from offbeat.select import wording
from offbeat.select.choose import Choice, Selection
from offbeat.select.details import details
from offbeat.select.table import Cell
from offbeat.study.case import REDUCING, ROOTED
from offbeat.table import FittedTable, limit_notes
from offbeat.units import format_size

LEAD = ("library", "collective", "of", "p")
"""Columns that tell cells apart beside the size; empty ones are left out."""

COSTS = (
    "no-delay costs, default costs: by how much the no-delay winner and the library's default score worse"
    " than the choice. If the study were repeated: same, the share of studies with the same choice (tie: its"
    " lead is below the noise floor); ≤{within}, the share in which it is at most that much worse than the"
    " best; loss, what it loses at most in 95% of them."
)
"""What the last columns say."""


def rendered(
    selection: Selection, console: Console, with_details: bool = False, *, all_notes: bool = False
) -> RenderableType:
    """Everything that ``offbeat select`` prints, fitted to the width of ``console``."""
    parts: list[RenderableType] = []
    if with_details:
        chosen = {choice.cell: choice for choice in selection.choices}
        for cell, table in selection.tables.items():
            parts += [details(table, chosen.get(cell), selection.terms.within, console.width), Text()]
    if selection.choices:
        parts += [Text(headline(selection)), *selection_tables(selection, console), _legend(selection)]
    return Group(*parts, *_warnings(selection), *_cautions(selection, all_notes))


def _warnings(selection: Selection) -> list[RenderableType]:
    """What makes the numbers behind the choices unreliable, and the remedy."""
    lines = [Text(f"{notice.what} {notice.mend}".strip()) for notice in selection.reliability]
    if not lines:
        return []
    return [Text("\nWarnings", style="bold"), *(Padding(line, (0, 0, 0, 2)) for line in lines)]


def _legend(selection: Selection) -> Text:
    """What the columns say, and what the study's own control showed."""
    words = COSTS.format(within=wording.share_label(selection.terms.within))
    control = selection.control
    if control is not None:
        words += (
            f" Noise of this study: {control.pairs} pairs of cases that must be equal differ by"
            f" {control.median:.1%} in the median and by {control.largest:.1%} in the 95th percentile"
        )
        widened = control.widening > 1.005
        words += f"; its intervals were widened {control.widening:.2f} times." if widened else "."
    return Text(words, style="dim")


def headline(selection: Selection) -> str:
    """What was selected from, and by which rule."""
    terms = selection.terms
    libraries = dict.fromkeys(cell.library for cell in selection.tables)
    scope = {
        "average": "the average over the patterns of d̂ relative to each pattern's fastest",
        "worst": "the worst over the patterns of d̂ relative to each pattern's fastest",
        "scenario": f"the smallest d̂ in the {_recorded_kind(selection)} {terms.rule.scenario}",
        "no_delay": "the smallest d̂ when all processes arrive together",
    }[terms.rule.kind]
    included = ", scenarios included" if terms.rule.include_scenarios else ""
    return f"Selection for {', '.join(libraries)} by {terms.rule}: {scope}{included}."


def _recorded_kind(selection: Selection) -> str:
    """Whether the rule's scenario is a replay."""
    rule = selection.terms.rule
    kinds = {table.kinds[i] for table in selection.tables.values() for i in rule.rows(table)}
    return "replay" if kinds == {"replay"} else "scenario"


def selection_tables(selection: Selection, console: Console) -> list[RenderableType]:
    """One line a cell: the no-delay winner, the choice, how sure it is, and what the alternatives cost.

    One table where that fits into the console, else one for each collective and number of processes.
    """
    leads = _leads([choice.cell for choice in selection.choices])
    columns = [name for name in LEAD if any(lead[name] for lead in leads.values())]
    within = wording.share_label(selection.terms.within)
    whole = _table(columns, within, "p")
    for choice in selection.choices:
        whole.add_row(*(Text(leads[choice.cell][name]) for name in columns), *_columns(choice))
    if whole.natural_width <= console.width:
        return [Text(), whole]
    parts: list[RenderableType] = []
    for heading, group in groupby(selection.choices, lambda choice: _heading(leads[choice.cell])):
        table = _table([], within)
        for choice in group:
            table.add_row(*_columns(choice))
        parts += [Text(f"\n{heading}", style="bold"), table]
    return parts


def _leads(cells: list[Cell]) -> dict[Cell, dict[str, str]]:
    """The texts of :data:`LEAD` for each cell; the library and what is reduced only where they vary."""
    libraries = len({cell.library for cell in cells}) > 1
    sizes = {(cell.library, cell.collective, cell.p, cell.nodes, cell.ppn, cell.bytes) for cell in cells}
    operations = len(sizes) < len(cells)
    return {
        cell: {
            "library": cell.library if libraries else "",
            "collective": cell.collective,
            "of": _operation(cell) if operations else "",
            "p": cell.placement,
        }
        for cell in cells
    }


def _heading(lead: dict[str, str]) -> str:
    """The heading of a group of cells: ``reduce of sum double, p=1024 (32×32)``."""
    what = " of ".join(filter(None, [lead["collective"], lead["of"]]))
    return ", ".join(filter(None, [what, f"p={lead['p']}", lead["library"]]))


def _table(lead: list[str], within: str, right: str = "") -> FittedTable:
    """The empty selection table behind some leading columns; ``right`` names the one aligned right, and
    ``within`` is the loss that counts as none."""
    view = FittedTable(rule=True)
    for name in lead:
        view.add_column(name, justify="right" if name == right else "left")
    view.add_column("size", justify="right")
    view.add_column("no-delay\nwinner")
    view.add_column("choice", style="bold")
    view.add_column("same", justify="right")
    view.add_column(f"≤{within}", justify="right")
    view.add_column("loss", justify="right")
    view.add_column("no-delay\ncosts", justify="right")
    view.add_column("default\ncosts", justify="right")
    return view


def _columns(choice: Choice) -> list[Text]:
    """The columns of a cell from its size on."""
    texts = [
        wording.NOTHING if choice.cell.collective == "barrier" else format_size(choice.cell.bytes),
        _with_ties(choice.no_delay_winner or wording.NOTHING, choice.no_delay_tied),
        _with_ties(choice.algorithm, choice.tied),
        *_certainty_columns(choice),
        wording.cost(choice.cost_of_no_delay_winner),
        wording.cost(choice.cost_of_default),
    ]
    return [Text(text) for text in texts]


def _certainty_columns(choice: Choice) -> list[str]:
    """The share of repeated studies with the same choice, that with one as good, and the plausible loss."""
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


def _with_ties(name: str, tied: list[str]) -> str:
    """A name with those that are exactly as good: ``Lin = L-Sync``, or their number where they are many."""
    if len(tied) > 1:
        return f"{name} (and {len(tied)} equal)"
    return " = ".join([name, *tied])


def _operation(cell: Cell) -> str:
    """What is reduced and where the root is."""
    parts = [cell.op] if cell.collective in REDUCING and cell.op else []
    parts += [cell.datatype] if cell.datatype else []
    parts += [f"root {cell.root}"] if cell.collective in ROOTED else []
    return " ".join(parts)


def _cautions(selection: Selection, everything: bool) -> list[RenderableType]:
    """Left-out cells and warnings, each sentence once with the cells that it is about.

    What was left out comes first, then the warnings on the most cells.
    """
    cells_of: dict[str, list[Cell]] = {}
    for left in selection.left_out:
        cells_of.setdefault(f"nothing selected: {left.reason}", []).append(left.cell)
    warned: dict[str, list[Cell]] = {}
    for choice in selection.choices:
        for sentence in choice.warnings:
            warned.setdefault(sentence, []).append(choice.cell)
    cells_of |= dict(sorted(warned.items(), key=lambda item: -len(item[1])))
    total = len(selection.choices) + len(selection.left_out)
    sentences = [f"{_about(cells, total)}: {sentence}" for sentence, cells in cells_of.items()]
    shown, rest = limit_notes([*selection.notes, *sentences], everything=everything)
    lines = [Padding(Text(line), (0, 0, 0, 2), expand=False) for line in [*shown, *([rest] if rest else [])]]
    return [Text("\nNotes", style="bold"), *lines] if lines else []


def _about(cells: list[Cell], total: int) -> str:
    """Which cells a sentence is about."""
    if len(cells) == total and total > 1:
        return "every cell"
    shown = ", ".join(str(cell) for cell in cells[:3])
    return f"{shown} and {len(cells) - 3} more" if len(cells) > 3 else shown
