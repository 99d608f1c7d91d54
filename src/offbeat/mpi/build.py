"""Building native programs once: cached by library and by sources. The first of them is the driver."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import offbeat
from offbeat.errors import RunFailed, SignalExit
from offbeat.mpi.installation import Installation

DRIVER = "offbeat-driver"
"""File name of the driver."""

HARMONIZE = "liboffbeat-harmonize.so"
"""File name of the shared clock and the harmonised start as a library."""

_SOURCES = (".c", ".h", ".f90", ".map", ".in", ".cmake", "CMakeLists.txt")


def build_native(
    installation: Installation,
    cache: Path | None = None,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The driver for an installation; built first where the cache (:func:`cache_folder`) does not hold it.

    ``echo`` is told what is being built, as it takes some seconds. Processes that want the same build at once
    wait for the first. Raises :class:`RunFailed` with the log's path and its last errors; never needs the
    network.
    """
    driver = driver_path(installation, cache, environ)
    hints = configure_words(installation)
    what = f"the native parts for {installation.version_text}"
    try:
        return build_once(driver, native_sources(), hints, what, echo, environ)
    except BuildFailed as failed:
        raise RunFailed(
            f"the native parts could not be built for {installation.version_text}: {last_errors(failed.log)}"
            f" (the whole log: {failed.log})"
        ) from None


class BuildFailed(Exception):
    """A step of a build failed; ``log`` is the file with what it printed."""

    def __init__(self, log: Path) -> None:
        super().__init__(str(log))
        self.log = log


def build_once(
    program: Path,
    sources: Path,
    hints: Sequence[str],
    what: str,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The program ``PLACE/bin/NAME``, built from ``sources`` into its place where it is not there.

    ``hints`` are further words for CMake, and ``what`` is for sentences. Raises :class:`BuildFailed` where a
    step fails, and :class:`RunFailed` where there is no CMake or the place cannot be written.
    """
    if os.access(program, os.X_OK):
        return program
    place = program.parents[1]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(place.with_name(f"{place.name}.lock")):
            if not os.access(program, os.X_OK):
                if echo:
                    echo(f"Building {what} in {place}")
                _build(sources, hints, place, environ)
    except SignalExit as stop:
        stop.report_progress(f" while building {what}")
        raise
    except OSError as reason:
        raise RunFailed(
            f"{what} cannot be built in {place.parent}: {reason.strerror or reason}; set"
            " OFFBEAT_CACHE to a folder that can be written and that the compute nodes see"
        ) from None
    return program


def driver_path(
    installation: Installation, cache: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Path:
    """Where the driver for an installation is, or will be once it is built."""
    place = native_place(installation.family, installation.version, installation.identity, cache, environ)
    return place / "bin" / DRIVER


def native_place(
    family: str,
    version: Sequence[int],
    identity: str,
    cache: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The folder that the native parts for a library are built into; see :class:`Installation`."""
    digest = source_digest(native_sources(), environ)
    key = f"{family}-{'.'.join(str(number) for number in version)}-{identity}-{digest}"
    return (cache or cache_folder(environ)) / "native" / key


def harmonize_library(place: Path) -> Path | None:
    """The library HARMONIZE in such a folder; None where it isn't built."""
    return next(iter(sorted(place.glob(f"lib*/**/{HARMONIZE}"))), None)


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """``$OFFBEAT_CACHE``, or ``offbeat`` below ``$XDG_CACHE_HOME`` or ``~/.cache``; compute nodes need it."""
    if environ.get("OFFBEAT_CACHE"):
        return Path(environ["OFFBEAT_CACHE"]).absolute()
    home = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(home) / "offbeat"


def native_sources() -> Path:
    """The folder of the C sources: inside an installed package, or at the root of a checkout."""
    package = Path(offbeat.__file__).resolve().parent
    for folder in (package / "native", package.parents[1] / "native"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise RunFailed(
        f"the C sources of offbeat are missing: there is no CMakeLists.txt in {package / 'native'}"
    )


def source_digest(
    sources: Path, environ: Mapping[str, str] = os.environ, endings: tuple[str, ...] = _SOURCES
) -> str:
    """A short digest of what a build depends on beside the library: sources, machine, compiler settings."""
    digest = hashlib.sha256(platform.machine().encode())
    for name in ("CC", "CFLAGS", "CPPFLAGS", "CXX", "CXXFLAGS", "LDFLAGS"):
        digest.update(f"\0{name}={environ.get(name, '')}".encode())
    for path in sorted(path for path in sources.rglob("*") if path.name.endswith(endings)):
        digest.update(f"\0{path.relative_to(sources)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def configure_words(installation: Installation) -> list[str]:
    """The hints that let CMake build for exactly this installation, compiler wrapper or not."""
    return [
        f"-DOFFBEAT_MPI_INCLUDE={installation.include}",
        f"-DOFFBEAT_MPI_LIBRARY={installation.library}",
        *generator_words(),
    ]


def generator_words() -> list[str]:
    """What tells CMake to use Ninja where there is no make."""
    return ["-G", "Ninja"] if not shutil.which("make") and shutil.which("ninja") else []


def find_cmake(environ: Mapping[str, str] = os.environ) -> str:
    """CMake on PATH or beside the running Python; raises :class:`RunFailed`."""
    beside = f"{environ.get('PATH', os.defpath)}{os.pathsep}{Path(sys.prefix) / 'bin'}"
    found = shutil.which("cmake", path=beside)
    if not found:
        raise RunFailed(
            "cmake is not on PATH, and the native parts must be built once: install it with your package"
            " manager, load its module, or 'pip install cmake'"
        )
    return found


def last_errors(log: Path) -> str:
    """The lines that say why a build failed, or its last ones."""
    lines = [
        line.strip()
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.strip()
    ]
    errors = [
        line for line in lines if re.search(r"\berror\b|undefined reference|not found", line, re.IGNORECASE)
    ]
    telling = [line for line in errors if not re.match(r"g?make(\[\d+\])?:", line)]
    return " | ".join((telling or lines)[-3:])


def _build(sources: Path, hints: Sequence[str], place: Path, environ: Mapping[str, str]) -> None:
    """Build beside the final place and move the whole there, so that nobody ever sees half of it."""
    cmake = find_cmake(environ)
    log = place.with_name(f"{place.name}.log")
    scratch = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    build, install = scratch / "build", scratch / "install"
    steps = (
        [cmake, "-S", str(sources), "-B", str(build), *hints],
        [cmake, "--build", str(build), "--parallel", "2"],
        [cmake, "--install", str(build), "--prefix", str(install)],
    )
    try:
        with log.open("w", encoding="utf-8") as output:
            for step in steps:
                _run(step, output.fileno(), log, environ)
        _move(install, place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(words: list[str], output: int, log: Path, environ: Mapping[str, str]) -> None:
    os.write(output, f"$ {' '.join(words)}\n".encode())
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=dict(environ),
        start_new_session=True,  # with all that it starts, so that nothing builds on once we are stopped
    )
    try:
        status = process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):  # it may just have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if status != 0:
        raise BuildFailed(log)


def _move(install: Path, place: Path) -> None:
    """Put a finished build in its place; one that lost its driver makes way."""
    if place.exists():
        shutil.rmtree(place)
    install.replace(place)


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Wait until no other process builds the same; without file locks the move is atomic still."""
    with lock.open("w") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
