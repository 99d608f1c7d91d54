"""Several studies of one library as one: their configurations together give one tuning file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from msgspec import structs

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size
from offbeat.measurement.results.plan import Plan
from offbeat.measurement.results.read import Results, latest
from offbeat.model.study.case import CONFIGURATION


def merged(studies: Sequence[Results]) -> Results:
    """The results of all studies together; those of the first one supply the directory and the study.

    Raises :class:`BadInput` for studies of different libraries or with different variables of the processes,
    and for a configuration that several of them measured.
    """
    first, *others = studies
    for other in others:
        _refuse_other_launches(first, other)
    _refuse_overlaps(studies)
    if not others:
        return first
    return structs.replace(
        first,
        cases=pl.concat([one.cases for one in studies]),
        repetitions=pl.concat([one.repetitions for one in studies]),
        algorithms=latest(item for one in studies for item in one.algorithms),
        verdicts=latest(item for one in studies for item in one.verdicts),
        notes=[note for one in studies for note in one.notes],
        plan=_plan([one.plan for one in studies]),
        checksums={case: sums for one in studies for case, sums in one.checksums.items()},
    )


def _plan(plans: Sequence[Plan | None]) -> Plan | None:
    known = [plan for plan in plans if plan is not None]
    if len(known) < len(plans):
        return None
    return Plan(
        total=sum(plan.total for plan in known), cases=[case for plan in known for case in plan.cases]
    )


def _refuse_other_launches(first: Results, other: Results) -> None:
    for what, one, two in (
        ("libraries", _library(first), _library(other)),
        ("variables of the processes ([mpi.environment])", _environment(first), _environment(other)),
    ):
        if one != two:
            raise BadInput(
                f"{first.directory} and {other.directory} were measured with different {what},"
                f" {one or 'none'} and {two or 'none'}: one tuning file cannot hold"
                " both; export them into two folders"
            )


def _library(results: Results) -> object:
    library = results.provenance.get("library")
    if not isinstance(library, Mapping):
        return library
    return f"{library.get('name')} ({library.get('identity', library.get('library', ''))})"


def _environment(results: Results) -> object:
    section = results.study.get("mpi")
    return section.get("environment") if isinstance(section, Mapping) else None


def _refuse_overlaps(studies: Sequence[Results]) -> None:
    """Raise :class:`BadInput` for a configuration of several studies."""
    owner: dict[tuple[object, ...], Results] = {}
    for one in studies:
        for row in one.cases.select(CONFIGURATION).unique(maintain_order=True).iter_rows(named=True):
            configuration = tuple(row.values())
            other = owner.setdefault(configuration, one)
            if other is not one:
                size = f" of {format_size(row['bytes'])}" if row["bytes"] else ""
                raise BadInput(
                    f"{other.directory} and {one.directory} both measured {row['collective']}{size} on"
                    f" p = {row['p']}: give one of them, or measure further sizes in the first one (a study"
                    " can grow)"
                )
