"""Commands with a limited address space (ulimit -v)."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from offbeat.cli.process import MINIMUM_BYTES

SMALL_STUDY = """name = "small"
engine = "sim"
[[collective]]
names = ["reduce"]
sizes = ["64 B"]
[processes]
p = [8]
"""

WAITS_IN_NATIVE_CODE = """
import ctypes
from offbeat.cli.process import adapt_to_memory_limit, reporting_errors
with reporting_errors():
    adapt_to_memory_limit()
    print("ready", flush=True)
    mutex = ctypes.create_string_buffer(256)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)
"""
"""Locks a mutex twice: the second call never returns, also not after a signal."""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MINIMUM_BYTES, MINIMUM_BYTES))


def _sleeps(pid: int) -> bool:
    """Whether a process waits for 0.1 s."""
    states = set()
    for _ in range(5):
        states.add(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0])
        time.sleep(0.02)
    return states == {"S"}


def test_the_smallest_address_space_that_is_accepted_suffices_to_select(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SMALL_STUDY)
    offbeat = [sys.executable, "-m", "offbeat"]
    subprocess.run([*offbeat, "run", "study.toml", "-o", "results"], cwd=tmp_path, check=True, timeout=300)
    for _ in range(3):
        selected = subprocess.run(
            [*offbeat, "select", "results"],
            cwd=tmp_path,
            preexec_fn=_limit,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (selected.returncode, selected.stderr) == (0, "")


def test_a_signal_ends_a_process_that_waits_in_native_code() -> None:
    waiting = subprocess.Popen(
        [sys.executable, "-c", WAITS_IN_NATIVE_CODE],
        preexec_fn=_limit,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with waiting:
        assert waiting.stdout and waiting.stdout.readline() == "ready\n"
        while not _sleeps(waiting.pid):
            pass
        waiting.send_signal(signal.SIGTERM)
        _, errors = waiting.communicate(timeout=120)
    assert waiting.returncode == 128 + signal.SIGTERM
    assert "not enough memory" in errors
