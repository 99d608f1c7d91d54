"""A study's result directory across runs: creating it, or resuming in it."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_file
from offbeat.measurement.engines.engine import Engine
from offbeat.measurement.results import layout
from offbeat.measurement.results.provenance import provenance
from offbeat.measurement.results.store import Store
from offbeat.measurement.runs.repetition import BLOCKS_MULTIPLE
from offbeat.measurement.runs.study_growth import AUTO, REPETITIONS, changes, check_growth, judge_again
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.study_file import LoadedStudy, read_resolved, resolved_toml


def default_directory(study: Path) -> Path:
    """The directory of a study's results unless the user names one: ``study.toml`` → ``study-results``."""
    return study.parent / f"{study.stem}-results"


def has_results(directory: Path) -> bool:
    """Whether a directory holds results that a run can resume."""
    return os.path.exists(directory / layout.PROVENANCE)  # noqa: PTH110 - Path.exists raises for odd names


def open_store(
    loaded_study: LoadedStudy, directory: Path, say: Callable[[str], None] = lambda _: None
) -> Store:
    """Create the directory, or open it if it belongs to this study, or to one of which this one has all
    cases. ``say`` gets sentences about measured cases that the changed study measures further.

    Raises :class:`BadInput` if the study changed otherwise after the first case was measured, or a file that
    it names did.
    """
    if not has_results(directory):
        return _create(loaded_study, directory)
    store = Store.open(directory)
    try:
        old_study = read_resolved(store.study_toml)
        differences = changes(loaded_study, old_study, store.provenance)
        if not differences:
            _keep_hostfile(loaded_study, store)
            return store
        if store.has_records:
            check_growth(loaded_study, old_study, differences, directory)
            _grow(with_seed(loaded_study, old_study.seed), store, differences, say)
            return store
    except BaseException:
        store.close()
        raise
    store.close()
    _clear(directory)  # it holds no measured case
    return _create(loaded_study, directory)


FEWEST_BLOCKS = 2
"""Fewer blocks of a case do not show how much its delay varies."""


def finish_early(loaded_study: LoadedStudy, directory: Path) -> int:
    """Finish an interrupted study with the blocks that all of its cases have, and wider intervals.

    Returns this number of blocks; 0, and nothing is changed, if a case has fewer than FEWEST_BLOCKS. Running
    the study again measures the other blocks.
    """
    with Store.open(directory) as store:
        total, blocks = store.plan_total, store.blocks_by_case
        case_count = len(store.statuses)
    fewest = min(blocks, default=0)
    if case_count < total or fewest < FEWEST_BLOCKS:
        return 0
    # a case with BLOCKS_MULTIPLE times the planned blocks is finished, however wide its interval is
    rule = msgspec.structs.replace(loaded_study.study.repetitions, blocks=fewest // BLOCKS_MULTIPLE)
    study = msgspec.structs.replace(loaded_study.study, repetitions=rule)
    open_store(msgspec.structs.replace(loaded_study, study=study), directory).close()
    return fewest


def _grow(
    loaded_study: LoadedStudy, store: Store, differences: Sequence[str], say: Callable[[str], None]
) -> None:
    """Continue the results with a changed study. It replaces the old one last: after a kill before that, the
    same command does all of this again."""
    is_judged = any(key.startswith(REPETITIONS) for key in differences)
    if is_judged and (sentence := judge_again(loaded_study, store)):
        say(sentence)
    store.update_provenance({"files": loaded_study.file_digests()})
    store.replace_study(resolved_toml(loaded_study.study))


def _clear(directory: Path) -> None:
    """Empty a result directory, which may be a link; the files that mark it as one are deleted last."""
    last = [layout.PROVENANCE, layout.STUDY]
    entries = [entry for entry in directory.iterdir() if entry.name != layout.LOCK]
    for entry in sorted(entries, key=lambda entry: last.index(entry.name) if entry.name in last else -1):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _create(loaded_study: LoadedStudy, directory: Path) -> Store:
    seed = loaded_study.study.seed
    loaded_study = with_seed(loaded_study, secrets.randbits(63) if seed == AUTO else seed)
    facts = provenance({"files": loaded_study.file_digests(), "seed": loaded_study.study.seed})
    store = Store.create(directory, study_toml=resolved_toml(loaded_study.study), provenance=facts)
    _keep_hostfile(loaded_study, store)
    return store


def _keep_hostfile(loaded_study: LoadedStudy, store: Store) -> None:
    """Copy the host file to the results, so that they can be used without the study file.

    Raises BadInput if it cannot be read, RunFailed if the copy cannot be written.
    """
    hostfile = loaded_study.hostfile()
    if hostfile is None or (store.directory / layout.HOSTFILE).exists():
        return
    try:
        content = read_file(hostfile)
    except OSError as error:
        raise BadInput(f"cannot read the host file {hostfile}: {error.strerror or error}") from error
    store.write(layout.HOSTFILE, content)


def with_seed(loaded_study: LoadedStudy, seed: int | str) -> LoadedStudy:
    """The study with another seed of the order in which its cases are measured."""
    return msgspec.structs.replace(loaded_study, study=msgspec.structs.replace(loaded_study.study, seed=seed))


def seed_of(store: Store) -> int:
    """The seed of the order in which the cases of a result directory are measured."""
    return int(read_resolved(store.study_toml).seed)


def check_library(store: Store, engine: Engine) -> None:
    """Record the measured library; raise BadInput if it is another one than in an earlier run."""
    old_collectives = [one.collective for one in store.algorithms if one.name == DEFAULT and one.settings]
    if old_collectives:
        raise BadInput(
            f"{store.directory} was measured by an earlier version of offbeat, whose 'default' of"
            f" {', '.join(old_collectives)} was the algorithm of that name instead of the library's own"
            " decision; measure in another directory with --output"
        )
    facts = engine.describe()
    old_library = store.provenance.get("library")
    if old_library is None or not (store.has_records or store.verdicts):
        store.update_provenance(facts)
        return
    now = facts["library"]
    if (
        isinstance(old_library, dict)
        and isinstance(now, dict)
        and old_library.get("identity") != now.get("identity")
    ):
        raise BadInput(
            f"{store.directory} was measured with {old_library.get('name')} ({old_library.get('library')}),"
            f" but this is {now.get('name')} ({now.get('library')}): results of two libraries cannot be"
            " combined. Choose the same library with --mpi, or another directory with --output."
        )
