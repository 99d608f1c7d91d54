"""Which choices of an unfinished study may be exported: not those of partial configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from offbeat.base.errors import RunFailed
from offbeat.base.units import amount, format_list
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.case import CONFIGURATION, columns_of
from offbeat.selection.choices.choose import Choice, Selection
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.tuning_files.tuning_plan import TuningPlan


def exportable_choices(selection: Selection, *, partial: bool) -> list[Choice]:
    """The choices that may be exported.

    Incomplete configurations become ``default``, so that their neighbours' rules do not cover them; with
    ``partial`` their choices are exported. Raises :class:`RunFailed` if no configuration is complete.
    """
    study = selection.progress
    if study is None or partial:
        return selection.choices
    complete = [choice for choice in selection.choices if not choice.not_measured]
    if selection.choices and not complete:
        raise RunFailed(
            f"nothing is exported because no configuration is complete: {study.sentence} To export what there"
            " is all the same, give --partial"
        )
    choices = [
        Choice(configuration=choice.configuration, algorithm=DEFAULT) if choice.not_measured else choice
        for choice in selection.choices
    ]
    not_begun: list[dict[str, Any]] = [
        columns_of(dict(zip(CONFIGURATION, configuration, strict=True))) for configuration in study.not_begun
    ]
    return choices + [
        Choice(configuration=Configuration(library=library, **fields), algorithm=DEFAULT)
        for library in [choice.configuration.library for choice in selection.choices[:1]]
        for fields in not_begun
    ]


def with_progress_note(plan: TuningPlan, selection: Selection, *, partial: bool) -> TuningPlan:
    """The plan with a note on the unfinished study; its files repeat the note."""
    study = selection.progress
    if study is None:
        return plan
    if partial:
        note = f"PARTIAL EVIDENCE, exported with --partial: {study.sentence}"
        return msgspec.structs.replace(plan, notes=[note, *plan.notes], partial=note)
    return msgspec.structs.replace(
        plan, notes=[f"{study.sentence} {_omission_text(selection.choices)}", *plan.notes]
    )


def _omission_text(choices: Sequence[Choice]) -> str:
    configurations = [str(choice.configuration) for choice in choices if choice.not_measured]
    if not configurations:
        return "Configurations that are not started are left to the library."
    are = "is" if len(configurations) == 1 else "are"
    return (
        f"{amount(len(configurations), 'partial configuration')} {are} left to the library"
        f" ({format_list(configurations)}); --partial exports them too."
    )
