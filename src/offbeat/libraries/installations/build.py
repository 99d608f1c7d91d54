"""Building native programs (above all the driver) once, cached by MPI library and by sources."""

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
from offbeat.base.errors import RunFailed, SignalExit
from offbeat.base.reading import LOG_BYTES, read_file, read_text
from offbeat.libraries.installations.installation import Installation

DRIVER = "offbeat-driver"
"""File name of the driver."""

HARMONIZE = "liboffbeat-harmonize.so"
"""File name of the library with the shared clock and the harmonised start."""

PARTITIONED = "liboffbeat-partitioned.so"
"""File name of the library for partitioned communication."""

NATIVE_TESTS = ("*_test.c", "testing/*", "tests.cmake")
"""Patterns of files in the native sources that only tests are made of: the wheel lacks them."""

_JOBS = 8
"""The most compilers that run at the same time: login nodes are shared."""

_SOURCES = (".c", ".h", ".def", ".f90", ".map", ".in", ".cmake", "CMakeLists.txt")


def build_native(
    installation: Installation,
    cache: Path | None = None,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The path of the driver for an installation; builds it if the cache (:func:`cache_folder`) lacks it.

    ``echo`` gets a line when a build begins, which takes up to a minute, or when another process, for which
    this one waits, builds the same. Raises :class:`RunFailed` with the log's path and its last errors. The
    build needs no network.
    """
    driver = driver_path(installation, cache, environ)
    options = configure_options(installation)
    title = f"the native parts for {installation.version_text}"
    try:
        return build_once(driver, native_sources(), options, title, echo, environ)
    except BuildFailed as failure:
        raise RunFailed(
            f"the native parts could not be built for {installation.version_text}: {last_errors(failure.log)}"
            f" (complete log: {failure.log})"
        ) from None


class BuildFailed(Exception):
    """A step of a build failed; ``log`` is the file with its output."""

    def __init__(self, log: Path) -> None:
        super().__init__(str(log))
        self.log = log


def build_once(
    program: Path,
    sources: Path,
    options: Sequence[str],
    title: str,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The program ``FOLDER/bin/NAME``, built from ``sources`` into FOLDER if it does not exist.

    ``options`` are further arguments for CMake; ``title`` names the program in messages. Raises
    :class:`BuildFailed` if a step fails, and :class:`RunFailed` if there is no CMake or the folder cannot be
    written.
    """
    if os.access(program, os.X_OK):
        return program
    folder = program.parents[1]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        message = f"Another process builds {title}; waiting for that process"
        with exclusive(folder.with_name(f"{folder.name}.lock"), lambda: echo(message) if echo else None):
            if not os.access(program, os.X_OK):
                if echo:
                    echo(f"Building {title} in {folder}, which takes about a minute")
                _build(sources, options, folder, environ)
    except SignalExit as stop:
        stop.report_progress(f" while building {title}")
        raise
    except OSError as reason:
        raise RunFailed(
            f"{title} cannot be built in {folder.parent}: {reason.strerror or reason}; set"
            " OFFBEAT_CACHE to a folder that can be written and that the compute nodes see"
        ) from None
    return program


def driver_path(
    installation: Installation, cache: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Path:
    """The path of the driver for an installation, whether it is built or not."""
    folder = build_folder(installation.family, installation.version, installation.identity, cache, environ)
    return folder / "bin" / DRIVER


def build_folder(
    family: str,
    version: Sequence[int],
    identity: str,
    cache: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """The folder into which the native parts for a library are built; see :class:`Installation`."""
    digest = source_digest([native_sources()], environ)
    key = f"{family}-{'.'.join(str(number) for number in version)}-{identity}-{digest}"
    return (cache or cache_folder(environ)) / "native" / key


def built_library(folder: Path, name: str) -> Path | None:
    """The library HARMONIZE or PARTITIONED in such a folder; None if it is not built."""
    return next(iter(sorted(folder.glob(f"lib*/**/{name}"))), None)


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder ``$OFFBEAT_CACHE``, else ``offbeat`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.

    All nodes must see it.
    """
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
    folders: Sequence[Path], environ: Mapping[str, str] = os.environ, suffixes: tuple[str, ...] = _SOURCES
) -> str:
    """A short digest of all inputs of a build beside the library: sources, machine, compiler settings.

    Sources that only tests are made of (``NATIVE_TESTS``) are no inputs.
    """
    digest = hashlib.sha256(platform.machine().encode())
    for name in ("CC", "CFLAGS", "CPPFLAGS", "CXX", "CXXFLAGS", "LDFLAGS"):
        digest.update(f"\0{name}={environ.get(name, '')}".encode())
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.name.endswith(suffixes)):
            if any(path.match(pattern) for pattern in NATIVE_TESTS):
                continue
            digest.update(f"\0{path.relative_to(folder)}\0".encode())
            digest.update(read_file(path))
    return digest.hexdigest()[:16]


def configure_options(installation: Installation) -> list[str]:
    """The arguments that make CMake build for exactly this installation, even without a compiler wrapper."""
    return [
        f"-DOFFBEAT_MPI_INCLUDE={installation.include}",
        f"-DOFFBEAT_MPI_LIBRARY={installation.library}",
        *generator_options(),
    ]


def generator_options() -> list[str]:
    """The arguments that make CMake use Ninja where there is no make."""
    return ["-G", "Ninja"] if not shutil.which("make") and shutil.which("ninja") else []


def find_cmake(environ: Mapping[str, str] = os.environ) -> str:
    """CMake on PATH or beside the running Python; raises :class:`RunFailed`."""
    search_path = f"{environ.get('PATH', os.defpath)}{os.pathsep}{Path(sys.prefix) / 'bin'}"
    cmake = shutil.which("cmake", path=search_path)
    if not cmake:
        raise RunFailed(
            "cmake is not on PATH, and the native parts must be built once: install it with your package"
            " manager, load its module, or 'pip install cmake'"
        )
    return cmake


def last_errors(log: Path) -> str:
    """The last lines of a build log that name an error, else its last lines."""
    lines = [
        line.strip() for line in read_text(log, LOG_BYTES, errors="replace").splitlines() if line.strip()
    ]
    errors = [
        line for line in lines if re.search(r"\berror\b|undefined reference|not found", line, re.IGNORECASE)
    ]
    of_compiler = [line for line in errors if not re.match(r"g?make(\[\d+\])?:", line)]
    return " | ".join((of_compiler or lines)[-3:])


def _build(sources: Path, options: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
    """Build in a scratch folder and move the installed files to ``folder`` atomically."""
    cmake = find_cmake(environ)
    log = folder.with_name(f"{folder.name}.log")
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    build, install = scratch / "build", scratch / "install"
    steps = (
        [cmake, "-S", str(sources), "-B", str(build), *options],
        [cmake, "--build", str(build), "--parallel", str(min(len(os.sched_getaffinity(0)), _JOBS))],
        [cmake, "--install", str(build), "--prefix", str(install)],
    )
    try:
        with log.open("w", encoding="utf-8") as output:
            for step in steps:
                _run(step, output.fileno(), log, environ)
        if folder.exists():  # an older build without a driver
            shutil.rmtree(folder)
        install.replace(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(command: list[str], output: int, log: Path, environ: Mapping[str, str]) -> None:
    os.write(output, f"$ {' '.join(command)}\n".encode())
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=dict(environ),
        start_new_session=True,  # so that all its children can be killed when this command is stopped
    )
    try:
        status = process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):  # the process may just have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if status != 0:
        raise BuildFailed(log)


@contextlib.contextmanager
def exclusive(lock: Path, report_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Wait until no other process holds a lock; does nothing where files cannot be locked.

    ``report_wait`` is called first if another process holds the lock.
    """
    with lock.open("w") as file:
        is_held = False
        with contextlib.suppress(OSError):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                is_held = True
        if is_held:
            report_wait()
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
