"""The manifest beside the tuning files: what is in them and how they are used, for ``offbeat verify`` and the
report."""

from __future__ import annotations

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
    """

    schema_version: int
    rule: str
    library: str
    mpirun: str
    tuning: TuningFiles


def write_manifest(files: TuningFiles, rule: str, installation: Installation, directory: Path) -> Path:
    """Write the manifest of ``files`` into their directory."""
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        rule=rule,
        library=installation.name,
        mpirun=str(installation.mpirun),
        tuning=files,
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


def _path(kind: type, text: str) -> Path:
    """Decode what JSON has no type for: paths."""
    return Path(text)
