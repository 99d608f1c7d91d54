"""Starting a program with the tracer in front of its MPI library, and nothing else changed."""

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
from offbeat.mpi.find import choose
from offbeat.mpi.hand_on import handing_on, is_launcher
from offbeat.mpi.installation import Installation
from offbeat.trace.options import DIR, PREFIX, check
from offbeat.trace.read import SUFFIX

LIBRARY = "liboffbeat-trace.so"
"""File name of the tracer."""

_PRELOADS = re.compile(r"(?:^|[,=])LD_PRELOAD(?:=|$)")


class Started(Struct, frozen=True, kw_only=True):
    """A command ready to run; ``environment`` is whole."""

    argv: list[str]
    environment: dict[str, str]
    folder: Path


def prepare(
    words: Sequence[str],
    folder: Path,
    wishes: Mapping[str, str],
    installation: Installation,
    library: Path,
    environ: Mapping[str, str] = os.environ,
) -> Started:
    """The command that runs ``words`` (a launcher with a program, or a program alone) with the tracer.

    ``wishes`` are variables without their prefix. The launcher is told to hand the variables on to all
    processes, in its own way. Raises :class:`BadInput` as :func:`refuse` does, and for a folder that cannot
    be made.
    """
    refuse(folder, wishes, environ)
    wanted = wished(wishes, environ)
    wanted[DIR] = str(folder.absolute())
    _make(folder)
    before = environ.get("LD_PRELOAD", "")
    variables = wanted | {"LD_PRELOAD": f"{library}:{before}" if before else str(library)}
    if not is_launcher(words):  # srun hands on its environment, a program alone has it anyway
        return Started(argv=list(words), environment=dict(environ) | variables, folder=folder)
    argv = handing_on(words, variables, installation)
    return Started(argv=argv, environment=dict(environ) | wanted, folder=folder)


def refuse(folder: Path, wishes: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> None:
    """Raise :class:`BadInput` for wishes that the tracer cannot read, and for a folder that holds a trace."""
    check(wished(wishes, environ), [PREFIX + name for name, value in wishes.items() if value])
    if folder.is_dir() and any(path.suffix == SUFFIX for path in folder.iterdir()):
        raise BadInput(f"{folder} holds a trace already; give another folder with --output, or remove it")


def refuse_command(words: Sequence[str]) -> None:
    """Raise :class:`BadInput` for a command that isn't there, or that puts its own library in our place."""
    if words[0].startswith("-"):
        raise BadInput(f"there is no option {words[0]}; options stand before '--', and the command behind it")
    if shutil.which(words[0]) is None:
        what = "it is no program that you may run" if Path(words[0]).exists() else "there is no such program"
        raise BadInput(f"cannot start {words[0]}: {what}")
    if any(_PRELOADS.search(word) for word in words):
        raise BadInput(
            "the command sets LD_PRELOAD itself, in the tracer's place; set it in the environment of"
            " 'offbeat trace run' instead, and both are loaded"
        )


def wished(wishes: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The tracer's variables: those of the environment, with ``wishes`` (without their prefix) on top."""
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    return given | {PREFIX + name: value for name, value in wishes.items() if value}


def find_installation(wanted: str, words: Sequence[str]) -> Installation:
    """The MPI library of a command: the one asked for, else that of its launcher, else the preferred one."""
    if wanted != "auto":
        return choose(wanted)
    found = shutil.which(words[0])
    if is_launcher(words) and found is not None:
        return choose(str(Path(found).absolute()))
    return choose("auto")


def tracer(installation: Installation, echo: Callable[[str], None] | None = None) -> Path:
    """The tracer for a library; where it must be built, ``echo`` is told.

    Raises :class:`RunFailed`, and :class:`BadInput` before anything is built where LD_PRELOAD can't name it.
    """
    cache = driver_path(installation).parents[1]
    if re.search(r"[\s:]", str(cache)):
        raise BadInput(
            f"the tracer's folder is {cache}, and LD_PRELOAD cannot name a path with blanks or colons; set"
            " OFFBEAT_CACHE to a folder without, which the compute nodes see"
        )
    place = build_native(installation, echo=echo).parents[1]
    library = next(iter(sorted(place.glob(f"lib*/**/{LIBRARY}"))), None)
    if library is None:
        raise RunFailed(f"the native parts in {place} hold no {LIBRARY}; remove that folder and try again")
    return library


def run(started: Started) -> int:
    """Run to the end; the exit status, negative for the signal that ended it.

    The program has our standard streams and whatever else was open when we were started. Signals that we get
    are handed to it, and it decides.
    """
    with _held_back() as as_before:
        try:
            process = subprocess.Popen(
                started.argv, env=started.environment, preexec_fn=as_before, close_fds=False
            )
        except OSError as error:
            raise BadInput(f"cannot start {started.argv[0]}: {error.strerror or error}") from error
        with GroupSignalProbe() as group_probe:  # the later one: what came before the program is handed to it
            while process.poll() is None:
                number = signal.sigwaitinfo([*_handed_on(), signal.SIGCHLD]).si_signo
                if number != signal.SIGCHLD and not (
                    _is_in_our_group(process.pid) and group_probe.got(number)
                ):
                    process.send_signal(number)
        return process.returncode


@contextmanager
def _held_back() -> Iterator[Callable[[], None]]:
    """Have signals wait until they are asked for; gives what sets all as before in a new process.

    The end of a child is told meanwhile, also where our parent had that ignored, which would hide its status.
    """
    child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*_handed_on(), signal.SIGCHLD])

    def as_before() -> None:
        if child is not None:  # a handler that a library set in C cannot be set again from Python
            signal.signal(signal.SIGCHLD, child)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def as_before_in_child() -> None:
        for number in _handed_on():  # our handlers are not the program's, and one could run right here
            signal.signal(number, signal.SIG_DFL)
        as_before()

    try:
        yield as_before_in_child
    finally:
        as_before()


def _is_in_our_group(pid: int) -> bool:
    """Whether a signal to our group of processes reaches this one: some, such as timeout, make their own."""
    try:
        return os.getpgid(pid) == os.getpgrp()
    except ProcessLookupError:
        return False


def _handed_on() -> list[signal.Signals]:
    """Signals that the program gets from us; those that were ignored from the start (nohup) stay ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder until the end. Raises :class:`BadInput` where one is in it.

    A file system that cannot lock is trusted.
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


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the folder {folder}: {error.strerror or error}") from error


# FROM: Whether a signal came to us alone, or to our whole group of processes, as from a terminal.

_SENT_BY_THEN_S = 0.02
"""After this long the sender has been to all processes of the group."""


class GroupSignalProbe:
    """A process of our group that does nothing but get the signals that the group gets.

    Signals that the program gets anyway must not be handed to it once more: launchers take a second Ctrl-C
    for impatience. It is a program with another name than ours, as a signal may be sent by name, too. Make it
    while all signals that matter are blocked, which it inherits; a context manager that ends it. Where it
    cannot be started, no signal counts as the group's: rather twice than never.
    """

    def __init__(self) -> None:
        self._start()

    def got(self, number: int) -> bool:
        """Whether a signal that we took came here, too; asked once for each.

        If so, what else came here is taken from us as well, as it reached the program just so: another
        signal, or the same one again, where the sender turned to us first and then to the group.
        """
        time.sleep(_SENT_BY_THEN_S)
        waiting = self._waiting()
        if number not in waiting:
            return False
        while signal.sigtimedwait(waiting, 0):
            pass
        self._end()  # what waits for it cannot be taken away
        self._start()
        return True

    def _waiting(self) -> set[int]:
        if self._process is None:
            return set()
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        masks = re.findall(r"^ShdPnd:\s*(\w+)", status, re.MULTILINE)
        return {number for number in range(1, signal.NSIG) if int(masks[0], 16) >> (number - 1) & 1}

    def _start(self) -> None:
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["cat"],  # ends when we do, however that happens
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
