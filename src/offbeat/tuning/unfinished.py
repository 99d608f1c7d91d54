"""Which choices of an unfinished study may stand in a tuning file: those of complete configurations, unless
asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from offbeat.errors import RunFailed
from offbeat.results.plan import CELL
from offbeat.select.choose import Choice
from offbeat.select.table import Configuration
from offbeat.study.algorithm import DEFAULT
from offbeat.tuning.plan import TuningPlan
from offbeat.units import counted

if TYPE_CHECKING:
    from offbeat.select.choose import Selection


def settled(selection: Selection, *, partial: bool) -> list[Choice]:
    """The choices that a plan may be made of.

    Configurations that are not complete say ``default``, so that their neighbours' rules do not spread over
    them; with ``partial`` their choices stand as they are. Raises :class:`RunFailed` where no configuration
    is complete.
    """
    study = selection.unfinished
    if study is None or partial:
        return selection.choices
    complete = [choice for choice in selection.choices if not choice.not_measured]
    if selection.choices and not complete:
        raise RunFailed(
            f"nothing is exported, for no configuration is complete: {study.sentence} To export what there"
            f" is all the"
            " same, give --partial"
        )
    kept = [_left(choice.configuration) if choice.not_measured else choice for choice in selection.choices]
    libraries = dict.fromkeys(choice.configuration.library for choice in selection.choices)
    return (
        kept
        + [
            _left(Configuration(library=library, **dict(zip(CELL, configuration, strict=True))))  # type: ignore[arg-type]
            for library in list(libraries)[:1]
            for configuration in study.not_begun
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
    configurations = [str(choice.configuration) for choice in choices if choice.not_measured]
    if not configurations:
        return "Configurations that are not begun are left to the library."
    shown = ", ".join(configurations[:3]) + (
        f" and {len(configurations) - 3} more" if len(configurations) > 3 else ""
    )
    return (
        f"{counted(len(configurations), 'partial configuration')}"
        f" {'is' if len(configurations) == 1 else 'are'} left to the library"
        f" ({shown}); --partial exports them too."
    )


def _left(configuration: Configuration) -> Choice:
    """A configuration that is left to the library."""
    return Choice(
        configuration=configuration,
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
