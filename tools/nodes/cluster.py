"""The nodes of one command: creating them and their network, running the command, and removing them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

from namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    MS_PRIVATE,
    MS_REC,
    become_root_of_a_user_namespace,
    die_with_parent,
    mount,
    unshare,
)
from node import NETWORK, SCRATCH, VARIABLE, Node, become, hold, to_text

FORBIDDEN = 77
"""Exit status if nodes cannot be created here; test suites report it as "skipped"."""

SHELL = Path(__file__).resolve().with_name("ssh")

LAUNCHERS = {
    "OMPI_MCA_plm_rsh_agent": str(SHELL),  # Open MPI 4
    "PRTE_MCA_plm_ssh_agent": str(SHELL),  # Open MPI 5
    "HYDRA_LAUNCHER": "ssh",  # MPICH
    "HYDRA_LAUNCHER_EXEC": str(SHELL),
    "I_MPI_HYDRA_BOOTSTRAP": "ssh",  # Intel MPI
    "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(SHELL),
}
"""Variables that make each MPI library's launcher use ``tools/nodes/ssh`` instead of ssh."""


class Forbidden(Exception):
    """Nodes cannot be created here, because of the kernel or a missing program; the text gives the reason."""


def run(nodes: Sequence[Node], command: Sequence[str], rate: str, environ: Mapping[str, str]) -> int:
    """Make the nodes, run a command on the first one, and end everything; returns the command's exit status.

    Namespaces hold everything that is made here. They end with their processes, and these processes end when
    this process ends, also by SIGKILL. ``rate`` limits each node's link (a rate of tc(8), empty: no limit).
    Raises Forbidden.
    """
    for program in ("ip", *(["tc"] if rate else [])):
        if not shutil.which(program):
            raise Forbidden(f"there is no program '{program}' (package iproute2)")
    try:
        if os.geteuid() != 0:
            become_root_of_a_user_namespace()
        unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID, "network, mount and PID namespaces")
    except OSError as error:
        raise Forbidden(f"{error.filename}: {error.strerror}") from None
    alive, held = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(held)
        _die_with(alive)
        os._exit(_first_process(nodes, command, rate, environ))
    os.close(alive)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: os.kill(child, got))
    signal.signal(signal.SIGINT, lambda *_: None)  # a terminal sends it to the command as well
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _die_with(alive: int) -> None:
    """End with the parent, even if it ended before this call: then its end of the pipe is closed."""
    die_with_parent(signal.SIGKILL)
    os.set_blocking(alive, False)
    try:
        is_orphan = os.read(alive, 1) == b""
    except BlockingIOError:
        is_orphan = False
    if is_orphan:
        os._exit(1)


def _first_process(
    nodes: Sequence[Node], command: Sequence[str], rate: str, environ: Mapping[str, str]
) -> int:
    """Process 1 of the namespaces: creates the nodes and waits for the command. All processes end with it."""
    try:
        made = _make(nodes, rate)
    except (OSError, Forbidden) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        os.write(2, f"nodes cannot be made here: {why}\n".encode())
        return FORBIDDEN
    started = os.fork()
    if started == 0:
        _exec_on(made[0], command, {**environ, **LAUNCHERS, "TMPDIR": SCRATCH, VARIABLE: to_text(made)})

    def pass_on(number: int, _: FrameType | None) -> None:
        os.kill(started, number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    signal.signal(signal.SIGINT, lambda *_: None)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == started:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _exec_on(node: Node, command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Replace this process by a command on a node, in the same working directory; does not return."""
    folder = Path.cwd()
    try:
        become(node)
        os.chdir(folder)
        os.execvpe(command[0], list(command), dict(environ))
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started on {node.name}: {error.strerror}\n".encode())
    os._exit(127)


def _make(nodes: Sequence[Node], rate: str) -> list[Node]:
    """Create the nodes and their network; returns them with the processes that hold their namespaces."""
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc")
    mount("none", "/dev/shm", "tmpfs", options="mode=1777")
    hosts = Path("/dev/shm/hosts")
    lines = ["127.0.0.1 localhost", *(f"{node.address} {node.name}" for node in nodes)]
    hosts.write_text("\n".join(lines) + "\n", encoding="ascii")
    _ip("link set lo up")
    _ip("link add bridge type bridge")
    _ip("link set bridge up")
    made = [_made(node, hosts) for node in nodes]
    for node in made:
        _join(node, rate)
    return made


def _made(node: Node, hosts: Path) -> Node:
    """One node, without its network."""
    answer, ready = os.pipe()
    hold(node, hosts, ready)
    os.close(ready)
    with os.fdopen(answer) as file:
        said = file.read()
    if not said.isdigit():
        raise Forbidden(said.removeprefix("!") or f"{node.name} was not made")
    return replace(node, pid=int(said))


def _join(node: Node, rate: str) -> None:
    """Connect a node with the bridge by a pair of virtual network devices, in the node ``eth0``."""
    _ip(f"link add {node.name} type veth peer name eth0 netns {node.pid}")
    _ip(f"link set {node.name} master bridge up")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            become(node)
            _ip("link set lo up")
            _ip(f"addr add {node.address}/24 broadcast {NETWORK}.255 dev eth0")
            _ip("link set eth0 up")
            if rate:
                _call(f"tc qdisc add dev eth0 root tbf rate {rate} burst 128kb latency 100ms".split())
            status = 0
        except (OSError, Forbidden) as error:
            os.write(2, f"{error}\n".encode())
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        raise Forbidden(f"the network of {node.name} could not be made")


def _ip(arguments: str) -> None:
    _call(["ip", *arguments.split()])


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Forbidden(f"{' '.join(command)}: {done.stderr.strip()}")
