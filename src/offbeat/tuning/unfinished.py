"""Which choices of an unfinished study may stand in a tuning file: those of complete cells, unless asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from offbeat.errors import RunFailed
from offbeat.results.plan import CONFIGURATION
from offbeat.select.choose import Choice
from offbeat.select.table import Cell
from offbeat.study.algorithm import DEFAULT
from offbeat.tuning.plan import TuningPlan
from offbeat.units import counted

if TYPE_CHECKING:
    from offbeat.select.choose import Selection


def settled(selection: Selection, *, partial: bool) -> list[Choice]:
    """The choices that a plan may be made of.

    Cells that are not complete say ``default``, so that their neighbours' rules do not spread over them;
    with ``partial`` their choices stand as they are. Raises :class:`RunFailed` where no cell is complete.
    """
    study = selection.unfinished
    if study is None or partial:
        return selection.choices
    complete = [choice for choice in selection.choices if not choice.not_measured]
    if selection.choices and not complete:
        raise RunFailed(
            f"nothing is exported, for no cell is complete: {study.sentence} To export what there is all the"
            " same, give --partial"
        )
    kept = [_left(choice.cell) if choice.not_measured else choice for choice in selection.choices]
    libraries = dict.fromkeys(choice.cell.library for choice in selection.choices)
    return (
        kept
        + [
            _left(Cell(library=library, **dict(zip(CONFIGURATION, cell, strict=True))))  # type: ignore[arg-type]
            for library in list(libraries)[:1]
            for cell in study.not_begun
        ]
    )


def marked(made: TuningPlan, selection: Selection, *, partial: bool) -> TuningPlan:
    """The plan with a note on what an unfinished study means for it; its files repeat it."""
    study = selection.unfinished
    if study is None:
        return made
    if partial:
        note = f"PARTIAL EVIDENCE, exported with --partial: {study.sentence}"
        return msgspec.structs.replace(made, notes=[note, *made.notes], partial=note)
    return msgspec.structs.replace(
        made, notes=[f"{study.sentence} {_omitted(selection.choices)}", *made.notes]
    )


def _omitted(choices: Sequence[Choice]) -> str:
    cells = [str(choice.cell) for choice in choices if choice.not_measured]
    if not cells:
        return "Cells that are not begun are left to the library."
    shown = ", ".join(cells[:3]) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "")
    return (
        f"{counted(len(cells), 'partial cell')} {'is' if len(cells) == 1 else 'are'} left to the library"
        f" ({shown}); --partial exports them too."
    )


def _left(cell: Cell) -> Choice:
    """A cell that is left to the library."""
    return Choice(
        cell=cell,
        rule="",
        algorithm=DEFAULT,
        no_delay_winner=None,
        winners={},
        good={},
        scores={},
        certainty=None,
        cost_of_no_delay_winner=None,
        cost_of_default=None,
        warnings=[],
    )
