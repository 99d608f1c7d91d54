"""A program with mpi4py that sends partitions to the next process; fails where a promise is broken."""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress

import numpy as np
from mpi4py import MPI

from offbeat.base.errors import BadInput
from offbeat.partitioned import requests
from offbeat.partitioned.requests import PartitionedRequest, attach, receive_init, send_init

COMM = MPI.COMM_WORLD
RIGHT, LEFT = (COMM.rank + 1) % COMM.size, (COMM.rank - 1) % COMM.size


def refuses(text: str, call: object, *arguments: object, **named: object) -> None:
    try:
        call(*arguments, **named)  # type: ignore[operator]
    except BadInput as error:
        assert text in str(error), f"{text!r} is not in {error!r}"
    else:
        raise AssertionError(f"nothing was refused: {arguments} {named}")


def mark(request: PartitionedRequest, partitions: range) -> None:
    for partition in partitions:
        request.ready(partition)


out, into = np.zeros(24, dtype=np.int64), np.zeros(24, dtype=np.int64)
refuses("is not attached", send_init, COMM, out, partitions=4, dest=RIGHT)
refuses("offbeat_lanes is '0'", attach, COMM, lanes=0)
attach(COMM, lanes=2)
refuses("5 equal partitions", send_init, COMM, out, partitions=5, dest=RIGHT)
refuses("it must be a whole number", send_init, COMM, out, partitions=4, dest=RIGHT, messages="few")
with (
    send_init(COMM, out, partitions=4, dest=RIGHT, messages="learned") as send,
    receive_init(COMM, into, partitions=3, source=LEFT) as receive,
):
    refuses("is not started", send.ready, 0)
    for step in range(12):
        send.start()
        receive.start()
        out[:] = np.arange(24) + 100 * COMM.rank + 10_000 * step
        other = threading.Thread(target=mark, args=(send, range(2)))
        other.start()
        mark(send, range(2, 4))
        other.join()
        refuses("was marked ready before", send.ready, 1, 3)
        while not receive.arrived(2):
            pass
        receive.wait()
        while not send.test():
            pass
        assert (into == np.arange(24) + 100 * LEFT + 10_000 * step).all(), into

with (
    send_init(COMM, out, partitions=4, dest=RIGHT) as send,
    receive_init(COMM, into, partitions=3, source=LEFT) as receive,
):
    both = [send, receive]
    refuses("is not started", send.ready_list, [0, 4])
    for step, complete in enumerate(
        (requests.wait_all, requests.test_all, requests.wait_some, requests.test_some)
    ):
        requests.start_all(both)
        out[:] = np.arange(24) + 100 * COMM.rank + 10_000 * step
        refuses("partition 4 does not exist", send.ready_list, [0, 4])
        send.ready_list([3, 1])
        refuses("partition 1 was marked ready before", send.ready_list, [0, 1])
        refuses("an active partitioned request", send.cancel)
        send.ready_list([0, 2])
        if complete is requests.wait_all:
            complete(both)
        elif complete is requests.test_all:
            while not complete(both):
                pass
        else:
            found: list[int] = []
            while len(found) < len(both):
                found += complete(both)
            assert sorted(found) == [0, 1], found
        assert (into == np.arange(24) + 100 * LEFT + 10_000 * step).all(), into
    assert requests.test_some(both) is None
    assert requests.test_some([]) is None
    requests.wait_all([])
    send.cancel()
refuses("4294967296 is not a number of 32 bits", send_init, COMM, out, partitions=4, dest=RIGHT, tag=2**32)


def dropped() -> weakref.ref[np.ndarray]:
    """Start a receive and drop it, as a program does after an error."""
    array = np.zeros(24, dtype=np.int64)
    with suppress(KeyError), receive_init(COMM, array, partitions=3, source=LEFT, tag=5) as receive:
        receive.start()
        raise KeyError
    return weakref.ref(array)


memory = dropped()
assert memory() is not None, "MPI writes into memory that was released"
with send_init(COMM, out, partitions=4, dest=RIGHT, tag=5) as send:
    refuses("4294967296 is not a number of 32 bits", send.ready, 2**32)
    send.start()
    send.ready(0, 3)
    (kept,) = (one for one in requests._unfreed if one is not send)
    kept.wait()
    send.wait()
kept.free()
del kept
assert memory() is None and not requests._unfreed
print("arrived", flush=True)
