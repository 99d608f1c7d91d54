"""One writer at a time: the lock on a result directory.

The lock is the operating system's own (``flock``), so it ends with its process however that ends. The file
says who holds it, for the message to whoever comes second.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import RunFailed
from offbeat.results.layout import LOCK, unwritable

_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
"""What file systems answer that have no locks, such as Lustre mounted without ``flock``."""

_TRIES = 10


class Holder(Struct, frozen=True, kw_only=True):
    """The process that writes to a result directory."""

    pid: int
    host: str


class Lock:
    """The lock on a result directory, held from construction to :meth:`release`.

    On a file system without locks, two concurrent runs are not detected; ``effective`` is then false.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock; raises RunFailed if another run has it, BadInput if its file cannot be written."""
        self.effective = True
        try:
            self._descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise unwritable(directory, error) from error
        try:
            self._take(directory)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, directory: Path) -> None:
        for attempt in range(_TRIES):  # `holder` takes the lock for a moment
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if attempt == _TRIES - 1:
                    raise RunFailed(_busy(directory, _recorded(self._descriptor))) from None
                time.sleep(0.02)
            except OSError as error:
                if error.errno not in _WITHOUT_LOCKS:
                    raise unwritable(directory, error) from error
                self.effective = False
                break
        self._record()

    def _record(self) -> None:
        """Write the holder into the lock file; a full disk is reported when the first case is written."""
        me = msgspec.json.encode(Holder(pid=os.getpid(), host=socket.gethostname()))
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, me + b"\n", 0)
        except OSError:
            return

    def release(self) -> None:
        """Release the lock. The file stays, as deleting it could remove the lock of the next run."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def holder(directory: Path) -> Holder | None:
    """The process that writes to a result directory now, or None; works on read-only directories too."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _recorded(descriptor) or Holder(pid=0, host="")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _recorded(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None


def _busy(directory: Path, writer: Holder | None) -> str:
    process = f"process {writer.pid} on {writer.host}" if writer else "another process"
    return (
        f"{directory} is being written by {process}; wait until that run ends ('offbeat status {directory}'"
        " shows it), or stop it"
    )
