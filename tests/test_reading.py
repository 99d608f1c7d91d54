"""Devices, files that are too large, and files nested too deeply end in a sentence."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from offbeat.base.errors import BadInput
from offbeat.base.reading import READ_LIMIT, decode_json, read_file

pytestmark = pytest.mark.slow


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert read_file(tmp_path / "a") == b"x" * 3_000_000


def test_a_pipe_a_device_and_a_directory_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="is no regular file but a pipe"):
        read_file(tmp_path / "pipe")
    with pytest.raises(BadInput, match="/dev/zero is no regular file but a device"):
        read_file(Path("/dev/zero"))
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)


def test_a_file_that_is_too_large_is_refused_with_the_limit_and_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(
        BadInput, match=r"sparse has 1 TiB, more than the limit of 64 MiB.*OFFBEAT_READ_LIMIT"
    ):
        read_file(tmp_path / "sparse")
    (tmp_path / "small").write_bytes(b"x" * 2000)
    monkeypatch.setenv(READ_LIMIT, "1 kB")
    with pytest.raises(BadInput, match="has 2 kB, more than the limit of 1 kB"):
        read_file(tmp_path / "small")
    monkeypatch.setenv(READ_LIMIT, "many")
    with pytest.raises(BadInput, match="the environment variable OFFBEAT_READ_LIMIT: 'many' is not a size"):
        read_file(tmp_path / "small")


def test_json_that_is_nested_too_deeply_or_no_text_counts_as_damaged() -> None:
    with pytest.raises(msgspec.DecodeError, match="nested too deeply"):
        decode_json(b"[" * 100_000)
    with pytest.raises(msgspec.DecodeError):
        decode_json(b'"\xff"')


@pytest.mark.parametrize(
    "arguments", [["run", "{}"], ["pattern", "show", "{}"], ["results", "import", "{}", "-o", "x"]]
)
def test_no_command_waits_for_a_pipe(tmp_path: Path, arguments: list[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-m", "offbeat", *(word.format(tmp_path / "pipe") for word in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "is no regular file but a pipe" in done.stderr


def test_too_low_a_limit_on_the_address_space_is_reported(tmp_path: Path) -> None:
    limit = 800_000 * 1024
    done = subprocess.run(
        [sys.executable, "-m", "offbeat", "status", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 2
    assert "is 800000 kB (ulimit -v), and offbeat needs" in done.stderr
