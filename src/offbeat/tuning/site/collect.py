"""From the results of a study, or the directory of ``offbeat tune``, to an entry.

Only configurations that are measured completely are taken. What ``offbeat tune`` measured has shares: the
share of the program's run time, after the last arrival, in the calls of each configuration.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.base.campaign.directory import read_campaign
from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.families.libraries import LIBRARIES
from offbeat.measurement.results.read import Results, read_study
from offbeat.measurement.results.schema import CASES
from offbeat.measurement.runs.resume import has_results
from offbeat.model.study.case import CONFIGURATION, PARTITIONED_SEND
from offbeat.model.study.schema import RepetitionsSection
from offbeat.selection.choices.reliability import reliability
from offbeat.selection.choices.restrictions import study_progress
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import summary_of_trace
from offbeat.tuning.pipeline import directory as tune_directory
from offbeat.tuning.pipeline.traced_calls import select_calls
from offbeat.tuning.site.entry import (
    NAME,
    AlgorithmFact,
    Entry,
    LaunchFact,
    Origin,
    ShareFact,
    TimeFact,
    VerdictFact,
    check_library,
    in_order,
)

DEFAULT_WEIGHT = 1.0
NOT_STORED = ("prefix", "hostfile")
"""Keys of [mpi] that say nothing about launches on another day: which installation, and which nodes."""


class Collected(Struct, frozen=True, kw_only=True):
    """An entry, and sentences on what is not in it."""

    entry: Entry
    notes: list[str]


def collect(directory: Path, name: str = "", weight: float | None = None) -> Collected:
    """The entry of a result directory, or of a directory of ``offbeat tune``; its name is that of the study
    or program if none is given.

    Raises :class:`BadInput` for other directories, simulations, imports without an MPI library, and
    partitioned sends, and :class:`RunFailed` if no configuration is complete.
    """
    if (directory / tune_directory.SETTINGS).is_file():
        return _tuned(directory, name, weight)
    results = read_study(directory)
    folder = directory.resolve()
    return _collected(results, name or _as_name(folder.name.removesuffix("-results")), weight, folder)


def _tuned(directory: Path, name: str, weight: float | None) -> Collected:
    settings, _ = read_campaign(directory, tune_directory.FORMAT)
    if not has_results(directory / tune_directory.RESULTS):
        raise BadInput(f"{directory}: 'offbeat tune' has measured nothing yet; the same command resumes")
    results = read_study(directory / tune_directory.RESULTS)
    folder = Path(settings.trace) if settings.trace else directory / tune_directory.TRACE
    trace = open_trace(folder)
    summary = summary_of_trace(trace)
    calls = select_calls(trace, summary, settings.share).calls
    shares = [
        ShareFact(
            collective=one.collective,
            p=one.candidate.processes,
            bytes=one.measured_bytes,
            share=min(one.share, 1.0),
        )
        for one in calls
    ]
    program = shlex.join(settings.command)
    default = _as_name(f"{Path(summary.program).name or 'program'}-p{summary.processes}")
    return _collected(results, name or default, weight, directory.resolve(), program, shares)


def _collected(
    results: Results,
    name: str,
    weight: float | None,
    folder: Path,
    program: str = "",
    shares: list[ShareFact] | None = None,
) -> Collected:
    if not NAME.fullmatch(name):
        raise BadInput(
            f"'{name}' cannot be the name of an entry: it should begin with a letter or digit, and have"
            " letters, digits and . _ + - only (80 at most); give one with --name"
        )
    library = _library(results)
    cases, notes = _complete_cases(results)
    question = program or msgspec.json.encode(results.study, order="deterministic").decode()
    entry = Entry(
        origin=Origin(
            name=name,
            program=program,
            host=str(results.provenance.get("host", "")),
            path=str(folder),
            measured=str(results.provenance.get("time", "")),
            offbeat_version=str(results.provenance.get("offbeat_version", "")),
            study=hashlib.sha256(question.encode()).hexdigest()[:16],
            repetitions=int(cases["repetitions"].sum() or 0),
            warnings=[notice.observation for notice in reliability(results)],
        ),
        weight=DEFAULT_WEIGHT if weight is None else weight,
        library=library,
        launch=_launch(results.study),
        shares=_of_measured(shares or [], cases),
        algorithms=[msgspec.convert(one, AlgorithmFact, from_attributes=True) for one in results.algorithms],
        verdicts=[msgspec.convert(one, VerdictFact, from_attributes=True) for one in results.verdicts],
        times=[_time(row) for row in cases.iter_rows(named=True)],
    )
    if program and not entry.shares:
        notes.append(
            "None of the measured calls takes a share of the program's run time in its trace, so that the"
            " entry has no weight."
        )
    return Collected(entry=in_order(entry), notes=[*notes, *results.notes])


def _as_name(text: str) -> str:
    """A text with ``-`` in place of characters that names of entries do not have."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-._+")[:80] or "study"


def _library(results: Results) -> dict[str, Any]:
    """The measured library. Raises :class:`BadInput` unless it is a known MPI library of a known version."""
    library = results.provenance.get("library")
    if isinstance(library, Mapping) and library.get("simulated") is True:
        raise BadInput(
            f"{results.directory} was simulated, and a knowledge base holds what was measured on the"
            " centre's machines; measure it with 'offbeat run --engine mpi'"
        )
    known = isinstance(library, Mapping) and library.get("family") in LIBRARIES and library.get("version")
    if not isinstance(library, Mapping) or not known:
        raise BadInput(
            f"{results.directory} does not say which version of which MPI library was measured, as imports do"
            " not: numbers of algorithms differ between versions. Measure it with 'offbeat run'"
        )
    if (results.cases["collective"] == PARTITIONED_SEND).any():
        raise BadInput(
            f"{results.directory} measured {PARTITIONED_SEND}, for which there are no tuning files; a"
            " knowledge base holds collectives only"
        )
    return check_library(dict(library), f"{results.directory} (provenance)")


def _complete_cases(results: Results) -> tuple[pl.DataFrame, list[str]]:
    """The cases of all configurations that are measured completely, and a sentence on the others."""
    study = study_progress(results)
    partial = list(study.not_measured) if study is not None else []
    cases = results.cases
    if partial:
        keys = [f"{key}" for key in partial]
        own = [f"{key}" for key in cases.select(CONFIGURATION).iter_rows()]
        cases = cases.filter(~pl.Series(own, dtype=pl.String).is_in(keys))
    if cases.is_empty():
        raise RunFailed(
            f"{results.directory} has no complete configuration"
            + (f": {study.sentence}" if study is not None else "; 'offbeat run' measures them")
        )
    sentence = "Only complete configurations are added; add the results again when it is finished."
    return cases, [f"{study.sentence} {sentence}"] if study is not None else []


def _launch(study: Mapping[str, Any]) -> LaunchFact:
    mpi = {name: value for name, value in study.get("mpi", {}).items() if name not in NOT_STORED}
    hang_after_s = study.get("repetitions", {}).get("hang_after", RepetitionsSection().hang_after)
    return LaunchFact(mpi=mpi, hang_after_s=float(hang_after_s))


def _of_measured(shares: list[ShareFact], cases: pl.DataFrame) -> list[ShareFact]:
    """The shares of configurations that were measured; those with the same key as one."""
    measured = set(cases.select("collective", "p", "bytes").iter_rows())
    total: dict[tuple[str, int, int], float] = {}
    for one in shares:
        key = (one.collective, one.p, one.bytes)
        if key in measured:
            total[key] = total.get(key, 0.0) + one.share
    return [
        ShareFact(collective=collective, p=p, bytes=size, share=min(share, 1.0))
        for (collective, p, size), share in total.items()
    ]


def _time(row: Mapping[str, Any]) -> TimeFact:
    """A row of cases; what has its default value is not in the text."""
    values = {name: row[name] for name in TimeFact.__struct_fields__ if name in CASES}
    defaults = {field.name: field.default for field in msgspec.structs.fields(TimeFact)}
    stored = {name: value for name, value in values.items() if value is not None and value != defaults[name]}
    return msgspec.convert(stored, TimeFact)
