"""Hostile files for every option of every command that takes a path; also a program.

    python tests/fuzz/hostile_files.py --count 100000 --seed 1

runs that many drawn commands, each with limits on CPU time and memory, and prints those that do not end in a
sentence.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from offbeat.cli.app import VERBS, load

CPU_S = 30
"""Limit of a command's CPU time; commands without large inputs need about a second."""

MEMORY_BYTES = 8 * 2**30
"""Limit of a command's address space; loaded libraries and their threads reserve most of it."""

WALL_S = 300
"""Limit of a command's wall time, on a machine that is busy with other tests."""

WRITES = {"output", "json", "pictures", "picture", "html", "directory_out", "trace_output"}
"""Parameters whose path is written."""

LAUNCHING = {
    *("clock check", "doctor", "init", "partitioned check", "partitioned run", "platform calibrate"),
    *("program run", "run", "try", "tune", "verify"),
}
"""Commands that may build the C parts, or launch a program, before they read a file."""

KINDS = (
    "pipe",
    "device",
    "directory",
    "empty",
    "truncated",
    "binary",
    "huge",
    "loop",
    "forbidden",
    "missing",
)


class Input(NamedTuple):
    """An option or argument that takes the path of a file.

    ``words`` are those of the command, ``option`` is the option's name (empty for an argument), and
    ``arguments_before`` is how many arguments the command requires before.
    """

    words: tuple[str, ...]
    option: str
    arguments_before: int


def inputs() -> list[Input]:
    """Every option and argument that takes a path, found by introspection of the commands."""
    found = []
    for verb in VERBS:
        found += list(_inputs(load(verb), (verb,)))
    return found


def _inputs(command: Any, words: tuple[str, ...]) -> Iterator[Input]:
    subcommands = getattr(command, "commands", {})
    for name, subcommand in subcommands.items():
        below = words if len(subcommands) == 1 and name == words[-1] else (*words, name)
        yield from _inputs(subcommand, below)
    arguments = 0
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        takes_path = "Path" in str(parameter.type_descriptor.annotation)
        if takes_path and parameter.name not in WRITES:
            yield Input(words, "" if is_argument else parameter.opts[0], arguments)
        arguments += is_argument and parameter.required


def make(kind: str, folder: Path) -> Path:
    """A hostile file of a kind; a path that no file has for ``missing``."""
    path = folder / f"{kind}.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        return Path("/dev/zero")
    elif kind == "directory":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "truncated":
        path.write_text('name = "study"\n[[collective]]\nnames = ["red', encoding="utf-8")
    elif kind == "binary":
        path.write_bytes(random.Random(1).randbytes(5000))
    elif kind == "huge":
        with path.open("wb") as stream:
            stream.truncate(10 * 2**30)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "forbidden":
        path.write_text("x", encoding="utf-8")
        path.chmod(0)
    return path


def fault(arguments: Sequence[str], folder: Path) -> str:
    """Run a command; what is wrong with how it ends, empty if nothing is."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    try:
        done = subprocess.run(
            [sys.executable, "-m", "offbeat", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WALL_S,
            preexec_fn=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it has not ended after {WALL_S} s"
    if done.returncode not in (1, 2):
        return f"its status is {done.returncode}: {done.stderr[-300:]}"
    if "Traceback" in done.stderr:
        return done.stderr[-1500:]
    return "" if done.stderr.strip() else "it prints no sentence"


def faults(count: int, seed: int, known: Sequence[Input]) -> list[str]:
    """Draw commands and hostile files; those that do not end in a sentence."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        chosen, kind = draw.choice(known), draw.choice(KINDS)
        folder = Path(tempfile.mkdtemp(prefix="offbeat-hostile-"))
        try:
            path = str(make(kind, folder))
            before = ["missing"] * chosen.arguments_before
            arguments = [*chosen.words, *before, *([chosen.option] if chosen.option else []), path]
            if reason := fault(arguments, folder):
                found.append(f"offbeat {' '.join(arguments)} ({kind}, seed {seed}): {reason}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lines = faults(options.count, options.seed, inputs())
    print("\n".join(lines))
    print(f"seed {options.seed}: {options.count} commands, {len(lines)} failures")
    sys.exit(bool(lines))
