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


def merge_studies(studies: Sequence[Results]) -> Results:
    """The results of all studies together; those of the first one supply the directory and the study.

    Raises :class:`BadInput` for studies of different libraries or with different variables of the processes,
    and for a configuration that several of them measured.
    """
    first, *other_studies = studies
    for study in other_studies:
        _refuse_other_launches(first, study)
    _refuse_overlaps(studies)
    if not other_studies:
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
    present_plans = [plan for plan in plans if plan is not None]
    if len(present_plans) < len(plans):
        return None
    return Plan(
        total=sum(plan.total for plan in present_plans),
        cases=[case for plan in present_plans for case in plan.cases],
    )


def _refuse_other_launches(first: Results, other_study: Results) -> None:
    for aspect, first_value, other_value in (
        ("libraries", _library(first), _library(other_study)),
        ("variables of the processes ([mpi.environment])", _environment(first), _environment(other_study)),
    ):
        if first_value != other_value:
            raise BadInput(
                f"{first.directory} and {other_study.directory} were measured with different {aspect},"
                f" {first_value or 'none'} and {other_value or 'none'}: one tuning file cannot hold"
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
    for study in studies:
        for row in study.cases.select(CONFIGURATION).unique(maintain_order=True).iter_rows(named=True):
            configuration = tuple(row.values())
            earlier = owner.setdefault(configuration, study)
            if earlier is not study:
                size = f" of {format_size(row['bytes'])}" if row["bytes"] else ""
                raise BadInput(
                    f"{earlier.directory} and {study.directory} both measured {row['collective']}{size}"
                    f" on p = {row['p']}: give one of them, or measure further sizes in the first one"
                    " (a study can grow)"
                )
