"""The manifest beside the tuning files: what is in them and how they are used, for ``offbeat verify`` and the
report."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.mpi.installation import Installation
from offbeat.tuning.files import ProcessEnvironment, TuningFiles, write_file
from offbeat.tuning.plan import Rule

MANIFEST = "tuning.json"
SCHEMA_VERSION = 1


class Manifest(Struct, frozen=True, kw_only=True):
    """A set of tuning files.

    ``rule`` is the selection rule by name; ``library`` the installation's name and ``mpirun`` its launcher;
    ``files`` absolute paths; ``environment`` and ``by_processes`` what makes a launch use them; ``rules``
    what they say.
    """

    schema_version: int
    rule: str
    library: str
    mpirun: str
    files: list[str]
    environment: dict[str, str]
    by_processes: list[ProcessEnvironment]
    usage: list[str]
    notes: list[str]
    rules: list[Rule]

    def environment_for(self, p: int) -> dict[str, str]:
        """The environment variables that make a launch of ``p`` processes use the files."""
        for entry in self.by_processes:
            if entry.p_low <= p <= entry.p_high:
                return self.environment | entry.environment
        return dict(self.environment)


def write_manifest(files: TuningFiles, rule: str, installation: Installation, directory: Path) -> Path:
    """Write the manifest of ``files`` into their directory."""
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        rule=rule,
        library=installation.name,
        mpirun=str(installation.mpirun),
        files=[str(path) for path in files.files],
        environment=files.environment,
        by_processes=files.by_processes,
        usage=files.usage,
        notes=files.notes,
        rules=files.rules,
    )
    return write_file(directory, MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)).decode() + "\n")


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a folder of tuning files.

    Raises :class:`BadInput` where there is none, or a broken one.
    """
    path = directory / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
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
