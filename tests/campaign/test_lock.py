"""Two processes never write to one directory, and a process that has ended blocks no other."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import squares
from squares import FORMAT, compute, numbers, open_squares

from offbeat.base.campaign.lock import Lock, holder
from offbeat.base.errors import BadInput, RunFailed


def test_a_directory_that_another_process_writes_to_is_refused_until_it_ends(
    tmp_path: Path,
) -> None:
    arguments = [sys.executable, squares.__file__, str(tmp_path), "6", "60"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(RunFailed, match=f"is being written by process {process.pid} on .*; wait until that"):
        compute(tmp_path)
    writer = holder(tmp_path)
    assert writer is not None and writer.pid == process.pid
    assert numbers(tmp_path) == []
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert holder(tmp_path) is None
    assert compute(tmp_path) is None


def test_a_second_writer_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with open_squares(tmp_path), pytest.raises(RunFailed, match=f"written by process {os.getpid()} on "):
        open_squares(tmp_path)
    open_squares(tmp_path).close()


@pytest.mark.parametrize("name", [FORMAT.head, FORMAT.records, "logs"])
def test_an_opening_that_fails_releases_the_lock(tmp_path: Path, name: str) -> None:
    compute(tmp_path)
    (tmp_path / name).rename(tmp_path / "aside")
    wrong = tmp_path / name
    wrong.write_text("no folder", encoding="utf-8") if name == "logs" else wrong.mkdir()
    with pytest.raises(BadInput):
        open_squares(tmp_path)
    wrong.unlink() if name == "logs" else wrong.rmdir()
    (tmp_path / "aside").rename(wrong)
    open_squares(tmp_path).close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}'])
def test_a_holder_that_did_not_record_itself_is_another_process(tmp_path: Path, text: str) -> None:
    lock = Lock(tmp_path)
    (tmp_path / "offbeat.lock").write_text(text, encoding="utf-8")
    assert str(holder(tmp_path)) == "another process"
    with pytest.raises(RunFailed, match="is being written by another process"):
        Lock(tmp_path)
    lock.release()


def test_a_file_system_without_locks_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("fcntl.flock", no_locks)
    assert compute(tmp_path) is None
    assert not Lock(tmp_path).effective
