"""Files that survive a kill and a power failure, and the errors for disks that refuse them."""

from __future__ import annotations

import os
from pathlib import Path

from offbeat.base.errors import BadInput, RunFailed

TEMPORARY_SUFFIX = ".tmp"
"""Suffix of files that are being written; those of a killed run are replaced or deleted."""


def write_durably(path: Path, data: bytes) -> None:
    """Write a file so that after a crash at any moment it is the old or the new one; raises OSError."""
    temporary_file = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        temporary_file.unlink(missing_ok=True)  # of a killed run, or a symbolic link to a file of the user
        with temporary_file.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        publish(temporary_file, path)
    except OSError:
        temporary_file.unlink(missing_ok=True)
        raise


def publish(temporary_file: Path, path: Path) -> None:
    """Rename a complete file to its final name and flush the directory; raises OSError."""
    temporary_file.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Flush the entries of a directory to disk; raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def disk_failure(path: Path, error: OSError) -> RunFailed:
    """The error for a failed write; everything finished before is safe."""
    return RunFailed(
        f"cannot write {path}: {error.strerror or error}; everything finished before is kept."
        " Free space, then repeat the command: it resumes"
    )


def unwritable(directory: Path, error: OSError) -> BadInput:
    """The error for a directory that cannot be written."""
    is_inside = error.filename and Path(os.fsdecode(error.filename)) != directory
    where = f" ({os.fsdecode(error.filename)})" if is_inside else ""
    return BadInput(
        f"cannot write to the directory {directory}: {error.strerror or error}{where};"
        " give a directory that you can write to"
    )
