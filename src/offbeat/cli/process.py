"""The process of a command: standard streams, memory limit, signals, and exit status."""

from __future__ import annotations

import ctypes
import errno
import io
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from offbeat.base.errors import BadInput, OffbeatError, SignalExit

_PATH_ERRORS = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""System errors that the user can fix by giving another path."""


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Turn errors and signals into a message and an exit status; other exceptions are bugs."""
    try:
        with _stopping_on_signals():
            try:
                yield
            finally:
                sys.stdout.flush()  # inside the handlers below, so that a closed pipe is noticed
    except OffbeatError as error:
        _print_error(str(error))
        sys.exit(1 if _is_full_disk(error) else error.exit_status)
    except MemoryError:
        _print_error("not enough memory; raise the limit (see ulimit -v), or reduce the input")
        sys.exit(1)
    except BrokenPipeError:  # the reader, such as head, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _discard_output()
        _print_error(_message(error))
        sys.exit(2 if error.filename and error.errno in _PATH_ERRORS else 1)
    except SignalExit as stop:
        _print_error(f"{'interrupted' if stop.number == signal.SIGINT else 'stopped'}{stop.progress}.")
        sys.exit(128 + stop.number)


@contextmanager
def _stopping_on_signals() -> Iterator[None]:
    """Raise :class:`SignalExit` on SIGINT, SIGTERM and SIGHUP (Ctrl-C, batch systems, a closed terminal).

    Signals that were ignored at the start (``nohup``) remain ignored. A second Ctrl-C ends the process at
    once. A handler that a library installed in C before Python started is None in Python and cannot be
    restored: this handler then remains.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)


HANDLER_S = 5.0
"""How long a signal may remain unhandled; handlers run between two operations of Python, which take less."""

_is_stopping = threading.Event()


def _stop(number: int, _: FrameType | None) -> None:
    _is_stopping.set()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for later in (signal.SIGTERM, signal.SIGHUP):  # senders repeat these for a whole process group
        signal.signal(later, signal.SIG_IGN)
    raise SignalExit(number)


def _is_full_disk(error: BaseException) -> bool:
    """Whether a full disk caused an error, which is not bad input, whatever the exception's class."""
    cause = error.__cause__ or error.__context__
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return cause is not None and _is_full_disk(cause)


def _message(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"the output cannot be written: {reason}"
    return f"{os.fsdecode(error.filename)}: {reason}"


def _discard_output() -> None:
    """Discard output that could not be written, so that the interpreter does not write it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(text: str) -> None:
    from rich.console import Console  # only loaded on errors

    message = f"offbeat: {text}" if "\n" not in text else f"offbeat: this cannot be used:\n{text}"
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)


MINIMUM_BYTES = 10**6 * 1024
"""With less address space the data frame libraries abort or hang instead of raising an error. For small
results, 'select' takes half of it."""

_MALLOC_ARENA_MAX = -8
"""M_ARENA_MAX of malloc.h: glibc reserves 64 MB of address space for each arena, one for each thread."""

_ONE_THREAD = {
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",  # for programs that this process starts
}
"""Variables that reduce the memory reserved by libraries, for the stack and pool of each thread."""


def adapt_to_memory_limit() -> None:
    """Reduce memory use if the address space is limited. Raises BadInput if the limit is too low."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    if limit < MINIMUM_BYTES:
        raise BadInput(
            f"the limit on this process's address space is {limit // 1024} kB (ulimit -v), and offbeat needs"
            f" {MINIMUM_BYTES // 1024} kB; raise it"
        )
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)
    c_library = ctypes.CDLL(None)
    if hasattr(c_library, "mallopt"):  # only glibc has arenas
        c_library.mallopt(_MALLOC_ARENA_MAX, 1)
    _end_on_signals_in_native_code()


def _end_on_signals_in_native_code() -> None:
    """End the process if a signal remains unhandled: a library without memory may wait for ever in native
    code, where Python runs no handler."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_end_if_unhandled, args=(reader,), daemon=True).start()


def _end_if_unhandled(wakeup: int) -> None:
    while number := os.read(wakeup, 1):
        if number[0] in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) and not _is_stopping.wait(HANDLER_S):
            os.write(2, b"offbeat: stopped: not enough memory; raise the limit (see ulimit -v)\n")
            os._exit(128 + number[0])


def repair_streams() -> None:
    """Make the standard streams usable before anything is printed or opened."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals without µ and ×
    if os.environ.get("COLUMNS") == "0":  # set by some terminals before their width is known
        del os.environ["COLUMNS"]


def check_encoding(arguments: Sequence[str]) -> None:
    """Raise BadInput for arguments that are not UTF-8 text, which result files cannot hold."""
    try:
        folder = str(Path.cwd())
    except FileNotFoundError:
        raise BadInput("the current folder has been deleted; change to an existing one") from None
    for argument in (*arguments, folder):
        try:
            argument.encode()
        except UnicodeEncodeError:
            text = os.fsencode(argument).decode("utf-8", "backslashreplace")
            raise BadInput(
                f"the name {text} is not UTF-8 text and cannot be stored in results: rename it"
            ) from None


def _open_closed_streams() -> None:
    """Open closed standard streams as the null device: the next opened file must not take their number."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until exit
