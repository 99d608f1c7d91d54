"""A figure of the partitioned paper is measured as a study, drawn, and compared with the paper's claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.find import choose
from offbeat.measurement.engines.engine_choice import engine_of, find_approaches
from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs import resume
from offbeat.measurement.runs.run import run
from offbeat.measurement.runs.run_progress import ProgressListener
from offbeat.model.study.schema import (
    MpiSection,
    PartitionedSection,
    PatternsSection,
    ProcessesSection,
    SkewSection,
    Study,
)
from offbeat.model.study.study_file import LoadedStudy, from_structure
from offbeat.presentation.drawing.picture_files import write_pictures
from offbeat.presentation.reproduction.claims import Reproduction
from offbeat.presentation.reproduction.partitioned_claims import remarks, sentences
from offbeat.presentation.reproduction.partitioned_figure import LANES, PAPER_RULE, Setting
from offbeat.presentation.reproduction.partitioned_lines import figure_of, measured


def study(setting: Setting, approaches: Sequence[str], environment: Mapping[str, str]) -> LoadedStudy:
    """The study of a figure; ``approaches`` are those that the library has."""
    figure = setting.figure
    name = f"partitioned-figure{figure.number}"
    requested = Study(
        name=name,
        partitioned=[
            PartitionedSection(
                sizes=list(setting.sizes),
                partitions=[figure.partitions],
                threads=[setting.threads],
                approaches=list(approaches),
            )
        ],
        processes=ProcessesSection(nodes=[2], ppn=[1]) if setting.nodes == 2 else ProcessesSection(p=[2]),
        patterns=PatternsSection(shapes=["last_delayed" if setting.delay_rate else "no_delay"]),
        skew=SkewSection(policy="rate", rates=[setting.delay_rate]) if setting.delay_rate else SkewSection(),
        repetitions=PAPER_RULE,
        mpi=MpiSection(prefix=setting.library or "auto", environment=dict(environment)),
    )
    return from_structure(requested, f"{name}.toml")


def interfaces(setting: Setting, variable: str) -> dict[str, str]:
    """The environment that gives each thread an interface: lanes of offbeat, and the library's variable."""
    if not setting.figure.has_interfaces:
        return {}
    return dict.fromkeys(filter(None, (LANES, variable)), str(setting.threads))


FOLDER = "pictures"
"""The folder of the picture inside the result directory."""


def reproduce(
    setting: Setting,
    directory: Path,
    listener: ProgressListener,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Reproduction:
    """Measure the rest, draw the figure and check the paper's claims.

    Raises BadInput if the directory holds anything else, and RunFailed if the library cannot be launched.
    """
    installation = choose(setting.library or "auto")
    variable = library_of(installation).interfaces_variable if setting.figure.has_interfaces else ""
    environment = interfaces(setting, variable)
    loaded = study(setting, find_approaches(installation, setting.figure.approaches), environment)
    with resume.open_store(loaded, directory) as store:
        engine = engine_of(loaded, directory, installation)
        try:
            outcome = run(loaded, store, engine, listener, out_of_time)
        finally:
            engine.close()
    if outcome.is_stopped:
        return Reproduction(
            done=outcome.finished_cases, total=outcome.total, pictures=[], remarks=[], claims=[]
        )
    results = measured(setting, read_study(directory))
    return Reproduction(
        done=outcome.finished_cases,
        total=outcome.total,
        pictures=write_pictures(
            figure_of(results), directory / FOLDER, f"partitioned-figure{setting.figure.number}"
        ),
        remarks=remarks(results, variable),
        claims=sentences(results),
    )
