"""How a command ends: what went wrong becomes a sentence on standard error and an exit status."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from offbeat.errors import OffbeatError, SignalExit

_BY_PATH = {
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
"""What the system says of a path that the user can mend by giving another one."""


@contextmanager
def ending() -> Iterator[None]:
    """Turn what ends a command into words and a status; anything else that escapes is a bug and is shown."""
    try:
        with _stopping_on_signals():
            try:
                yield
            finally:
                sys.stdout.flush()  # here, where a reader that has left is still noticed
    except OffbeatError as error:
        _say(str(error))
        sys.exit(1 if _is_full_disk(error) else error.exit_status)
    except MemoryError:
        _say("there is not enough memory for this; give it more (see ulimit -v), or less to do")
        sys.exit(1)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _forget_output()
        _say(_refusal(error))
        sys.exit(2 if error.filename and error.errno in _BY_PATH else 1)
    except SignalExit as stop:
        _say(f"{'interrupted' if stop.number == signal.SIGINT else 'stopped'}{stop.progress}.")
        sys.exit(128 + stop.number)


@contextmanager
def _stopping_on_signals() -> Iterator[None]:
    """End in order on Ctrl-C, on what batch systems send before they kill, and when the terminal closes.

    What was ignored from the start (``nohup``) stays ignored. A second Ctrl-C ends at once. A handler that a
    library set in C, before Python began, is not known to Python (None) and cannot be set again: ours stays.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _stop(number: int, _: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for later in (signal.SIGTERM, signal.SIGHUP):  # senders repeat these, to a whole group of processes
        signal.signal(later, signal.SIG_IGN)
    raise SignalExit(number)


def _is_full_disk(error: BaseException) -> bool:
    """Whether a full disk is behind an error, which is then nobody's input, whatever the room that raised it
    takes a refused write for."""
    cause = error.__cause__ or error.__context__
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return cause is not None and _is_full_disk(cause)


def _refusal(error: OSError) -> str:
    """A refusal of the system that no room has put into its own words."""
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"the output cannot be written: {reason}"
    return f"{os.fsdecode(error.filename)}: {reason}"


def _forget_output() -> None:
    """Drop what could not be written, so that it is not tried again at the very end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    from rich.console import Console  # not loaded where nothing goes wrong

    said = f"offbeat: {text}" if "\n" not in text else f"offbeat: this cannot be used:\n{text}"
    Console(stderr=True, highlight=False, soft_wrap=True).print(said, markup=False)
