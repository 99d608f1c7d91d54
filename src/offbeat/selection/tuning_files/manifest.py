"""Tuning files and their manifest: how a launch uses them, and their checksums."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.atomic_write import write_atomically
from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json, file_name, read_file
from offbeat.base.units import amount
from offbeat.libraries.installations.installation import Installation
from offbeat.selection.tuning_files.tuning_plan import Rule


class ProcessEnvironment(Struct, frozen=True, kw_only=True):
    """Environment variables for launches of ``p_low`` to ``p_high`` processes (inclusive) only."""

    p_low: int
    p_high: int
    environment: dict[str, str]


class TuningFiles(Struct, frozen=True, kw_only=True):
    """Tuning files, and how a launch uses them.

    ``files`` are absolute paths. Either ``environment`` or ``launch_options`` (arguments for the launcher,
    empty if it has none for this) makes a launch use them. If a library's settings depend on the number of
    processes, ``by_processes`` holds those of each range; :meth:`environment_for` combines both. ``rules``
    are the rules of the plan that the files contain; rules of a collective in ``not_in_place`` never apply to
    calls with MPI_IN_PLACE. ``usage`` are lines to copy into a terminal or job script, ``notes`` are caveats.
    ``wrong_result_warnings`` are sentences on rules that are wrong for a legal call and that the user
    requested anyway.
    """

    files: list[Path]
    environment: dict[str, str]
    launch_options: list[str]
    usage: list[str]
    notes: list[str]
    rules: list[Rule]
    by_processes: list[ProcessEnvironment] = []
    exact_default: bool = True
    not_in_place: list[str] = []
    wrong_result_warnings: list[str] = []

    def as_on_disk(self, read: Callable[[Path], dict[str, str]]) -> TuningFiles:
        """These files with the variables of each range of processes as its file sets them now.

        ``read`` returns the variables that sourcing a file sets; ``files`` and ``by_processes`` correspond.
        """
        if not self.by_processes:
            return self
        return msgspec.structs.replace(
            self,
            by_processes=[
                msgspec.structs.replace(entry, environment=read(path))
                for entry, path in zip(self.by_processes, self.files, strict=True)
            ],
            environment={},
        )

    def environment_for(self, p: int) -> dict[str, str]:
        """The environment variables that make a launch of ``p`` processes use the files."""
        for entry in self.by_processes:
            if entry.p_low <= p <= entry.p_high:
                return self.environment | entry.environment
        return dict(self.environment)

    def rule_for(
        self, collective: str, p: int, size: int, launched_processes: int, *, in_place: bool = False
    ) -> Rule | None:
        """The rule that applies to a blocking call on a communicator of ``p`` processes; None if none does.

        ``size`` is the message size in bytes as in studies. If files belong to a number of processes, that is
        ``launched_processes``, and they apply to smaller communicators as well.
        """
        if in_place and collective in self.not_in_place:
            return None
        processes = launched_processes if self.by_processes else p
        for rule in self.rules:
            if (
                rule.collective == collective
                and rule.p_low <= processes <= rule.p_high
                and rule.bytes_low <= size <= rule.bytes_high
            ):
                return rule
        return None


def write_file(directory: Path, name: str, text: str) -> Path:
    """Write a file atomically, and return its absolute path. Raises :class:`BadInput`."""
    path = directory.absolute() / file_name(name, "the name of a tuning file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as error:
        raise BadInput(
            f"cannot write the tuning file {path}: {error.strerror or error}; give a directory that you can"
            " write to with --output"
        ) from error
    return path


def usage_lines(launcher: str, options: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Lines for a terminal or job script, each of which makes a launch use the files."""
    return [f"{launcher} {shlex.join(options)} -n P ./application", export_line(environment)]


def export_line(environment: Mapping[str, str]) -> str:
    """A line for a shell that exports variables."""
    assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
    return f"export {assignments}"


FOLDER = "tuning"
"""The folder of the tuning files in a result directory."""

MANIFEST = "tuning.json"
SCHEMA_VERSION = 3


class Manifest(Struct, frozen=True, kw_only=True):
    """A set of tuning files.

    ``rule`` is the selection rule by name; ``library`` the installation's name and ``mpirun`` its launcher.
    ``checksums`` holds the SHA-256 of each file as it was written, by its path.
    """

    schema_version: int
    rule: str
    library: str
    mpirun: str
    tuning: TuningFiles
    checksums: dict[str, str] = {}

    @property
    def sentence(self) -> str:
        """What the files hold: ``6 rules for reduce, alltoall, written for Open MPI 4.1.4``."""
        rules = self.tuning.rules
        collectives = ", ".join(dict.fromkeys(rule.collective for rule in rules))
        return f"{amount(len(rules), 'rule')} for {collectives}, written for {self.library}"

    def changed_files(self) -> list[Path]:
        """The files that differ from the exported ones, in the order in which they were written.

        Files without a checksum, from an earlier offbeat, are not checked. Raises :class:`BadInput` for a
        file that cannot be read.
        """
        return [
            path
            for path in self.tuning.files
            if str(path) in self.checksums and checksum(path) != self.checksums[str(path)]
        ]


def write_manifest(files: TuningFiles, rule: str, installation: Installation, directory: Path) -> Path:
    """Write the manifest of ``files`` into their directory."""
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        rule=rule,
        library=installation.name,
        mpirun=str(installation.mpirun),
        tuning=files,
        checksums={str(path): checksum(path) for path in files.files},
    )
    text = msgspec.json.format(msgspec.json.encode(manifest, enc_hook=str)).decode()
    return write_file(directory, MANIFEST, text + "\n")


def read_manifest(directory: Path) -> Manifest:
    """The manifest of tuning files; raises :class:`BadInput` if it is missing or damaged."""
    path = directory / MANIFEST
    try:
        manifest = decode_json(read_file(path), Manifest, dec_hook=_path)
    except OSError:
        raise BadInput(
            f"{directory} holds no tuning files ({MANIFEST} is not there); 'offbeat export' writes them"
        ) from None
    except msgspec.DecodeError as error:
        raise BadInput(f"{path} is damaged ({error}); write it again with 'offbeat export'") from None
    if manifest.schema_version != SCHEMA_VERSION:
        raise BadInput(
            f"{path} is of another offbeat (schema {manifest.schema_version});"
            " write it again with 'offbeat export'"
        )
    return manifest


def checksum(path: Path) -> str:
    """The SHA-256 of a file; raises :class:`BadInput` for one that cannot be read."""
    try:
        return hashlib.sha256(read_file(path)).hexdigest()
    except OSError as error:
        raise BadInput(f"cannot read the tuning file {path}: {error.strerror or error}") from None


def _path(kind: type, text: str) -> Path:
    """Decode a path, for which JSON has no type."""
    return Path(text)
