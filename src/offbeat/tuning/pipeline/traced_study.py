"""The study of a traced program: its calls, at their sizes and numbers of processes, and as they arrive.

A section of the study for each of the selected calls: it is measured without delays, under two shapes at its
skew, under its mean arrivals, and under its recorded arrivals call by call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tomlkit
from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.base.toml.structure import stated_keys
from offbeat.base.units import format_size
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.user_command import UserCommand
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.model.study.schema import (
    CollectiveSection,
    MpiSection,
    PatternsSection,
    ProcessesSection,
    SkewSection,
    Study,
)
from offbeat.trace import patterns
from offbeat.trace.calls.arrivals import Arrivals, samples
from offbeat.trace.files.trace_folder import Progress, Trace
from offbeat.trace.summary import Summary
from offbeat.tuning.pipeline.traced_calls import SelectedCalls

SHAPES = ("no_delay", "last_delayed", "random")
"""The shapes that are measured beside the recorded arrivals: they show what a choice costs if arrivals
change."""

REPLAYED_CALLS = 40
"""The most recorded calls of a replay."""

SAMPLED_CALLS = 200
"""The most calls of which arrivals are kept: the replay has some of them, the report draws all."""


class Launch(Struct, frozen=True, kw_only=True):
    """How the study is launched: the MPI installation's launcher, prefix or name, and the user's command
    without settings that choose algorithms."""

    mpi: str
    command: UserCommand


def launch_of(command: UserCommand, installation: Installation) -> Launch:
    """The launch as the user's, without settings that choose algorithms."""
    chooses = library_of(installation).chooses_algorithms
    variables = {name: value for name, value in command.variables.items() if not chooses(name, value)}
    return Launch(mpi=str(installation.mpirun), command=structs.replace(command, variables=variables))


class Section(Struct, frozen=True, kw_only=True, eq=False):
    """Some calls, and their section of the study; its pattern files are written.

    ``arrivals`` is a sample of the calls, None where their arrivals are unknown.
    """

    calls: SelectedCalls
    section: CollectiveSection
    arrivals: Arrivals | None = None


class PatternNames(Struct, frozen=True, kw_only=True):
    """The names of the pattern files and the replays of some calls."""

    files: list[str] = []
    replays: list[str] = []


def write_patterns(
    trace: Trace,
    summary: Summary,
    calls: Sequence[SelectedCalls],
    folder: Path,
    *,
    on_progress: Progress | None = None,
    keep: bool = False,
) -> list[Section]:
    """Write the pattern files of all calls to a folder, and return the sections of the study that use them.

    With ``keep``, files that are there already stay as they are: what was measured with them can then be
    continued by a version of offbeat that samples other calls of the trace.
    Reads the trace once. Raises :class:`BadInput` for a folder that cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot create the folder {folder}: {error.strerror or error}") from error
    rows = [one.row for one in calls if one.row is not None]
    arrivals = iter(samples(trace, rows, most_calls=SAMPLED_CALLS, on_progress=on_progress))
    sections = []
    for one in calls:
        own = next(arrivals) if one.row is not None else None
        section = _section(one, _written_patterns(summary, one, own, folder, keep=keep))
        sections.append(Section(calls=one, section=section, arrivals=own))
    return sections


def write_study(sections: Sequence[Section], program: str, launch: Launch, path: Path) -> Study:
    """Write the study file of some sections beside their pattern files; returns the study."""
    study = _study(sections, program, launch)
    pattern_file.write_text(path, "study file", _study_text(study, sections, program))
    return study


def _written_patterns(
    summary: Summary, one: SelectedCalls, arrivals: Arrivals | None, folder: Path, *, keep: bool
) -> PatternNames:
    """The names of the pattern file and of the replay of some calls, which are written to the folder."""
    if one.row is None or arrivals is None or not len(arrivals.delays_s):
        return PatternNames()
    mean_path, calls_path = folder / f"{one.stem}-mean.txt", folder / f"{one.stem}-calls.replay"
    if not (keep and mean_path.exists()):
        mean = patterns.mean_pattern(summary, one.row)
        pattern_file.write(mean_path, structs.replace(mean, name=mean_path.stem))
    if not (keep and calls_path.exists()):
        replay = patterns.recorded_calls(summary, arrivals, most_calls=REPLAYED_CALLS)
        replay_file.write(calls_path, structs.replace(replay, name=calls_path.stem))
    return PatternNames(files=[mean_path.name], replays=[calls_path.name])


def _section(calls: SelectedCalls, pattern_names: PatternNames) -> CollectiveSection:
    has_data = calls.collective != "barrier"
    return CollectiveSection(
        names=[calls.collective],
        sizes=[calls.measured_bytes] if has_data else [],
        datatype=calls.datatype if has_data else CollectiveSection(names=[]).datatype,
        p=[calls.layout.total],
        communicators=calls.layout.communicators,
        stride=calls.layout.stride if calls.layout.communicators > 1 else 1,
        skews=[float(f"{calls.skew_s:.3g}")] if calls.skew_s else [],
        files=pattern_names.files,
        replays=pattern_names.replays,
    )


def _study(sections: Sequence[Section], program: str, launch: Launch) -> Study:
    command = launch.command
    return Study(
        name=Path(program).name or "program",
        collective=[section.section for section in sections],
        processes=_processes([section.calls for section in sections]),
        patterns=PatternsSection(shapes=list(SHAPES)),
        skew=SkewSection(policy="fastest"),
        mpi=MpiSection(
            prefix=launch.mpi,
            launcher="srun" if command.launcher == "srun" else "auto",
            options=command.options,
            environment=command.variables,
        ),
    )


def _study_text(study: Study, sections: Sequence[Section], program: str) -> str:
    """Returns the text of the study file; comments say which share of the run time each section is about."""
    document = tomlkit.document()
    document.add(tomlkit.comment(f"The collectives of {program} that another algorithm can make faster."))
    values = stated_keys(study)
    document.add("name", tomlkit.item(study.name))
    tables = tomlkit.aot()
    for section, keys in zip(sections, values["collective"], strict=True):
        calls, table = section.calls, tomlkit.table()
        table.add(tomlkit.comment(f"{calls.name}: {calls.share:.1%} of the run time"))
        for name, value in keys.items():
            table.add(name, tomlkit.item(value))
        if "sizes" in keys:
            table["sizes"].comment(format_size(calls.measured_bytes))
        tables.append(table)
    document.add("collective", tables)
    for name in ("processes", "patterns", "skew", "mpi"):
        if name in values:
            document.add(name, tomlkit.item(values[name]))
    return tomlkit.dumps(document)


def _processes(calls: Sequence[SelectedCalls]) -> ProcessesSection:
    if all(selected.nodes == 0 for selected in calls):
        return ProcessesSection(p=sorted({selected.layout.total for selected in calls}))
    return ProcessesSection(
        nodes=sorted({selected.nodes for selected in calls}), ppn=sorted({selected.ppn for selected in calls})
    )
