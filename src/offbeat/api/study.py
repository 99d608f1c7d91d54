"""A study as an object: from a file, a text or keyword arguments to its results."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from offbeat.base.errors import RunFailed

if TYPE_CHECKING:
    from offbeat.api.results import Results
    from offbeat.measurement.runs.study_run import RunOptions
    from offbeat.model.study.study_file import LoadedStudy

FROM_TEXT = "<study>"
"""Stands for the file in messages about a study that has none."""


class Study:
    """What is to be measured or simulated; made by :meth:`load`, :meth:`from_text` or :meth:`of`.

    A faulty study raises :class:`offbeat.BadInput` with a line for every fault. ``text`` is its TOML text,
    ``name`` its name.
    """

    def __init__(self, loaded: LoadedStudy, mpi: str | None = None) -> None:
        self._loaded = loaded
        self._mpi = mpi

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        mpi: str | None = None,
        isolate: bool = False,
        engine: str | None = None,
        platform: str | None = None,
        family: str | None = None,
        executor: str | None = None,
    ) -> Self:
        """The study of a file. The options replace values of the file, as those of ``offbeat run`` do."""
        options = _options(mpi, isolate, engine, platform, family, executor)
        return cls(options.load(Path(path)), mpi)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        folder: str | PathLike[str] = ".",
        mpi: str | None = None,
        isolate: bool = False,
        engine: str | None = None,
        platform: str | None = None,
        family: str | None = None,
        executor: str | None = None,
    ) -> Self:
        """The study of a text in TOML; its file names are relative to ``folder``. Options as :meth:`load`."""
        options = _options(mpi, isolate, engine, platform, family, executor)
        return cls(options.loads(text, Path(folder) / FROM_TEXT), mpi)

    @classmethod
    def of(
        cls,
        collectives: str | Sequence[str],
        sizes: str | int | Sequence[str | int] = (),
        p: int | Sequence[int] = (),
        *,
        algorithms: str | Sequence[str] = "all",
        shapes: str | Sequence[str] | None = None,
        platform: str | None = None,
        family: str | None = None,
        mpi: str | None = None,
        folder: str | PathLike[str] = ".",
        **keys: Any,
    ) -> Self:
        """The study of some collectives, at message sizes such as ``"64 KiB"``, on ``p`` processes.

        It is simulated if a ``platform`` or a ``family`` of algorithms is given, otherwise measured with the
        MPI library ``mpi`` (a prefix, or a name that ``offbeat doctor`` prints). ``shapes`` are those of the
        arrival patterns; without them, the default ones. ``keys`` are further keys and tables of the study
        file: ``name="night run"``, ``skew={"policy": "fastest"}``, ``processes={"nodes": [2], "ppn": [4]}``.
        File names in them are relative to ``folder``.
        """
        section = {"names": _listed(collectives), "algorithms": _listed(algorithms)}
        content: dict[str, Any] = {"collective": [section]}
        if sizes or sizes == 0:
            section["sizes"] = _listed(sizes)
        if p or p == 0:
            content["processes"] = {"p": _listed(p)}
        if shapes is not None:
            content["patterns"] = {"shapes": _listed(shapes)}
        simulator = {"platform": platform, "family": family}
        if given := {name: value for name, value in simulator.items() if value is not None}:
            content |= {"engine": "sim", "simulator": given}
        options = _options(mpi)
        return cls(options.from_values(_merged(content, keys), Path(folder) / FROM_TEXT), mpi)

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._loaded.study.name

    @property
    def text(self) -> str:
        """The text of the study file."""
        return self._loaded.text

    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the text as a study file, for ``offbeat run``; with ``force``, over another file.

        File names in it stay as they are, and options of :meth:`load` are not part of it.
        """
        from offbeat.base.atomic_write import write_new

        write_new(Path(path), self.text, "the study", force=force)
        return Path(path)

    def dry_run(self, directory: str | PathLike[str] | None = None) -> str:
        """The cases, how many are measured, the launch commands and an estimate of the time, as text.

        Nothing is measured. ``directory`` is that of the results, as in :meth:`run`.
        """
        from rich.console import Console

        from offbeat.measurement.runs.study_run import print_dry_run

        console = Console(file=io.StringIO(), width=110)
        place = self.directory if directory is None else Path(directory)
        print_dry_run(self._loaded, self._mpi, console, place)
        stream = console.file
        assert isinstance(stream, io.StringIO)
        return stream.getvalue()

    def run(
        self,
        directory: str | PathLike[str] | None = None,
        *,
        retry: bool = False,
        stop_before_limit_min: float = 5.0,
    ) -> Results:
        """Measure or simulate what is not done yet, and return the results.

        ``directory`` is created or resumed; without one it is that of ``offbeat run``: ``study.toml`` →
        ``study-results``. With ``retry``, quarantined cases are measured again. In a batch job, no case
        begins later than ``stop_before_limit_min`` minutes before its time limit. An interrupted run is
        resumed by the same call, and nothing is measured twice.

        Raises :class:`offbeat.BadInput`, and :class:`offbeat.RunFailed` if no algorithm of a collective was
        proved to run, or if the job's time was used up; what was measured can then be opened by
        :meth:`offbeat.Results.open`.
        """
        from offbeat.api.results import Results
        from offbeat.measurement.runs.run_progress import RunProgress, failure_message
        from offbeat.measurement.runs.study_run import before_job_ends, run_study

        place = self.directory if directory is None else Path(directory)
        outcome = run_study(
            self._loaded,
            place,
            RunProgress(),
            mpi=self._mpi,
            retry=retry,
            out_of_time=before_job_ends(stop_before_limit_min),
        )
        if outcome.unproved_collectives or not (outcome.has_times or outcome.is_stopped):
            raise RunFailed(failure_message(outcome, self._loaded.path, place))
        if outcome.is_stopped:
            raise RunFailed(
                f"stopped before the job's time limit with {outcome.finished_cases} of {outcome.total} cases"
                " done; the same call resumes the study"
            )
        return Results.open(place)

    @property
    def directory(self) -> Path:
        """The directory of the results unless :meth:`run` is given another one."""
        from offbeat.measurement.runs.resume import default_directory

        path = self._loaded.path
        return default_directory(path.with_name(f"{self.name}.toml") if path.name == FROM_TEXT else path)

    def __repr__(self) -> str:
        """The name, and what is measured."""
        return f"<offbeat.Study {self.name}: {self._loaded.path}>"

    def _repr_html_(self) -> str:
        from offbeat.presentation.pages.notebook import study_html

        return study_html(self._loaded)


def _options(
    mpi: str | None,
    isolate: bool = False,
    engine: str | None = None,
    platform: str | None = None,
    family: str | None = None,
    executor: str | None = None,
) -> RunOptions:
    from offbeat.measurement.runs.study_run import RunOptions

    return RunOptions(
        mpi=mpi, isolate=isolate, engine=engine, platform=platform, family=family, executor=executor
    )


def _listed(value: Any) -> list[Any]:
    """A list of a single value, or of several."""
    return [value] if isinstance(value, str | int) else list(value)


def _merged(content: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study; tables in ``keys`` are added to those of ``content``."""
    merged = dict(content)
    for name, value in keys.items():
        before = merged.get(name)
        merged[name] = (
            {**before, **value} if isinstance(before, dict) and isinstance(value, Mapping) else value
        )
    return merged
