"""Kills of a command's processes at drawn moments: the front end, a launcher, or a process of a launch.

``OFFBEAT_TEST_KILLS`` is the number of kills in each phase, ``OFFBEAT_TEST_KILL_SEED`` their seed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

TARGETS = ("front end", "launcher", "process")
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
PATIENCE_S = 300.0


@dataclass(frozen=True)
class Kill:
    """A signal to a target, some time after a phase began."""

    phase: str
    target: str
    signal: signal.Signals
    after_s: float


def drawn(phase: str, number: int, lasting_s: float) -> list[Kill]:
    """Kills in a phase of about ``lasting_s`` seconds; a function of the seed, the phase and their number."""
    seed = os.environ.get("OFFBEAT_TEST_KILL_SEED", "1")
    draw = random.Random(f"{seed} {phase}")
    return [
        Kill(phase, draw.choice(TARGETS), draw.choice(SIGNALS), draw.uniform(0, lasting_s))
        for _ in range(int(os.environ.get("OFFBEAT_TEST_KILLS", str(number))))
    ]


@dataclass(frozen=True)
class Ended:
    """How a command ended, and whether the kill met a process."""

    status: int
    output: str
    has_killed: bool


def killed(
    argv: Sequence[str],
    folder: Path,
    kill: Kill,
    has_begun: Callable[[], bool],
    environment: Mapping[str, str] = os.environ,
) -> Ended:
    """Run a command, and send the signal of a kill after its phase has begun."""
    with (folder / "output.txt").open("w+b") as output:
        process = subprocess.Popen(
            argv, cwd=folder, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
        give_up = time.monotonic() + PATIENCE_S
        while process.poll() is None and not has_begun():
            assert time.monotonic() < give_up
            time.sleep(0.01)
        time.sleep(kill.after_s)
        has_killed = process.poll() is None and _kill(process.pid, kill)
        status = process.wait(PATIENCE_S)
        output.seek(0)
        return Ended(status, output.read().decode(errors="replace"), has_killed)


def _kill(front_end: int, kill: Kill) -> bool:
    try:
        children = psutil.Process(front_end).children(recursive=True)
        launchers = [one for one in children if one.name().startswith(("mpirun", "mpiexec", "prterun"))]
        others = [one for one in children if "offbeat-driver" in one.name() or one.name() == "app"]
        target = {"front end": [psutil.Process(front_end)], "launcher": launchers, "process": others}
        for one in target[kill.target][:1]:
            one.send_signal(kill.signal)
            return True
    except psutil.Error:
        pass
    return False
