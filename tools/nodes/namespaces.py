"""The Linux calls that create and enter namespaces, which Python 3.11 lacks."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWTIME = 0x00000080
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

PR_SET_PDEATHSIG = 1

KINDS_OF_A_NODE = ("net", "uts", "ipc", "time", "mnt")
"""The namespaces of each node, as /proc/PID/ns names them; ``mnt`` last, as it changes paths."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int, what: str) -> None:
    """Move this process (its children, for PID and time) into new namespaces; OSError names ``what``."""
    _check(_libc.unshare(flags), what)


def mount(source: str | Path, target: str | Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount, as mount(2) does. Raises OSError that names the target."""
    paths = [str(word).encode() for word in (source, target, kind)]
    _check(_libc.mount(*paths, ctypes.c_ulong(flags), options.encode() or None), f"mounting {target}")


def die_with_parent(signal: int) -> None:
    """Make the kernel send this process a signal when its parent ends for any reason."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0), "prctl")


def become_root_of_a_user_namespace() -> None:
    """Move this process into a user namespace in which its user is root. Raises OSError where forbidden."""
    user, group = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER, "a user namespace")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")


def enter(pid: int) -> None:
    """Move this process into the namespaces of the node that process ``pid`` holds. Raises OSError."""
    opened = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in KINDS_OF_A_NODE]
    for kind, number in zip(KINDS_OF_A_NODE, opened, strict=True):
        _check(_libc.setns(number, 0), f"entering the {kind} namespace of process {pid}")
        os.close(number)
