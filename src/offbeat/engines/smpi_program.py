"""The program ``offbeat-smpi``: built once where SimGrid is installed, and spoken to."""

from __future__ import annotations

import contextlib
import ctypes.util
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offbeat.errors import RunFailed
from offbeat.mpi.build import (
    BuildFailed,
    build_once,
    cache_folder,
    generator_options,
    last_errors,
    native_sources,
    source_digest,
)
from offbeat.mpi.driver import HUNG, Driver, DriverLost

PROGRAM = "offbeat-smpi"
"""File name of the program."""

START_PATIENCE_S = 300.0
"""How long the program may take to be ready, however short calls must be."""

PACKAGE = "Debian's and Ubuntu's package libsimgrid-dev"

_SOURCES = (".cpp", ".hpp", "CMakeLists.txt")
_ABSENT = "SimGrid with SMPI was not found"
"""The beginning of what ``native/smpi/CMakeLists.txt`` says where it isn't there."""


def build_program(
    cache: Path | None = None,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The program, built first where the cache does not hold it for this SimGrid.

    Raises :class:`RunFailed` where SimGrid or a compiler is missing, or the build fails.
    """
    program = program_path(cache, environ)
    try:
        return build_once(program, _sources(), generator_options(), "the program for SimGrid", echo, environ)
    except BuildFailed as failed:
        said = failed.log.read_text(encoding="utf-8", errors="replace")
        if _ABSENT in said:
            raise RunFailed(
                f"the engine smpi needs SimGrid, which is not installed here: install {PACKAGE}, or set"
                " CMAKE_PREFIX_PATH to where it is"
            ) from None
        if "No CMAKE_CXX_COMPILER could be found" in said:
            raise RunFailed(
                "the engine smpi needs a C++ compiler once, to build the program for SimGrid: install g++"
            ) from None
        raise RunFailed(
            f"the program for SimGrid could not be built: {last_errors(failed.log)}"
            f" (complete log: {failed.log})"
        ) from None


def program_path(cache: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the program for the installed SimGrid is, or will be once it is built."""
    library = ctypes.util.find_library("simgrid") or "elsewhere"
    digest = source_digest(_sources(), environ, _SOURCES)
    return (cache or cache_folder(environ)) / "native" / f"smpi-{library}-{digest}" / "bin" / PROGRAM


def _sources() -> Path:
    return native_sources() / "smpi"


class Call:
    """One collective call by one algorithm, as the program's words."""

    def __init__(self, collective: str, algorithm: str, *, bytes: int, datatype: str, root: int) -> None:
        self.words: dict[str, object] = {
            "collective": collective,
            "algorithm": algorithm,
            "bytes": bytes,
            "datatype": datatype,
            "root": root,
        }


class Oracle:
    """A running program: one platform with ranks on it, and many calls, one after another.

    ``platform`` is SimGrid's XML, ``hosts`` the name of each rank's host, ``settings`` SimGrid's options as
    ``name:value``. ``folder`` takes its files; what SimGrid prints goes to ``log``. Every question raises
    :class:`offbeat.mpi.driver.DriverLost` where the program dies or gives no answer within ``patience_s``
    seconds (it is ended then), and :class:`offbeat.mpi.driver.Refused` where SMPI refuses the call.
    ``version`` is SimGrid's.
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
        self.version = str(self._ask("hello", START_PATIENCE_S)["simgrid"])

    def algorithms(self, collective: str) -> list[str]:
        """SMPI's algorithms of a collective; none where it has no choice."""
        names = self._ask("algorithms", START_PATIENCE_S, collective=collective)["algorithms"]
        assert isinstance(names, list)
        return [str(name) for name in names]

    def wrong(self, call: Call) -> int:
        """How many elements are wrong after a call with numbers."""
        return int(str(self._ask("check", self._patience_s, **call.words)["wrong"]))

    def run(
        self, call: Call, delays_s: NDArray[np.float64], *, copies: bool = False
    ) -> tuple[NDArray[np.float64], float]:
        """The exit of each rank in seconds since the start, and the CPU time that SMPI took, in seconds.

        ``delays_s`` are the arrivals (p,). With ``copies`` data moves from buffer to buffer, which takes CPU
        time and changes nothing.
        """
        delays = ",".join(repr(float(delay)) for delay in delays_s)
        answer = self._ask("run", self._patience_s, **call.words, delays=delays, copies=int(copies))
        # leaving at once can round to just before arriving
        exits = np.maximum(np.array(answer["exits"], dtype=np.float64), delays_s)
        return exits, float(str(answer["cpu_s"]))

    def close(self, patience_s: float = Driver.PATIENCE_S) -> None:
        """End the program, after so many seconds by force, and remove its files."""
        self._driver.close(patience_s)
        self._remove_files()
        with contextlib.suppress(OSError):
            if self._log.stat().st_size == 0:
                self._log.unlink()

    def _ask(self, verb: str, timeout_s: float, **words: object) -> dict[str, object]:
        try:
            return self._driver.ask(verb, timeout_s=timeout_s, **words)
        except DriverLost as lost:
            self._remove_files()
            said = str(lost).removeprefix("the launch ")
            raise DriverLost(said if said.startswith(HUNG) else f"SimGrid {said}") from None

    def _remove_files(self) -> None:
        for file in self._files:
            with contextlib.suppress(OSError):
                file.unlink()
