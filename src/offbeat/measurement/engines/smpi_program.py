"""The program ``offbeat-smpi``: building it once if SimGrid is installed, and running calls in it."""

from __future__ import annotations

import contextlib
import ctypes.util
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from offbeat.base.errors import RunFailed
from offbeat.base.reading import LOG_BYTES, read_text
from offbeat.libraries.installations.build import (
    BuildFailed,
    build_once,
    cache_folder,
    generator_options,
    last_errors,
    native_sources,
    source_digest,
)
from offbeat.libraries.launch.driver import HUNG, Driver, DriverLost
from offbeat.libraries.launch.driver_protocol import AnswerType, Command
from offbeat.measurement.engines.smpi_commands import SmpiAlgorithms, SmpiCall, SmpiCheck, SmpiHello, SmpiRun

PROGRAM = "offbeat-smpi"
"""File name of the program."""

START_PATIENCE_S = 300.0
"""How long the program may take to start, independently of the limit for calls."""

PACKAGE = "Debian's and Ubuntu's package libsimgrid-dev"

_SOURCES = (".cpp", ".hpp", ".c", ".h", ".def", "CMakeLists.txt")
_ABSENT = "SimGrid with SMPI was not found"
"""Prefix of the message of ``native/smpi/CMakeLists.txt`` if SimGrid is missing."""


def build_program(
    cache: Path | None = None,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The path of the program; builds it if the cache lacks it for this SimGrid.

    Raises :class:`RunFailed` if SimGrid or a compiler is missing, or the build fails.
    """
    program = program_path(cache, environ)
    try:
        return build_once(program, _sources(), generator_options(), "the program for SimGrid", echo, environ)
    except BuildFailed as failure:
        log = read_text(failure.log, LOG_BYTES, errors="replace")
        if _ABSENT in log:
            raise RunFailed(
                f"the engine smpi needs SimGrid, which is not installed here: install {PACKAGE}, or set"
                " CMAKE_PREFIX_PATH to where it is"
            ) from None
        if "No CMAKE_CXX_COMPILER could be found" in log:
            raise RunFailed(
                "the engine smpi needs a C++ compiler once, to build the program for SimGrid: install g++"
            ) from None
        raise RunFailed(
            f"the program for SimGrid could not be built: {last_errors(failure.log)}"
            f" (complete log: {failure.log})"
        ) from None


def program_path(cache: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """The path of the program for the installed SimGrid, whether it is built or not."""
    library = ctypes.util.find_library("simgrid") or "elsewhere"
    digest = source_digest(
        [_sources(), native_sources() / "protocol", native_sources() / "collectives"], environ, _SOURCES
    )
    return (cache or cache_folder(environ)) / "native" / f"smpi-{library}-{digest}" / "bin" / PROGRAM


def _sources() -> Path:
    return native_sources() / "smpi"


class SimGridProcess:
    """A running program: simulates many calls, one after another, on one platform with fixed ranks.

    ``platform`` is SimGrid's XML, ``hosts`` the name of each rank's host, ``settings`` SimGrid's options as
    ``name:value``. Its files are written to ``folder``, and SimGrid's output to ``log``. Every command raises
    :class:`offbeat.libraries.launch.driver.DriverLost` if the program dies or does not answer within
    ``patience_s`` seconds (it is then killed), and :class:`offbeat.libraries.launch.driver.CommandRefused`
    if SMPI refuses the call. ``version`` is SimGrid's.
    """

    def __init__(
        self,
        program: Path,
        platform: str,
        hosts: Sequence[str],
        settings: Sequence[str],
        *,
        folder: Path,
        log: Path,
        patience_s: float,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        self._files = [folder / f"{log.stem}.xml", folder / f"{log.stem}.hosts"]
        for file, text in zip(self._files, (platform, "\n".join(hosts) + "\n"), strict=True):
            file.write_text(text, encoding="utf-8")
        self._patience_s = patience_s
        options = [f"--cfg={setting}" for setting in settings]
        try:
            self._driver = Driver([str(program), *map(str, self._files), *options], os.environ, log)
        except OSError as error:
            raise RunFailed(f"{program} could not be started: {error.strerror or error}") from None
        self.version = self._ask(SmpiHello(), START_PATIENCE_S).simgrid

    def algorithms(self, collective: str) -> list[str]:
        """SMPI's algorithms of a collective; empty if it has no choice."""
        return self._ask(SmpiAlgorithms(collective=collective), START_PATIENCE_S).algorithms

    def wrong(self, call: SmpiCall) -> int:
        """The number of wrong elements after a call with data of type ``int``."""
        return self._ask(SmpiCheck(**structs.asdict(call)), self._patience_s).wrong

    def run(
        self, call: SmpiCall, delays_s: NDArray[np.float64], *, copies: bool = False
    ) -> tuple[NDArray[np.float64], float]:
        """The exit of each rank in seconds since the start, and the CPU time that SMPI took, in seconds.

        ``delays_s`` are the arrivals (p,). With ``copies`` data is copied between buffers, which takes CPU
        time but does not change the exits.
        """
        command = SmpiRun(**structs.asdict(call), delays=delays_s.tolist(), copies=int(copies))
        answer = self._ask(command, self._patience_s)
        # rounding can put an exit just before its arrival
        exits = np.maximum(np.array(answer.exits, dtype=np.float64), delays_s)
        return exits, answer.cpu_s

    def close(self, patience_s: float = Driver.PATIENCE_S) -> None:
        """End the program, by force after ``patience_s`` seconds, and remove its files."""
        self._driver.close(patience_s)
        self._remove_files()
        with contextlib.suppress(OSError):
            if self._log.stat().st_size == 0:
                self._log.unlink()

    def _ask(self, command: Command[AnswerType], timeout_s: float) -> AnswerType:
        try:
            return self._driver.ask(command, timeout_s=timeout_s)
        except DriverLost as loss:
            self._remove_files()
            reason = str(loss).removeprefix("the launch ")
            raise DriverLost(reason if reason.startswith(HUNG) else f"SimGrid {reason}") from None

    def _remove_files(self) -> None:
        for file in self._files:
            with contextlib.suppress(OSError):
                file.unlink()
