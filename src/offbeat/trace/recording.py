"""Starts a program with the tracer preloaded in front of its MPI library, and otherwise unchanged.

OFFBEAT_TRACE_* variables are checked before: the tracer runs a program untraced if it cannot parse one.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from offbeat.base.campaign.lock import Lock
from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.reading import LOG_BYTES, read_text
from offbeat.base.units import parse_size
from offbeat.libraries.installations.build import build_native, driver_path
from offbeat.libraries.installations.find import choose
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_words import is_launcher
from offbeat.libraries.launch.user_command import with_variables
from offbeat.model.study.collectives import PROPERTIES
from offbeat.trace.files.folder import check_unused, create
from offbeat.trace.files.format import PAGE_BYTES

COLLECTIVES = (*PROPERTIES, "constructors")
"""Names in OFFBEAT_TRACE_COLLECTIVES."""

FEWEST_BYTES = 3 * PAGE_BYTES
MOST_RANGES = 64
MOST_DEPTH = 16
_MOST_NUMBER = 2**31 - 1
DIR = "OFFBEAT_TRACE_DIR"
RANKS = "OFFBEAT_TRACE_RANKS"
PREFIX = DIR.removesuffix("DIR")

_RANGE = re.compile(r"(\d{1,18})(-(\d{1,18})?)?")
_WINDOW = re.compile(r"(\d+(?:\.\d*)?|\.\d+)-((?:\d+(?:\.\d*)?|\.\d+)?)")


def option(name: str) -> str:
    """The option of ``offbeat trace run`` that sets a variable: ``--comm-sizes``."""
    return "--" + name.removeprefix(PREFIX).lower().replace("_", "-")


def check(variables: Mapping[str, str], options: Collection[str] = ()) -> None:
    """Raise :class:`BadInput` for a value that the tracer cannot parse; other variables are ignored.

    The message names the variable, or the command line option for variables in ``options``.
    """
    for name, value in variables.items():
        if name.startswith(PREFIX) and value:
            test = _CHECKS.get(name)
            if test is None:
                raise BadInput(f"{name} is not a variable of the tracer, which are {', '.join(_CHECKS)}")
            fix = test(value)
            if fix:
                setting = f"{option(name)} {value}" if name in options else f"{name}={value}"
                raise BadInput(f"{setting} is invalid; {fix}")


def range_fault(value: str) -> str:
    """What is wrong with ranges of numbers such as ``0-3,8,16-``; empty if nothing is."""
    parts = value.split(",")
    for part in parts:
        match = _RANGE.fullmatch(part)
        if match is None or (match[3] and int(match[3]) < int(match[1])):
            return "it should be numbers and ranges like 0-3,8,16-"
    return f"there are more than {MOST_RANGES} ranges" if len(parts) > MOST_RANGES else ""


def _whole_number(smallest: int, largest: int, fix: str) -> Callable[[str], str]:
    """A check for whole numbers from ``smallest`` to ``largest``."""

    def check_number(value: str) -> str:
        is_sound = value.isdecimal() and len(value) <= len(str(largest)) and smallest <= int(value) <= largest
        return "" if is_sound else f"it should be a whole number{fix}"

    return check_number


def _collectives(value: str) -> str:
    unknown = [word for word in value.split(",") if word.lower() not in COLLECTIVES]
    return f"{unknown[0]!r} is not one of {', '.join(COLLECTIVES)}" if unknown else ""


def _window(value: str) -> str:
    match = _WINDOW.fullmatch(value)
    if match is None or float(match[1]) > 1e9 or (match[2] and float(match[2]) <= float(match[1])):
        return "it should be seconds since MPI_Init, from the first to the last, like 10-60 or 2.5-"
    return ""


def _bytes(value: str) -> str:
    try:
        size = parse_size(value)
    except BadInput as error:
        return str(error)
    if re.fullmatch(r"\d+ *[A-Za-z]*", value) and size >= FEWEST_BYTES:
        return ""
    return "it should be a size of 192 KiB or more, like 100 MB or 1GiB"


_CHECKS = {
    DIR: lambda value: "",
    RANKS: range_fault,
    "OFFBEAT_TRACE_EVERY": _whole_number(1, _MOST_NUMBER, ", 1 or more"),
    "OFFBEAT_TRACE_COLLECTIVES": _collectives,
    "OFFBEAT_TRACE_MESSAGES": lambda value: "" if value in ("0", "1") else "it should be 0 or 1",
    "OFFBEAT_TRACE_COMM_SIZES": range_fault,
    "OFFBEAT_TRACE_WINDOW": _window,
    "OFFBEAT_TRACE_BYTES": _bytes,
    "OFFBEAT_TRACE_DEPTH": _whole_number(0, MOST_DEPTH, f" from 0 to {MOST_DEPTH}"),
    "OFFBEAT_TRACE_SYNC_LEVEL": _whole_number(
        3, _MOST_NUMBER, ", 3 or more: the MPI standard defines 0, 1 and 2"
    ),
}


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
    """The command that runs ``arguments``, with or without a launcher, with the tracer.

    ``options`` are tracer variables without their prefix. Raises :class:`BadInput` as :func:`check_options`
    does, and for a folder that cannot be created.
    """
    check_options(folder, options, environ)
    create(folder)
    variables = variables_for(folder, options, library, environ)
    requested_variables = {name: value for name, value in variables.items() if name.startswith(PREFIX)}
    argv, new_variables = with_variables(arguments, variables, installation, environ)
    return PreparedCommand(
        argv=argv, environment=dict(environ) | requested_variables | new_variables, folder=folder
    )


def variables_for(
    folder: Path, options: Mapping[str, str], library: Path, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The variables with which a program writes its trace to a folder."""
    return tracer_variables(options, environ) | {DIR: str(folder.absolute())} | preload(library, environ)


def preload(library: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variable that loads a library before those that the environment preloads."""
    preloads = environ.get("LD_PRELOAD", "")
    return {"LD_PRELOAD": f"{library}:{preloads}" if preloads else str(library)}


def check_options(
    folder: Path,
    options: Mapping[str, str],
    environ: Mapping[str, str] = os.environ,
    *,
    folder_option: str = "--output",
) -> None:
    """Raise :class:`BadInput` for options that the tracer cannot parse, and for a folder with a trace."""
    check(tracer_variables(options, environ), [PREFIX + name for name, value in options.items() if value])
    check_unused(folder, folder_option)


def check_command(arguments: Sequence[str]) -> None:
    """Raise :class:`BadInput` for a command that cannot be started, or that sets LD_PRELOAD itself."""
    if arguments[0].startswith("-"):
        raise BadInput(f"there is no option {arguments[0]}; options come before '--', the command after it")
    if shutil.which(arguments[0]) is None:
        problem = "it is not executable" if Path(arguments[0]).exists() else "there is no such program"
        raise BadInput(f"cannot start {arguments[0]}: {problem}")
    if any(_PRELOADS.search(word) for word in arguments):
        raise BadInput(
            "the command sets LD_PRELOAD and thereby removes offbeat's library; set it in the environment of"
            " offbeat instead, so that both are loaded"
        )


def tracer_variables(options: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The tracer's variables: those of the environment, overridden by ``options`` (without their prefix)."""
    inherited_variables = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    return inherited_variables | {PREFIX + name: value for name, value in options.items() if value}


_MESSAGE_PREFIX = "offbeat: "
"""What the lines begin with that the tracer prints into the output of a program."""


def why_untraced(output: Path, installation: Installation) -> str:
    """Why a program that succeeded wrote no trace: what the tracer said about it, else the likely reason."""
    lines = read_text(output, LOG_BYTES, errors="replace").splitlines()
    messages = [
        line.partition(_MESSAGE_PREFIX)[2] for line in lines if _MESSAGE_PREFIX in line and "untraced" in line
    ]
    if messages:
        return messages[0]
    return (
        f"no process called MPI_Init of {installation.version_text}. If the program uses another library,"
        " give it with --mpi"
    )


def find_installation(request: str, arguments: Sequence[str]) -> Installation:
    """The MPI library of a command: the requested one, else that of its launcher, else the preferred one."""
    if request != "auto":
        return choose(request)
    launcher = shutil.which(arguments[0])
    if is_launcher(arguments) and launcher is not None:
        return choose(str(Path(launcher).absolute()))
    return choose("auto")


def tracer_library(installation: Installation, echo: Callable[[str], None] | None = None) -> Path:
    """The tracer for a library. Raises :class:`RunFailed`, and :class:`BadInput` for a path with blanks."""
    cache = driver_path(installation).parents[1]
    if re.search(r"[\s:]", str(cache)):
        raise BadInput(
            f"the tracer's folder is {cache}, and LD_PRELOAD cannot contain a path with blanks or colons; set"
            " OFFBEAT_CACHE to a folder without them that all compute nodes can access"
        )
    folder = build_native(installation, echo=echo).parents[1]
    library = next(iter(sorted(folder.glob(f"lib*/**/{LIBRARY}"))), None)
    if library is None:
        raise RunFailed(f"there is no {LIBRARY} in {folder}; remove that folder and try again")
    return library


def run(command: PreparedCommand) -> int:
    """Run a command; returns its exit status, negative for the signal that ended it.

    Signals that this process receives are forwarded, unless they were sent to the whole process group. Raises
    :class:`RunFailed` if another run is writing into the folder.
    """
    lock = Lock(command.folder)
    try:
        return _run(command)
    finally:
        lock.release()


def _run(command: PreparedCommand) -> int:
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
                    _is_in_our_group(process.pid) and group_probe.has_received(number)
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


_DELIVERY_S = 0.02
"""Time after which a signal to a process group has been delivered to all its processes."""


class GroupSignalProbe:
    """An idle child process that detects signals sent to our whole process group, such as a Ctrl-C.

    The program has received such signals already, and launchers abort at a second Ctrl-C. The child runs a
    program of another name, because a signal may be sent by name, and inherits the mask of blocked signals,
    so that they stay pending. If it cannot be started, every signal is forwarded. A context manager.
    """

    def __init__(self) -> None:
        self._start()

    def has_received(self, number: int) -> bool:
        """Whether the child received a signal that we received; to be called once per signal.

        If so, all signals pending for the child, which the program has received, are removed from ours.
        """
        time.sleep(_DELIVERY_S)
        pending_signals = self._pending_signals()
        if number not in pending_signals:
            return False
        while signal.sigtimedwait(pending_signals, 0):
            pass
        self._end()  # its pending signals cannot be cleared
        self._start()
        return True

    def _pending_signals(self) -> set[int]:
        if self._process is None:
            return set()
        status = read_text(Path(f"/proc/{self._process.pid}/status"))
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
