"""The short run that shows whether an installation works here: a few processes, the driver's ``--check``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import RunFailed
from offbeat.mpi import allocation
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch import LaunchCommand, command, shell_line

_MARK = "@offbeat "


class Check(Struct, kw_only=True):
    """What the driver answered: times in nanoseconds; ``places`` has one entry a rank, ``host core,core``.

    ``clock_shared`` says that all processes read one physical clock; ``clock_bound_ns`` is the largest error
    bound of the shared clock, ``overshoot_ns`` how late the latest harmonised start was; ``switches`` whether
    the library takes another algorithm while it runs.
    """

    p: int
    library: str
    clock_source: str
    clock_resolution_ns: int
    clock_shared: bool
    clock_bound_ns: int
    overshoot_ns: int
    switches: bool
    places: list[str]

    @property
    def hosts(self) -> list[str]:
        """The hosts that processes ran on, each once."""
        return list(dict.fromkeys(place.split(" ")[0] for place in self.places))

    @property
    def binding(self) -> list[str]:
        """Per rank, the cores it may run on, as ``0,1``."""
        return [place.partition(" ")[2] for place in self.places]


def check(
    installation: Installation,
    driver: Path,
    p: int = 2,
    timeout_s: float = 60.0,
    environ: Mapping[str, str] = os.environ,
) -> Check:
    """Launch ``p`` processes on this node and read the driver's answer; raises :class:`RunFailed`."""
    launch = command(
        installation, [str(driver), "--check"], p, allocation=allocation.current(environ), environ=environ
    )
    return run(launch, installation, p, timeout_s)


def run(launch: LaunchCommand, installation: Installation, p: int, timeout_s: float = 60.0) -> Check:
    """Run a launch of ``p`` processes of the driver with ``--check``; raises :class:`RunFailed`."""
    try:
        done = subprocess.run(
            launch.argv,
            env=launch.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(
            f"{p} processes of {installation.name} did not end within {timeout_s:.0f} s; {_by_hand(launch)}"
        ) from None
    except OSError as reason:
        raise RunFailed(
            f"{installation.mpirun} cannot be started: {reason.strerror}; {_by_hand(launch)}"
        ) from None
    answer = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode != 0 or not answer:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise RunFailed(
            f"{p} processes of {installation.name} ended with status {done.returncode} and"
            f" {'no answer' if not answer else 'an answer'}: {' | '.join(said) or 'nothing was printed'};"
            f" {_by_hand(launch)}"
        )
    return _read(answer[-1].removeprefix(_MARK), p, installation)


def _read(text: str, p: int, installation: Installation) -> Check:
    try:
        answer = msgspec.json.decode(text, type=Check)
    except msgspec.DecodeError as reason:
        raise RunFailed(
            f"the driver of {installation.name} gave an answer that cannot be read: {reason}"
        ) from None
    if answer.p != p:
        raise RunFailed(
            f"{p} processes of {installation.name} were launched, but the driver saw {answer.p}: the launcher"
            f" {installation.mpirun} and the library {installation.library} do not belong together"
        )
    return answer


def _by_hand(launch: LaunchCommand) -> str:
    return f"to see it by hand: {shell_line(launch)}"
