"""Partitioned sends and receives from Python: liboffbeat-partitioned beside the MPI library of mpi4py.

For programs that use mpi4py, with the threads of Python or of a library that releases the interpreter lock::

    from mpi4py import MPI
    from offbeat.partitioned.requests import attach, receive_init, send_init

    attach(MPI.COMM_WORLD)
    if MPI.COMM_WORLD.rank == 0:
        request = send_init(MPI.COMM_WORLD, array, partitions=8, dest=1, messages="learned")
    else:
        request = receive_init(MPI.COMM_WORLD, array, partitions=8, source=0)
    with request:
        for step in range(steps):
            request.start()
            ...  # request.ready(i), when partition i of a send is filled
            request.wait()
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from offbeat.base.errors import BadInput
from offbeat.libraries.clock.native import handle, handle_of, load, mpi4py
from offbeat.libraries.installations import build

_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def _loaded() -> ctypes.CDLL:
    global _library
    with _lock:
        if _library is None:
            _library = load(mpi4py(), build.PARTITIONED)
            _library.offbeat_partitioned_error.restype = ctypes.c_char_p
        return _library


def _check(code: int) -> None:
    """Raise :class:`BadInput` for errors that offbeat's library finds, ``MPI.Exception`` for those of MPI."""
    mpi = mpi4py()
    if code == mpi.SUCCESS:
        return
    sentence = _loaded().offbeat_partitioned_error().decode()
    if sentence.startswith(("offbeat_", "partitioned ")):
        raise BadInput(sentence)
    raise mpi.Exception(code)


def _with_info(keys: Mapping[str, object], call: Any) -> None:
    """Call a function with the handle of an info object that has the keys which are not None."""
    mpi = mpi4py()
    info = mpi.Info.Create()
    try:
        for name, value in keys.items():
            if value is not None:
                info.Set(name, str(value).lower() if isinstance(value, bool) else str(value))
        _check(call(handle_of(mpi, info)))
    finally:
        info.Free()


def attach(comm: Any, *, lanes: int | None = None, progress_thread: bool | None = None) -> None:
    """Prepare an mpi4py intra-communicator: ``offbeat_partitioned_attach``. Collective.

    Raises :class:`BadInput` for invalid settings, here or on another process, and without mpi4py;
    :class:`offbeat.base.errors.RunFailed` if the native library cannot be built or loaded; ``MPI.Exception``.
    """
    comm_handle, library = handle(mpi4py(), comm), _loaded()
    keys = {"offbeat_lanes": lanes, "offbeat_progress_thread": progress_thread}
    _with_info(keys, lambda info: library.offbeat_partitioned_attach(comm_handle, info))


def _c_int(value: int) -> ctypes.c_int:
    """An argument of the C library. Raises :class:`BadInput` for a number that int cannot hold."""
    number = ctypes.c_int(value)
    if number.value != value:
        raise BadInput(f"{value} is not a number of 32 bits")
    return number


def finalize() -> None:
    """End the progress thread: ``offbeat_partitioned_finalize``. Local."""
    _check(_loaded().offbeat_partitioned_finalize())


_unfreed: set[PartitionedRequest] = set()
"""Requests whose buffers MPI may use, even if the program has dropped them after an error."""


class PartitionedRequest:
    """A partitioned send or receive of a buffer; :func:`send_init` and :func:`receive_init` create it.

    The methods raise :class:`BadInput` for errors that offbeat's library finds, and ``MPI.Exception`` for
    those of MPI. A wrong call changes nothing. An error of ``wait``, ``test`` or ``arrived`` about different
    sizes on the two sides is that of the iteration.
    """

    def __init__(self, function: str, comm: Any, buffer: Any, partitions: int, peer: int, tag: int,
                 keys: Mapping[str, object]) -> None:  # fmt: skip
        mpi, library = mpi4py(), _loaded()
        self._library = library
        self._request = ctypes.c_void_p()
        view = memoryview(buffer)
        if view.readonly or not view.c_contiguous:
            raise BadInput("a partitioned message needs a contiguous buffer that can be written")
        if partitions < 1 or view.nbytes % partitions:
            raise BadInput(f"{view.nbytes} bytes cannot be divided into {partitions} equal partitions")
        self._memory = (ctypes.c_char * view.nbytes).from_buffer(buffer)
        _with_info(
            keys,
            lambda info: getattr(library, function)(
                self._memory,
                _c_int(partitions),
                ctypes.c_longlong(view.nbytes // partitions),
                handle_of(mpi, mpi.BYTE),
                _c_int(peer),
                _c_int(tag),
                handle(mpi, comm),
                info,
                ctypes.byref(self._request),
            ),
        )
        _unfreed.add(self)

    def start(self) -> None:
        """Begin an iteration."""
        _check(self._library.offbeat_pstart(ctypes.byref(self._request)))

    def ready(self, first: int, last: int | None = None) -> None:
        """Mark a partition of a send as ready, or all from ``first`` to ``last``; by any thread."""
        last = first if last is None else last
        _check(self._library.offbeat_pready_range(_c_int(first), _c_int(last), self._request))

    def ready_list(self, partitions: Sequence[int]) -> None:
        """Mark the listed partitions of a send as ready; by any thread."""
        listed = (ctypes.c_int * len(partitions))(*(_c_int(one) for one in partitions))
        _check(self._library.offbeat_pready_list(ctypes.c_int(len(partitions)), listed, self._request))

    def arrived(self, partition: int) -> bool:
        """Whether a partition of a receive arrived; by any thread."""
        flag = ctypes.c_int()
        _check(self._library.offbeat_parrived(self._request, _c_int(partition), ctypes.byref(flag)))
        return bool(flag)

    def test(self) -> bool:
        """Complete the iteration if that is possible now."""
        flag, status = ctypes.c_int(), mpi4py().Status()
        _check(self._library.offbeat_ptest(ctypes.byref(self._request), ctypes.byref(flag), _address(status)))
        return bool(flag)

    def wait(self) -> None:
        """Complete the iteration; other threads of Python run meanwhile."""
        status = mpi4py().Status()
        _check(self._library.offbeat_pwait(ctypes.byref(self._request), _address(status)))

    def cancel(self) -> None:
        """Refused if the request is active and not complete, as in MPI; otherwise does nothing."""
        _check(self._library.offbeat_pcancel(ctypes.byref(self._request)))

    def free(self) -> None:
        """Free the inactive request; does nothing the second time."""
        if self._request:
            _check(self._library.offbeat_prequest_free(ctypes.byref(self._request)))
        _unfreed.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the request; not after an error, as it may be active."""
        if error is None:
            self.free()


class _Listed:
    """The requests of a call for several, and room for its results."""

    def __init__(self, requests: Sequence[PartitionedRequest]) -> None:
        self.count = ctypes.c_int(len(requests))
        self.requests = (ctypes.c_void_p * len(requests))(*(one._request.value for one in requests))
        self.completed, self.flag = ctypes.c_int(), ctypes.c_int()
        self.indices = (ctypes.c_int * len(requests))()
        self.statuses = ctypes.create_string_buffer(mpi4py()._sizeof(mpi4py().Status) * len(requests))

    def call(self, function: str, *results: Any, statuses: bool = True) -> None:
        """Call a function of the library; ``results`` follow the list."""
        words = (*results, self.statuses) if statuses else results
        _check(getattr(_loaded(), function)(self.count, self.requests, *words))

    def some(self) -> list[int] | None:
        """The indices that a call found; None if no request is active."""
        if self.completed.value == mpi4py().UNDEFINED:
            return None
        return list(self.indices[: self.completed.value])


def start_all(requests: Sequence[PartitionedRequest]) -> None:
    """Begin an iteration of each request."""
    _Listed(requests).call("offbeat_pstartall", statuses=False)


def wait_all(requests: Sequence[PartitionedRequest]) -> None:
    """Complete an iteration of each request; other threads of Python run meanwhile."""
    _Listed(requests).call("offbeat_pwaitall")


def test_all(requests: Sequence[PartitionedRequest]) -> bool:
    """Complete an iteration of each request if all can be completed now."""
    listed = _Listed(requests)
    listed.call("offbeat_ptestall", ctypes.byref(listed.flag))
    return bool(listed.flag)


def wait_some(requests: Sequence[PartitionedRequest]) -> list[int] | None:
    """Complete one request or more. Returns their indices, or None if no request is active."""
    listed = _Listed(requests)
    listed.call("offbeat_pwaitsome", ctypes.byref(listed.completed), listed.indices)
    return listed.some()


def test_some(requests: Sequence[PartitionedRequest]) -> list[int] | None:
    """Complete what can be completed now. Returns the indices, or None if no request is active."""
    listed = _Listed(requests)
    listed.call("offbeat_ptestsome", ctypes.byref(listed.completed), listed.indices)
    return listed.some()


def _address(status: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(mpi4py()._addressof(status))


def send_init(
    comm: Any,
    buffer: Any,
    *,
    partitions: int,
    dest: int,
    tag: int = 0,
    messages: int | str | None = None,
    message_bytes: int | None = None,
    lane: int | None = None,
) -> PartitionedRequest:
    """A send of a buffer, such as a NumPy array, in equal partitions; the keys are those of the C library.

    ``messages`` is a number or ``"learned"``, ``message_bytes`` the smallest size of a message in bytes.
    """
    keys = {"offbeat_messages": messages, "offbeat_message_bytes": message_bytes, "offbeat_lane": lane}
    return PartitionedRequest("offbeat_psend_init", comm, buffer, partitions, dest, tag, keys)


def receive_init(comm: Any, buffer: Any, *, partitions: int, source: int, tag: int = 0) -> PartitionedRequest:
    """A receive into a buffer, such as a NumPy array, in equal partitions."""
    return PartitionedRequest("offbeat_precv_init", comm, buffer, partitions, source, tag, {})
