"""Starts a program with the tracer preloaded in front of its MPI library, and otherwise unchanged."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from offbeat.errors import BadInput, RunFailed
from offbeat.mpi.build import build_native, driver_path
from offbeat.mpi.environment import forward_variables, is_launcher
from offbeat.mpi.find import choose
from offbeat.mpi.installation import Installation
from offbeat.trace.options import DIR, PREFIX, check
from offbeat.trace.read import SUFFIX

LIBRARY = "liboffbeat-trace.so"
"""File name of the tracer."""

_PRELOADS = re.compile(r"(?:^|[,=])LD_PRELOAD(?:=|$)")


class PreparedCommand(Struct, frozen=True, kw_only=True):
    """A command line, its complete environment, and the folder of the trace."""

    argv: list[str]
    environment: dict[str, str]
    folder: Path


def prepare(
    arguments: Sequence[str],
    folder: Path,
    options: Mapping[str, str],
    installation: Installation,
    library: Path,
    environ: Mapping[str, str] = os.environ,
) -> PreparedCommand:
    """The command that runs ``arguments`` (a launcher with a program, or a program alone) with the tracer.

    ``options`` are tracer variables without their prefix. The launcher gets its own options for forwarding
    variables to all processes. Raises :class:`BadInput` as :func:`check_options` does, and for a folder that
    cannot be created.
    """
    check_options(folder, options, environ)
    requested = tracer_variables(options, environ)
    requested[DIR] = str(folder.absolute())
    _create(folder)
    before = environ.get("LD_PRELOAD", "")
    variables = requested | {"LD_PRELOAD": f"{library}:{before}" if before else str(library)}
    if not is_launcher(arguments):  # srun and a program without launcher use the environment
        return PreparedCommand(argv=list(arguments), environment=dict(environ) | variables, folder=folder)
    argv = forward_variables(arguments, variables, installation)
    return PreparedCommand(argv=argv, environment=dict(environ) | requested, folder=folder)


def check_options(folder: Path, options: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> None:
    """Raise :class:`BadInput` for options that the tracer cannot parse, and for a folder with a trace."""
    check(tracer_variables(options, environ), [PREFIX + name for name, value in options.items() if value])
    if folder.is_dir() and any(path.suffix == SUFFIX for path in folder.iterdir()):
        raise BadInput(f"{folder} holds a trace already; give another folder with --output, or remove it")


def check_command(arguments: Sequence[str]) -> None:
    """Raise :class:`BadInput` for a command that cannot be started, or that sets LD_PRELOAD itself."""
    if arguments[0].startswith("-"):
        raise BadInput(f"there is no option {arguments[0]}; options come before '--', the command after it")
    if shutil.which(arguments[0]) is None:
        problem = "it is not executable" if Path(arguments[0]).exists() else "there is no such program"
        raise BadInput(f"cannot start {arguments[0]}: {problem}")
    if any(_PRELOADS.search(word) for word in arguments):
        raise BadInput(
            "the command sets LD_PRELOAD and thereby removes the tracer; set it in the environment of"
            " 'offbeat trace run' instead, so that both are loaded"
        )


def tracer_variables(options: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The tracer's variables: those of the environment, overridden by ``options`` (without their prefix)."""
    inherited = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    return inherited | {PREFIX + name: value for name, value in options.items() if value}


def find_installation(requested: str, arguments: Sequence[str]) -> Installation:
    """The MPI library of a command: the requested one, else that of its launcher, else the preferred one."""
    if requested != "auto":
        return choose(requested)
    launcher = shutil.which(arguments[0])
    if is_launcher(arguments) and launcher is not None:
        return choose(str(Path(launcher).absolute()))
    return choose("auto")


def tracer_library(installation: Installation, echo: Callable[[str], None] | None = None) -> Path:
    """The tracer for a library; ``echo`` prints a line if it must be built.

    Raises :class:`RunFailed`, and :class:`BadInput` for a path that LD_PRELOAD cannot contain.
    """
    cache = driver_path(installation).parents[1]
    if re.search(r"[\s:]", str(cache)):
        raise BadInput(
            f"the tracer's folder is {cache}, and LD_PRELOAD cannot contain a path with blanks or colons; set"
            " OFFBEAT_CACHE to a folder without them that all compute nodes can access"
        )
    place = build_native(installation, echo=echo).parents[1]
    library = next(iter(sorted(place.glob(f"lib*/**/{LIBRARY}"))), None)
    if library is None:
        raise RunFailed(f"there is no {LIBRARY} in {place}; remove that folder and try again")
    return library


def run(command: PreparedCommand) -> int:
    """Run a command; returns its exit status, negative for the signal that ended it.

    The program inherits all open files of this process. Signals that this process receives are forwarded to
    it, unless they were sent to the whole process group.
    """
    with _signals_blocked() as restore:
        try:
            process = subprocess.Popen(
                command.argv, env=command.environment, preexec_fn=restore, close_fds=False
            )
        except OSError as error:
            raise BadInput(f"cannot start {command.argv[0]}: {error.strerror or error}") from error
        with GroupSignalProbe() as group_probe:  # started after the program: earlier signals are forwarded
            while process.poll() is None:
                number = signal.sigwaitinfo([*_forwarded_signals(), signal.SIGCHLD]).si_signo
                if number != signal.SIGCHLD and not (
                    _is_in_our_group(process.pid) and group_probe.received(number)
                ):
                    process.send_signal(number)
        return process.returncode


@contextmanager
def _signals_blocked() -> Iterator[Callable[[], None]]:
    """Block signals so that :func:`run` can wait for them; yields the function that restores them in a child.

    SIGCHLD has its default action meanwhile: if the parent ignored it, the exit status would be lost.
    """
    child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*_forwarded_signals(), signal.SIGCHLD])

    def restore() -> None:
        if child is not None:  # a handler that a library set in C cannot be set again from Python
            signal.signal(signal.SIGCHLD, child)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def restore_in_child() -> None:
        for number in _forwarded_signals():  # a Python handler must not run in the child
            signal.signal(number, signal.SIG_DFL)
        restore()

    try:
        yield restore_in_child
    finally:
        restore()


def _is_in_our_group(pid: int) -> bool:
    """Whether a process is in our process group; some programs, such as timeout, create their own."""
    try:
        return os.getpgid(pid) == os.getpgrp()
    except ProcessLookupError:
        return False


def _forwarded_signals() -> list[signal.Signals]:
    """Signals that are forwarded to the program; signals ignored from the start (nohup) remain ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder of a trace. Raises :class:`BadInput` if another run holds the lock.

    Without effect on a file system that does not support locks.
    """
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"another run is writing into {folder}; give another folder with --output"
            ) from None
        except OSError:
            pass
        yield
    finally:
        os.close(place)


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot create the folder {folder}: {error.strerror or error}") from error


_DELIVERY_S = 0.02
"""Time after which a signal to a process group has been delivered to all its processes."""


class GroupSignalProbe:
    """An idle child process that detects signals sent to our whole process group, such as a Ctrl-C.

    The program has received such signals already, and they must not be forwarded: launchers abort at a
    second Ctrl-C. The child runs a program of another name, because a signal may be sent by name. It inherits
    the mask of blocked signals, so that they stay pending. If it cannot be started, every signal is
    forwarded: duplicates are preferable to loss. A context manager.
    """

    def __init__(self) -> None:
        self._start()

    def received(self, number: int) -> bool:
        """Whether the child received a signal that we received; to be called once per signal.

        If so, all signals pending for the child are removed from ours as well, because the program has
        received them too.
        """
        time.sleep(_DELIVERY_S)
        pending = self._pending()
        if number not in pending:
            return False
        while signal.sigtimedwait(pending, 0):
            pass
        self._end()  # its pending signals cannot be cleared
        self._start()
        return True

    def _pending(self) -> set[int]:
        if self._process is None:
            return set()
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        masks = re.findall(r"^ShdPnd:\s*(\w+)", status, re.MULTILINE)
        return {number for number in range(1, signal.NSIG) if int(masks[0], 16) >> (number - 1) & 1}

    def _start(self) -> None:
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["cat"],  # ends with this process, as its standard input is closed
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": f"{os.defpath}:{os.environ.get('PATH', '')}"},
            )
        except OSError:
            self._process = None

    def _end(self) -> None:
        if self._process is not None:
            with self._process:
                self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
