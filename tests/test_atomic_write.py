"""A file is written completely or not at all, and no other file is replaced."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from offbeat.base.atomic_write import atomic_writer, write_atomically, write_error
from offbeat.base.errors import BadInput, OffbeatError, RunFailed


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ü x.txt"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), atomic_writer(path) as stream:
        stream.write(b"new")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(b"old")
    path.chmod(0o750)
    write_atomically(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o750


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    """Like /dev/stdout and /dev/null, which root would otherwise replace for the whole machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"through")
    reader.join(timeout=30)
    assert read == [b"through"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("path", [".", "a/b", "x" * 300])
def test_an_impossible_place_raises_the_systems_error(tmp_path: Path, path: str) -> None:
    with pytest.raises(OSError):
        write_atomically(tmp_path / path, b"x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "kind", "remedy"),
    [
        (errno.EACCES, BadInput, "give a file in a folder that you can write to"),
        (errno.ENOSPC, RunFailed, "free space there, or give a file on another disk"),
    ],
)
def test_a_refusal_names_the_file_and_a_remedy(number: int, kind: type[OffbeatError], remedy: str) -> None:
    """A full disk is not bad input."""
    error = write_error(Path("x.json"), OSError(number, os.strerror(number)), "the report")
    assert isinstance(error, kind)
    assert str(error) == f"cannot write the report x.json: {os.strerror(number)}; {remedy}"
