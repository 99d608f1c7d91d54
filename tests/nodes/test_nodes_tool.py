"""``tools/nodes`` emulates several nodes on one machine, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from several_nodes import NODES, on_nodes

pytestmark = pytest.mark.slow

SSH, LINK = NODES / "ssh", NODES / "link"
ASK = "hostname; cat /proc/sys/kernel/random/boot_id; nproc; ls $TMPDIR; ip route"


def host_state() -> tuple[list[str], str, str]:
    """Everything that nodes could have changed: network devices, mounts, the host's name."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    return sorted(psutil.net_if_addrs()), mounts, os.uname().nodename


def test_nodes_have_their_own_names_boot_ids_cores_and_memory_and_no_route_outside(tmp_path: Path) -> None:
    before = host_state()
    done = on_nodes(
        ["sh", "-c", f"touch $TMPDIR/mine; {ASK}; {SSH} node2 '{ASK}'"], tmp_path, "--cores", "0:0"
    )
    assert done.returncode == 0, done.stderr
    route = "10.77.0.0/24 dev eth0 proto kernel scope link src 10.77.0.{} "
    boots = set(re.findall(r"^[0-9a-f-]{36}$", done.stdout, re.MULTILINE))
    assert len(boots) == 2
    rest = [line for line in done.stdout.splitlines() if line not in boots]
    assert rest == ["node1", "1", "mine", route.format(1), "node2", "1", route.format(2)]
    assert host_state() == before


@pytest.mark.parametrize("offset", ["1234.567890123", "777777", "3.999999999", "-2.5"])
def test_clocks_are_ahead_by_exactly_the_requested_offset(tmp_path: Path, offset: str) -> None:
    done = on_nodes([SSH, "node2", "cat /proc/self/timens_offsets"], tmp_path, f"--offsets=0,{offset}")
    seconds, nanoseconds = re.findall(r"^monotonic +(-?\d+) +(\d+)$", done.stdout, re.MULTILINE)[0]
    assert int(seconds) * 10**9 + int(nanoseconds) == round(float(offset) * 10**9)


def test_the_status_is_the_commands_and_a_missing_command_is_reported(tmp_path: Path) -> None:
    assert on_nodes(["sh", "-c", "exit 5"], tmp_path).returncode == 5
    done = on_nodes(["no-such-command"], tmp_path)
    assert done.returncode == 127 and "no-such-command cannot be started on node1" in done.stderr


def is_sleep(process: psutil.Process) -> bool:
    """Whether a process, which may just have ended, is one of the two that wait."""
    try:
        return process.name() == "sleep"
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_after_a_kill_no_process_of_any_node_is_left(tmp_path: Path, ending: signal.Signals) -> None:
    arguments = [sys.executable, str(NODES), "--", "sh", "-c", f"{SSH} node2 'sleep 987' & sleep 986"]
    running = subprocess.Popen(arguments, cwd=tmp_path)
    ours = psutil.Process(running.pid)
    deadline = time.monotonic() + 60
    while len(sleeping := [child for child in ours.children(recursive=True) if is_sleep(child)]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    everybody = ours.children(recursive=True)
    running.send_signal(ending)
    running.wait(60)
    _, alive = psutil.wait_procs(everybody, timeout=30)
    assert sleeping and not alive


def test_a_link_that_is_down_carries_nothing_until_it_is_up_again(tmp_path: Path) -> None:
    connect = (
        f"{sys.executable} -c \"import socket; socket.create_connection(('node2', 1), 1)\" 2>&1 | tail -1"
    )
    done = on_nodes(
        ["sh", "-c", f"{connect}; {LINK} node2 down; {connect}; {LINK} node2 up; sleep 1; {connect}"],
        tmp_path,
    )
    kinds = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert kinds[0] == kinds[2] == "ConnectionRefusedError"
    assert kinds[1] != "ConnectionRefusedError"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nodes", "0"], "--nodes 0: 1 to 16 nodes"),
        (["--nodes", "1000000000000"], "1 to 16 nodes"),
        (["--cores", "0:0:0"], "3 lists for 2 nodes"),
        (["--cores", "0:99999"], "core 99999 is not there"),
        (["--cores", "0:x"], "'x' is no core and no range"),
        (["--offsets", "0,soon"], "'soon' is not a number of seconds"),
        (["--offsets", "0,1e-10"], "more than 9 digits"),
        (["--offsets", "0,0,0"], "3 offsets for 2 nodes"),
    ],
)
def test_bad_options_end_in_a_sentence(tmp_path: Path, options: list[str], message: str) -> None:
    done = on_nodes(["true"], tmp_path, *options)
    assert done.returncode == 2 and message in " ".join(done.stderr.split())


def test_a_clock_cannot_be_before_the_machines_start(tmp_path: Path) -> None:
    done = on_nodes(["true"], tmp_path, "--offsets=-1000000000")
    assert done.returncode == 77
    assert "nodes cannot be made here: setting the clock of node1 by -1000000000000000000 ns" in done.stderr


def test_without_root_nodes_are_created_in_a_user_namespace_or_the_reason_is_printed(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("missing here: root and setpriv, to become another user")
    python = shutil.which("python3", path="/usr/bin:/bin")  # a Python that other users may run
    if python is None:
        pytest.skip("missing here: a python3 in /usr/bin, which other users may run")
    tmp_path.chmod(0o777)
    other = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
    arguments = [*other, python, str(NODES), "--", str(SSH), "node2", "hostname; id -u"]
    done = subprocess.run(arguments, cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "node2\n0\n") or (
        done.returncode == 77 and "nodes cannot be made here" in done.stderr
    )
