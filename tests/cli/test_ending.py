"""Every command ends with one sentence for errors and an exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MAIN = [sys.executable, "-c", "from offbeat.cli.app import main; main()"]

WAITING = """
import time
from offbeat.cli.process import reporting_errors
with reporting_errors():
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("tidied", flush=True)
"""


BUILDING = """
from pathlib import Path
from offbeat.cli.process import reporting_errors
from offbeat.libraries.installations.build import build_once
with reporting_errors():
    build_once(Path("place/bin/program"), Path("sources"), [], "the native parts for MPI 5")
"""

STOPPED_AS_A_STEP_ENDS = """
import os, signal, subprocess
wait = subprocess.Popen.wait
def waits(process):
    wait(process)
    subprocess.Popen.wait = wait
    os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen.wait = waits
"""
"""Sends a signal after a step's process has exited and before its status is returned."""


def offbeat(*arguments: str | bytes, **more: object) -> subprocess.CompletedProcess[bytes]:
    options: dict[str, object] = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE} | more
    return subprocess.run([*MAIN, *arguments], timeout=60, check=False, **options)  # type: ignore[call-overload,no-any-return]


def assert_one_sentence(stderr: bytes) -> None:
    assert stderr.startswith(b"offbeat: ")
    assert stderr.count(b"\n") == 1
    assert b"Traceback" not in stderr


@pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "stopped"), (signal.SIGHUP, "stopped")],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_signal_ends_a_command_with_cleanup(number: signal.Signals, word: str) -> None:
    done = _signalled(number, signal.SIG_DFL)
    assert done.stdout == "ready\ntidied\n"
    assert done.stderr == f"offbeat: {word}.\n"
    assert done.returncode == 128 + number


def test_a_signal_that_is_ignored_from_the_start_remains_ignored() -> None:
    done = _signalled(signal.SIGHUP, signal.SIG_IGN, then=signal.SIGTERM)
    assert done.returncode == 128 + signal.SIGTERM


def _signalled(
    number: signal.Signals, before: signal.Handlers, then: signal.Signals | None = None
) -> subprocess.CompletedProcess[str]:
    def prepare() -> None:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else before)

    process = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(number)
    if then is not None:
        time.sleep(0.2)
        process.send_signal(then)
    stdout, stderr = process.communicate(timeout=30)
    return subprocess.CompletedProcess([], process.returncode, first + stdout, stderr)


def test_a_signal_during_a_build_leaves_nothing_half_built(tmp_path: Path) -> None:
    cmake = tmp_path / "cmake"
    cmake.write_text("#!/bin/sh\nsleep 60 & echo $! > pids; touch begun; wait\n", encoding="utf-8")
    cmake.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    with subprocess.Popen(
        [sys.executable, "-c", BUILDING],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=30)
    assert stderr == "offbeat: stopped while building the native parts for MPI 5.\n"
    assert process.returncode == 128 + signal.SIGTERM
    assert [entry.name for entry in tmp_path.iterdir() if "place" in entry.name and entry.is_dir()] == []
    compiler = int((tmp_path / "pids").read_text(encoding="utf-8"))
    deadline = time.monotonic() + 30  # the kernel has to schedule a killed process; this one sleeps for 60 s
    while Path(f"/proc/{compiler}/cwd").exists():
        assert time.monotonic() < deadline, "a process started by CMake still runs"
        time.sleep(0.02)


def test_a_signal_at_the_end_of_a_build_step_stops_the_command(tmp_path: Path) -> None:
    cmake = tmp_path / "cmake"
    cmake.write_text("#!/bin/sh\n", encoding="utf-8")
    cmake.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_AS_A_STEP_ENDS + BUILDING],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == "offbeat: stopped while building the native parts for MPI 5.\n"
    assert done.returncode == 128 + signal.SIGTERM


def test_a_full_disk_under_standard_output_gives_a_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        done = offbeat("schema", stdout=full)
    assert done.returncode == 1
    assert_one_sentence(done.stderr)
    assert b"No space left" in done.stderr


def test_closed_standard_streams_are_harmless(tmp_path: Path) -> None:
    file = tmp_path / "bell.txt"
    arguments = ["pattern", "make", "bell", "--p", "3", "--skew", "1ms", "-o", str(file)]
    shell = 'exec "$@" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", shell, "sh", *MAIN, *arguments], timeout=60, check=False)
    assert done.returncode == 0
    assert file.read_text().endswith("\n")


def test_a_reader_that_leaves_ends_a_command_silently() -> None:
    shell = '"$@" | head -n 1'
    arguments = ["pattern", "make", "bell", "--p", "100000", "--skew", "1ms"]
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *MAIN, *arguments], capture_output=True, timeout=60, check=False
    )
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names themselves")
def test_a_name_that_is_not_utf8_is_refused() -> None:
    done = offbeat("run", b"st\xfcdy.toml")
    assert done.returncode == 2
    assert_one_sentence(done.stderr)
    assert b"st\\xfcdy.toml is not UTF-8 text" in done.stderr


def test_a_deleted_current_folder_is_reported(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    shell = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    arguments = ["sh", "-c", shell, "sh", str(gone), *MAIN, "status", "x"]
    done = subprocess.run(arguments, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert b"the current folder has been deleted" in done.stderr


def test_a_system_error_about_a_path_is_bad_input(tmp_path: Path) -> None:
    done = offbeat("status", str(tmp_path / ("a" * 300)))
    assert done.returncode == 2
    assert_one_sentence(done.stderr)
    assert b"File name too long" in done.stderr


def test_a_terminal_without_a_width_shows_everything() -> None:
    done = offbeat("pattern", "show", "bell", env={**os.environ, "COLUMNS": "0"})
    assert done.stdout.startswith(b"bell: p = 32")
    assert done.returncode == 0


@pytest.mark.parametrize("message", ["from error", "from None"])
@pytest.mark.parametrize(("number", "status"), [("ENOSPC", 1), ("EDQUOT", 1), ("EACCES", 2)])
def test_a_full_disk_is_never_bad_input(message: str, number: str, status: int) -> None:
    program = f"""
import errno
from offbeat.cli.process import reporting_errors
from offbeat.base.errors import BadInput
with reporting_errors():
    try:
        raise OSError(errno.{number}, "refused", "place")
    except OSError as error:
        raise BadInput("cannot write place: refused; give another folder") {message}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == status
    assert_one_sentence(done.stderr)
