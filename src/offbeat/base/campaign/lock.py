"""One writer at a time: the lock on a directory.

The lock is the operating system's own (``flock``), so it ends with its process however that ends. The file
names the process that holds it, for the message to the second one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.campaign.durable import unwritable
from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.reading import decode_json, open_regular

LOCK = "offbeat.lock"

_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
"""What file systems answer that have no locks, such as Lustre mounted without ``flock``."""

_ATTEMPTS = 10


class Holder(Struct, frozen=True, kw_only=True):
    """The process that writes to a directory; ``pid`` is 0 if it is unknown."""

    pid: int
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}" if self.pid else "another process"


_UNKNOWN = Holder(pid=0, host="")


class Lock:
    """The lock on a directory, held from construction to :meth:`release`.

    On a file system without locks, two concurrent runs are not detected; ``effective`` is then false.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock; raises RunFailed if another process has it, BadInput if its file is not writable."""
        self.effective = True
        try:
            self._descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise unwritable(directory, error) from error
        try:
            self._take(directory)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, directory: Path) -> None:
        for attempt in range(_ATTEMPTS):  # `holder` takes the lock for a moment
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if attempt == _ATTEMPTS - 1:
                    raise RunFailed(
                        f"{directory} is being written by {_read_holder(self._descriptor)}; wait until that"
                        " process ends, or stop it"
                    ) from None
                time.sleep(0.02)
            except OSError as error:
                if error.errno not in _WITHOUT_LOCKS:
                    raise unwritable(directory, error) from error
                self.effective = False
                break
        self._record()

    def _record(self) -> None:
        """Write the holder into the lock file; a full disk is reported when the first record is written."""
        holder = msgspec.json.encode(Holder(pid=os.getpid(), host=socket.gethostname()))
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, holder + b"\n", 0)
        except OSError:
            return

    def release(self) -> None:
        """Release the lock. The file stays, as deleting it could remove the lock of the next run."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def locked_while_opening(directory: Path) -> Iterator[Lock]:
    """The lock on a directory, which is released if the block fails and otherwise stays held.

    Raises what :class:`Lock` raises, and BadInput for an OSError of the block.
    """
    lock = Lock(directory)
    try:
        yield lock
    except OSError as error:
        lock.release()
        raise unwritable(directory, error) from error
    except BaseException:
        lock.release()
        raise


def holder(directory: Path) -> Holder | None:
    """The process that writes to a directory now, or None; works on read-only directories too."""
    try:
        with open_regular(directory / LOCK) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read_holder(stream.fileno())
    except (OSError, BadInput):
        return None
    return None


def _read_holder(descriptor: int) -> Holder:
    try:
        return decode_json(os.pread(descriptor, 4096, 0), Holder)
    except (OSError, msgspec.DecodeError):
        return _UNKNOWN
