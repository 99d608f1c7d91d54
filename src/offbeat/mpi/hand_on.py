"""Handing variables to all processes of a program that somebody else's command starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from offbeat.mpi.installation import Installation

LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun", "prun")
"""How launchers begin that must be told which variables to hand on; srun hands on its whole environment."""

_COUNTS = ("-n", "--n", "-np", "--np", "-c", "--ntasks")
_COUNT = re.compile(r"(?:--ntasks=|-n)(\d+)")


def is_launcher(words: Sequence[str]) -> bool:
    """Whether a command begins with a launcher that must be told which variables to hand on."""
    return Path(words[0]).name.startswith(LAUNCHERS)


def handing_on(words: Sequence[str], variables: Mapping[str, str], installation: Installation) -> list[str]:
    """A launcher's words with those that hand variables to every process put behind its name.

    Open MPI's hold for one program of several that are separated by colons; they are said for each.
    """
    if installation.family != "openmpi":
        ours = [word for name, value in variables.items() for word in ("-genv", name, value)]
        return [words[0], *ours, *words[1:]]
    ours = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    argv = [words[0], *ours]
    for word in words[1:]:
        argv += [word, *ours] if word == ":" else [word]
    return argv


def processes(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> int | None:
    """How many processes a command starts, as far as its words or the batch job tell; None if they don't.

    The first count of each program counts: what stands behind it may be the program's own.
    """
    if not (is_launcher(words) or Path(words[0]).name == "srun"):
        return None  # a script, say, that starts what it likes
    counts: list[int] = []
    is_open = True
    for word, after in zip(words[1:], [*words[2:], ""], strict=True):
        joined = _COUNT.fullmatch(word)
        count = joined[1] if joined else after if word in _COUNTS else ""
        if word == ":":
            is_open = True
        elif is_open and count.isdigit():
            counts.append(int(count))
            is_open = False
    if counts:
        return sum(counts)
    said = environ.get("SLURM_NTASKS", "")
    return int(said) if said.isdigit() else None
