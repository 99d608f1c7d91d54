"""One node: its description, and the creation of its namespaces."""

from __future__ import annotations

import json
import os
import signal
import socket
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from namespaces import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWTIME,
    CLONE_NEWUTS,
    MS_BIND,
    MS_REC,
    enter,
    mount,
    unshare,
)

VARIABLE = "OFFBEAT_NODES"
"""The variable that lists the nodes for programs on them, such as the remote shell."""

NETWORK = "10.77.0"
"""The first three parts of the addresses, which exist only inside the namespaces."""

SCRATCH = "/dev/shm"
"""Each node's own folder for temporary files, as TMPDIR. In the /tmp that all share, MPI launchers would meet
files of earlier nodes: host names and numbers of processes repeat."""

CPUS = Path("/sys/devices/system/cpu")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Node:
    """A node: its name, address, cores (numbers of the machine's hardware threads) and clock offset.

    ``pid`` is the process that holds its namespaces, 0 before there is one.
    """

    name: str
    address: str
    cores: tuple[int, ...]
    offset_ns: int
    pid: int = 0


def to_text(nodes: Sequence[Node]) -> str:
    """The nodes as the value of :data:`VARIABLE`."""
    return json.dumps([asdict(node) for node in nodes], separators=(",", ":"))


def from_text(text: str) -> list[Node]:
    """The nodes that :func:`to_text` wrote."""
    return [Node(**(entry | {"cores": tuple(entry["cores"])})) for entry in json.loads(text)]


def hold(node: Node, hosts: Path, ready: int) -> None:
    """Start the process that holds a node's namespaces.

    Its number is written to the file descriptor ``ready`` once the node is there; else "!" and why not.
    """
    maker = os.fork()
    if maker == 0:
        status = 1
        try:
            status = _make(node, hosts, ready)
        except OSError as error:
            os.write(ready, f"!{error.filename}: {error.strerror}".encode())
        finally:
            os._exit(status)


def _make(node: Node, hosts: Path, ready: int) -> int:
    """Create the namespaces; a clock's offset can be set only before the first process enters its
    namespace."""
    unshare(
        CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS, "a network, mount, UTS and IPC namespace"
    )
    unshare(CLONE_NEWTIME, "a time namespace")
    seconds, nanoseconds = divmod(node.offset_ns, 1_000_000_000)
    try:
        offsets = f"monotonic {seconds} {nanoseconds}\n"
        Path("/proc/self/timens_offsets").write_text(offsets, encoding="ascii")
    except OSError as error:
        what = f"setting the clock of {node.name} by {node.offset_ns} ns, from the machine's start on"
        raise OSError(error.errno, error.strerror, what) from None
    holder = os.fork()
    if holder == 0:
        try:
            socket.sethostname(node.name)
            _mount_private_files(node, hosts)
            os.write(ready, f"{os.getpid()}".encode())
        except OSError as error:
            os.write(ready, f"!{error.filename}: {error.strerror}".encode())
            os._exit(1)
        os.close(ready)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            signal.pause()
    os.close(ready)
    return 0


def _mount_private_files(node: Node, hosts: Path) -> None:
    """Boot, list of hosts, cores and shared memory. All of it ends with the mount namespace."""
    node_folder = hosts.parent / node.name
    node_folder.mkdir()
    (node_folder / "boot_id").write_text(f"{uuid.uuid4()}\n", encoding="ascii")
    mount(node_folder / "boot_id", BOOT_ID, flags=MS_BIND)
    mount(hosts, "/etc/hosts", flags=MS_BIND)
    _mount_cores(node.cores, node_folder / "cpu")
    mount("none", SCRATCH, "tmpfs", options="mode=1777")


def _mount_cores(cores: Sequence[int], folder: Path) -> None:
    """Show only the node's cores: launchers count, and bind to, what they find in /sys."""
    folder.mkdir()
    for core in cores:
        (folder / f"cpu{core}").mkdir()
        mount(CPUS / f"cpu{core}", folder / f"cpu{core}", flags=MS_BIND)
    listed = ",".join(map(str, cores)) + "\n"
    for name in ("online", "possible", "present"):
        (folder / name).write_text(listed, encoding="ascii")
    mount(folder, CPUS, flags=MS_BIND | MS_REC)


def become(node: Node) -> None:
    """Move this process to the node. Raises OSError."""
    enter(node.pid)
    os.sched_setaffinity(0, node.cores)
