"""The program behind ``tools/nodes/ssh``: runs a shell command on another node, or sets the state of its
link."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from node import SCRATCH, VARIABLE, Node, become, from_text

WITH_VALUE = (
    "-b",
    "-c",
    "-D",
    "-E",
    "-e",
    "-F",
    "-I",
    "-i",
    "-J",
    "-L",
    "-l",
    "-m",
    "-O",
    "-o",
    "-p",
    "-Q",
    "-R",
)
"""Options of ssh that are followed by a value."""

KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "TERM")
"""Variables that sshd sets for a login, copied from this environment."""


def main(arguments: list[str]) -> int:
    """Run the command; returns only if that fails."""
    while arguments and arguments[0].startswith("-"):
        arguments = arguments[2:] if arguments[0] in WITH_VALUE else arguments[1:]
    if len(arguments) < 2:
        return _refuse("usage: tools/nodes/ssh [OPTION...] HOST COMMAND...")
    if VARIABLE not in os.environ:
        return _refuse("this works only on nodes that tools/nodes made")
    host = arguments[0].split("@")[-1]
    nodes = {name: node for node in from_text(os.environ[VARIABLE]) for name in (node.name, node.address)}
    if host not in nodes:
        return _refuse(f"there is no node {host}; nodes are {', '.join(sorted(nodes))}")
    return _run(nodes[host], " ".join(arguments[1:]))


def _run(node: Node, command: str) -> int:
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    environ |= {"PATH": os.defpath, "TMPDIR": SCRATCH, VARIABLE: os.environ[VARIABLE]}
    try:
        become(node)
        home = environ.get("HOME", "/")
        os.chdir(home if os.access(home, os.X_OK) else "/")
        os.execve("/bin/sh", ["sh", "-c", command], environ)
    except OSError as error:
        return _refuse(f"{node.name} cannot be reached: {error.strerror}")


def _refuse(why: str) -> int:
    print(why, file=sys.stderr)
    return 255


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
