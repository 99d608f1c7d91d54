"""The manifest beside the tuning files: what is in them and how they are used, for ``offbeat verify`` and the
report."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.mpi.installation import Installation
from offbeat.reading import decode_json, read_file
from offbeat.tuning.files import TuningFiles, write_file

MANIFEST = "tuning.json"
SCHEMA_VERSION = 1


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

    def changed_files(self) -> list[Path]:
        """The files that are not what was exported, in the order in which they were written.

        Of files without a checksum, of an earlier offbeat, nothing is known. Raises :class:`BadInput` for a
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
    """Read the manifest of a folder of tuning files.

    Raises :class:`BadInput` where there is none, or a broken one.
    """
    path = directory / MANIFEST
    try:
        manifest = decode_json(read_file(path), Manifest, dec_hook=_path)
    except OSError:
        raise BadInput(
            f"{directory} holds no tuning files ({MANIFEST} is not there); 'offbeat export' writes them"
        ) from None
    except msgspec.DecodeError as error:
        raise BadInput(f"{path} is damaged ({error}); write it anew with 'offbeat export'") from None
    if manifest.schema_version != SCHEMA_VERSION:
        raise BadInput(
            f"{path} is of another offbeat (schema {manifest.schema_version});"
            " write it anew with 'offbeat export'"
        )
    return manifest


def checksum(path: Path) -> str:
    """The SHA-256 of a file; raises :class:`BadInput` for one that cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BadInput(f"cannot read the tuning file {path}: {error.strerror or error}") from None


def _path(kind: type, text: str) -> Path:
    """Decode what JSON has no type for: paths."""
    return Path(text)
