"""A study's result directory across runs: a new one, or one to go on with."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

import msgspec

from offbeat.engines.base import Engine
from offbeat.errors import BadInput
from offbeat.results import layout
from offbeat.results.provenance import provenance
from offbeat.results.store import Store
from offbeat.study.load import HOSTFILE_KEY, LoadedStudy, changed_keys, read_resolved

AUTO = "auto"
"""The seed of a study that leaves it to be drawn."""

MAY_CHANGE = ("mpi.prefix", "simulator.executor")
"""Keys of a study that may change: whether the prefix still names the same library, check_library tells."""

MAY_MOVE = (HOSTFILE_KEY,)
"""Keys of a study that name a file: the file may be elsewhere now, with the same content."""


def default_directory(study: Path) -> Path:
    """Where a study's results go unless the user says otherwise: ``study.toml`` → ``study-results``."""
    return study.parent / f"{study.stem}-results"


def has_results(directory: Path) -> bool:
    """Whether a directory holds results to go on with."""
    return os.path.exists(directory / layout.PROVENANCE)  # noqa: PTH110 - Path.exists raises for odd names


def has_begun(store: Store) -> bool:
    """Whether anything has been measured that must not be mixed with something else."""
    return store.has_cases


def open_store(loaded: LoadedStudy, directory: Path) -> Store:
    """Create the directory, or open it if it belongs to this very study.

    Raises :class:`BadInput` where the study, or a file that it names, changed after its results began.
    """
    if not has_results(directory):
        return _create(loaded, directory)
    store = Store.open(directory)
    changed = _changes(loaded, store)
    if not changed:
        _keep_hostfile(loaded, directory)
        return store
    store.close()
    if has_begun(store):
        raise BadInput(
            f"{loaded.path}, or an option given beside it, has changed since the results in {directory}"
            f" began ({', '.join(changed)}): they would not fit together. Put the old values back to go on,"
            " or choose another directory with --output."
        )
    _clear(directory)  # ours, and nothing has been measured yet
    return _create(loaded, directory)


def _clear(directory: Path) -> None:
    """Empty a result directory, which may be a link, in an order that leaves it ours at any moment."""
    last = [layout.PROVENANCE, layout.STUDY]
    entries = [entry for entry in directory.iterdir() if entry.name != layout.LOCK]
    for entry in sorted(entries, key=lambda entry: last.index(entry.name) if entry.name in last else -1):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _create(loaded: LoadedStudy, directory: Path) -> Store:
    seed = loaded.study.seed
    loaded = with_seed(loaded, secrets.randbits(63) if seed == AUTO else seed)
    facts = provenance({"files": loaded.file_digests(), "seed": loaded.study.seed})
    store = Store.create(directory, study_toml=loaded.resolved_toml(), provenance=facts)
    _keep_hostfile(loaded, directory)
    return store


def _keep_hostfile(loaded: LoadedStudy, directory: Path) -> None:
    """Keep the host file with the results: whoever uses them later need not have the study file.

    Raises RunFailed where it cannot be written.
    """
    hostfile, kept = loaded.hostfile(), directory / layout.HOSTFILE
    if hostfile is None or kept.exists():
        return
    try:
        layout.write_durably(kept, hostfile.read_bytes())
    except OSError as error:
        raise layout.disk_failure(kept, error) from error


def with_seed(loaded: LoadedStudy, seed: int | str) -> LoadedStudy:
    """The study with another seed of the order in which its cases are measured."""
    return msgspec.structs.replace(loaded, study=msgspec.structs.replace(loaded.study, seed=seed))


def seed_of(store: Store) -> int:
    """The seed of the order in which the cases of a result directory are measured."""
    return int(read_resolved(store.study_toml).seed)


def check_library(store: Store, engine: Engine) -> None:
    """Note which library measures, or refuse to go on with another one than before."""
    facts = engine.describe()
    before = store.provenance.get("library")
    if before is None or not (has_begun(store) or store.verdicts):
        store.update_provenance(facts)
        return
    now = facts["library"]
    if isinstance(before, dict) and isinstance(now, dict) and before.get("identity") != now.get("identity"):
        raise BadInput(
            f"{store.directory} was measured with {before.get('name')} ({before.get('library')}), but this"
            f" is {now.get('name')} ({now.get('library')}): results of two libraries are not mixed. Choose"
            " the same one with --mpi, or another directory with --output."
        )


def _changes(loaded: LoadedStudy, store: Store) -> list[str]:
    """Keys and files of the study that are no longer what they were."""
    if loaded.study.seed == AUTO:
        loaded = with_seed(loaded, seed_of(store))
    before, digests = store.provenance.get("files"), loaded.file_digests()
    files = before if isinstance(before, dict) else {}
    moved = [key for key in MAY_MOVE if key in files and files[key] == digests.get(key)]
    keys = changed_keys(read_resolved(store.study_toml), loaded.study)
    changed = [key for key in keys if key not in (*MAY_CHANGE, *moved)]
    files_changed = [name for name, digest in digests.items() if files.get(name, digest) != digest]
    return changed + [name for name in files_changed if name not in changed]
