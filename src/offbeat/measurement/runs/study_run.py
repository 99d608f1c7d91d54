"""A study from its file to its results: what ``offbeat run`` and :class:`offbeat.Study` do."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Console

from offbeat.base.errors import BadInput
from offbeat.base.toml.lines import Key
from offbeat.base.units import amount
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.engines import executors
from offbeat.measurement.engines.engine_choice import (
    check_simulator_options,
    installation_of,
    open_engine_of,
    with_mpi,
)
from offbeat.measurement.results.recorded import moved_damage_note
from offbeat.measurement.runs import resume
from offbeat.measurement.runs.dry_run import describe
from offbeat.measurement.runs.run import run, time_limit
from offbeat.measurement.runs.run_progress import Outcome, RunProgress
from offbeat.model.study.study_file import LoadedStudy, from_values, load, loads, simulator_options


class RunOptions(Struct, frozen=True, kw_only=True):
    """Options of ``offbeat run`` in place of the values of a study file; None: as in the file.

    ``mpi`` is an MPI prefix or a name that ``offbeat doctor`` prints; with ``isolate``, each algorithm has a
    launch of its own. The others are keys of the study file.
    """

    mpi: str | None = None
    isolate: bool = False
    engine: str | None = None
    platform: str | None = None
    family: str | None = None
    executor: str | None = None

    def load(self, path: Path) -> LoadedStudy:
        """The study of a file with these options. Raises :class:`BadInput` for a faulty study, and for
        options that its engine does not have."""
        return self._apply(load(path, overrides=self._overrides()))

    def loads(self, text: str, path: Path) -> LoadedStudy:
        """The study of a text with these options, as :meth:`load`; ``path`` is for messages, and its folder
        for relative file names."""
        return self._apply(loads(text, path, overrides=self._overrides()))

    def from_values(self, values: Mapping[str, Any], path: Path) -> LoadedStudy:
        """The study of the keys of a study file as plain values with these options, as :meth:`loads`."""
        return self._apply(from_values(values, path, overrides=self._overrides()))

    def _overrides(self) -> dict[Key, str]:
        return simulator_options(
            engine=self.engine, platform=self.platform, family=self.family, executor=self.executor
        )

    def _apply(self, loaded_study: LoadedStudy) -> LoadedStudy:
        loaded_study = with_mpi(loaded_study, self.mpi, self.isolate)
        check_simulator_options(
            loaded_study, {"--platform": self.platform, "--family": self.family, "--executor": self.executor}
        )
        return loaded_study


def print_dry_run(
    loaded_study: LoadedStudy, mpi: str | None, console: Console, directory: Path | None = None
) -> None:
    """Print the cases, what a result directory has of them, the launch commands and an estimate of the time;
    nothing is measured."""
    installation = installation_of(loaded_study, mpi)
    with tempfile.TemporaryDirectory() as scratch:
        describe(loaded_study, open_engine_of(loaded_study, Path(scratch), installation), console, directory)


def run_study(
    loaded_study: LoadedStudy,
    directory: Path,
    progress: RunProgress,
    *,
    mpi: str | None = None,
    retry: bool = False,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Outcome:
    """Measure what is not done yet of a study, into a directory that is created or resumed.

    ``mpi`` is as the option ``--mpi``. With ``retry``, quarantined cases are measured again. ``out_of_time``
    is that of :func:`offbeat.measurement.runs.run.run`. Raises BadInput and RunFailed as it does, and as
    :func:`offbeat.measurement.runs.resume.open_store` does.
    """
    installation: Installation | None = installation_of(loaded_study, mpi)
    if loaded_study.study.engine == "sim":
        executors.check(loaded_study.study.simulator.executor)
    with resume.open_store(loaded_study, directory, progress.print) as store:
        if store.damaged:
            progress.warn(moved_damage_note(store.damaged, directory))
        if retry:
            progress.print(f"{amount(store.retry_quarantined(), 'quarantined case')} to try again")
        engine = open_engine_of(loaded_study, directory, installation)
        try:
            with progress:
                return run(loaded_study, store, engine, progress, out_of_time)
        finally:
            engine.close()


def before_job_ends(margin_min: float) -> Callable[[float], bool]:
    """``out_of_time`` for the batch job's time limit, with a margin in minutes; raises :class:`BadInput`."""
    if not margin_min >= 0:
        raise BadInput(f"--stop-before-limit {margin_min:g}: write 0 minutes or more")
    return time_limit(margin_min)
