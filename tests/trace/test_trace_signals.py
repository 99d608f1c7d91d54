"""``offbeat trace run`` forwards signals to the program exactly once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from trace_run_without_mpi import STARTS, run_verb

pytestmark = pytest.mark.slow

COUNTING = """
import os, signal, sys, time
if sys.argv[2] == "its own":
    os.setpgid(0, 0)
counted = []
signal.signal(signal.Signals[sys.argv[1]], lambda number, frame: counted.append(number))
print("ready", flush=True)
until = time.monotonic() + 20
while not counted and time.monotonic() < until:
    time.sleep(0.01)
time.sleep(0.5)
print("counted", len(counted), flush=True)
"""
"""A program that counts the signals that it gets, in the process group of its parent or in ``its own``."""


def counted(
    folder: Path,
    number: signal.Signals,
    send: Callable[[int, int], object],
    group: str = "ours",
    first: str = "",
) -> str:
    """The terminal output of a traced counting program, after ``send`` was called with the tracing
    process and the terminal; ``first`` runs in that process."""
    counting = [sys.executable, "-c", COUNTING, number.name, group]
    arguments = [sys.executable, "-c", first + STARTS, "run", "-o", str(folder / "t"), "--", *counting]
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        os.execv(arguments[0], arguments)
    text = _read_until(terminal, "ready")
    send(pid, terminal)
    text += _read_until(terminal, "no trace was written")
    os.waitpid(pid, 0)
    os.close(terminal)
    return text


def _read_until(terminal: int, word: str) -> str:
    text = ""
    while word not in text:
        text += os.read(terminal, 4096).decode()
    return text


@pytest.mark.parametrize("group", ["ours", "its own"])
@pytest.mark.parametrize(
    ("way", "number"),
    [
        ("by the terminal", signal.SIGINT),
        ("to the group", signal.SIGINT),
        ("to the group", signal.SIGTERM),
        ("to the process", signal.SIGINT),
        ("to the process", signal.SIGTERM),
    ],
)
def test_a_signal_reaches_the_program_once_however_it_was_sent(
    tmp_path: Path, way: str, number: signal.Signals, group: str
) -> None:
    ways: dict[str, Callable[[int, int], object]] = {
        "by the terminal": lambda pid, terminal: os.write(terminal, b"\x03"),
        "to the group": lambda pid, terminal: os.killpg(pid, number),
        "to the process": lambda pid, terminal: os.kill(pid, number),
    }
    assert "counted 1\r" in counted(tmp_path, number, ways[way], group)


def test_a_signal_to_all_processes_with_the_commands_arguments_reaches_the_program(tmp_path: Path) -> None:
    def send(*_: int) -> None:  # as pkill -f does
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(tmp_path / "t") in words:
                os.kill(int(process.name), signal.SIGTERM)

    assert "counted 1\r" in counted(tmp_path, signal.SIGTERM, send)


GROUP_A_MOMENT_LATER = """
import os, signal, time
waits = time.sleep
def sleep(duration_s):
    time.sleep = waits
    os.killpg(0, signal.SIGTERM)
    waits(duration_s)
time.sleep = sleep
"""
"""Sends a signal to the group while the group probe waits for one."""


def test_a_signal_to_the_process_and_then_to_its_group_reaches_the_program_once(tmp_path: Path) -> None:
    text = counted(
        tmp_path,
        signal.SIGTERM,
        lambda pid, terminal: os.kill(pid, signal.SIGTERM),
        first=GROUP_A_MOMENT_LATER,
    )
    assert "counted 1\r" in text


NO_PROGRAMS = """
import os
os.environ["PATH"] = ""
"""


def test_a_signal_to_the_group_reaches_the_program_once_where_path_is_empty(tmp_path: Path) -> None:
    text = counted(
        tmp_path, signal.SIGTERM, lambda pid, terminal: os.killpg(pid, signal.SIGTERM), first=NO_PROGRAMS
    )
    assert "counted 1\r" in text


def test_a_signal_reaches_the_program_if_the_group_probe_cannot_start(tmp_path: Path) -> None:
    text = counted(
        tmp_path,
        signal.SIGTERM,
        lambda pid, terminal: os.kill(pid, signal.SIGTERM),
        first=NO_PROGRAMS + "os.defpath = '/nowhere'\n",
    )
    assert "counted 1\r" in text


AS_IT_STARTS = """
import os, signal, subprocess, sys
class Popen(subprocess.Popen):
    def __init__(self, words, preexec_fn=None, **more):
        def begins():
            if WHEN == "begins":
                os.kill(os.getpid(), signal.SIGTERM)
            preexec_fn()
        if words[0] == "sleep" and WHEN == "is about to":
            os.killpg(0, signal.SIGTERM)
        super().__init__(words, preexec_fn=preexec_fn and begins, **more)
subprocess.Popen = Popen
"""
"""Sends a signal just before the program starts, or between its start and its own code."""


@pytest.mark.parametrize("when", ["is about to", "begins"])
def test_a_signal_that_comes_as_the_program_starts_ends_it(tmp_path: Path, when: str) -> None:
    arguments = [sys.executable, "-c", f"WHEN = {when!r}\n{AS_IT_STARTS}{STARTS}"]
    done = subprocess.run(
        [*arguments, "run", "-o", "t", "--", "sleep", "9"],
        cwd=tmp_path,
        env=dict(os.environ) | {"OPENBLAS_NUM_THREADS": "1"},  # NumPy's threads would receive it as well
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        timeout=60,
        check=False,
    )
    assert "the command ended by signal 15" in done.stderr
    assert done.returncode == -signal.SIGTERM


def _odd_parent() -> None:
    """Inherited signal settings: ignored signals, and a blocked one."""
    for number in (signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])


def test_the_status_is_the_programs_where_the_parent_ignores_the_end_of_children(tmp_path: Path) -> None:
    code, _, err = run_verb(tmp_path, "-o", "t", "--", "/bin/sh", "-c", "exit 3", before=_odd_parent)
    assert "the command ended with status 3" in err
    assert code == 3


def test_ignored_and_blocked_signals_are_inherited_by_the_program(tmp_path: Path) -> None:
    asking = ["grep", "^Sig[BI]", "/proc/self/status"]
    without = subprocess.run(asking, preexec_fn=_odd_parent, capture_output=True, text=True, check=True)
    _, out, err = run_verb(tmp_path, "-o", "t", "--", *asking, before=_odd_parent)
    assert out == without.stdout, err


TOOL = """
#include <signal.h>
#include <stddef.h>
static void handle(int number) { (void)number; }
__attribute__((constructor)) static void set(void) {
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], handle);
}
"""
"""A library that sets handlers in C as it is loaded, as MPI libraries do."""


def test_a_preloaded_tool_with_signal_handlers_of_its_own_changes_no_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool.c").write_text(TOOL, encoding="utf-8")
    tool = tmp_path / "tool.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tool, tmp_path / "tool.c"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(tool))
    code, _, err = run_verb(tmp_path, "-o", "t", "--", "/bin/sh", "-c", "exit 3")
    assert "Traceback" not in err
    assert "the command ended with status 3" in err
    assert code == 3


def test_the_printed_command_can_be_pasted_where_the_path_has_blanks(tmp_path: Path) -> None:
    writing = ["/bin/sh", "-c", "touch 'my trace/rank-0.trace'"]
    _, _, err = run_verb(tmp_path, "-o", "my trace", "--", *writing)
    assert "see it with: offbeat trace summary 'my trace'" in err
