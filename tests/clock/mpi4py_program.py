"""A program with mpi4py that uses the shared clock and the harmonised start; fails where a promise is broken.

Usage: launched with the names of functions below.
"""

from __future__ import annotations

import ctypes
import sys
import threading

from mpi4py import MPI

from offbeat import Clock, Harmonized, Instant, harmonize
from offbeat.base.errors import BadInput

COMM = MPI.COMM_WORLD
OFFSETS_NS = [0, 5_000_000, -70_000_000, 250]


def refuses(kind: type[BaseException], text: str, call: object, *arguments: object, **named: object) -> None:
    try:
        call(*arguments, **named)  # type: ignore[operator]
    except kind as error:
        assert text in str(error), f"{text!r} is not in {error!r}"
    else:
        raise AssertionError(f"nothing was refused: {arguments} {named}")


def clocks_are_right_to_their_bounds() -> None:
    text = "virtual:" + ";".join(f"{rank}:offset={offset}" for rank, offset in enumerate(OFFSETS_NS))
    for method in ("constraints", "offset", "hca3", "jk", "skampi", "hierarchical"):
        with Clock(COMM, method=method, source=text) as clock:
            assert (clock.method, clock.source) == (method, "virtual")
            assert clock.is_shared == (COMM.rank == 0)
            for _ in range(2):
                local_ns = clock.local_ns()
                at = clock.at(local_ns)
                error_ns = at.global_ns - local_ns - (OFFSETS_NS[0] - OFFSETS_NS[COMM.rank])
                assert abs(error_ns) <= at.bound_ns == clock.bound(local_ns)
                assert clock.at(clock.to_local_ns(at.global_ns)).global_ns >= at.global_ns
                clock.sync()
            facts = clock.facts()
            assert facts.contradictions == 0 and (facts.exchanges > 0) == (COMM.rank > 0)
            assert clock.age_ns >= 0 and clock.resolution_ns >= 1
            now = clock.now()
            assert isinstance(now, Instant) and now.global_ns >= at.global_ns


def one_physical_clock_has_no_error() -> None:
    with Clock(COMM) as clock:
        assert clock.is_shared and clock.now().bound_ns == 0 and clock.bound() == 0
        local_ns = clock.local_ns()
        assert clock.at(local_ns).global_ns == local_ns


def processes_go_on_together() -> None:
    order = []
    for number in range(50):
        start = harmonize(COMM)
        assert isinstance(start, Harmonized) and bool(start) == start.on_time and start.verdict
        assert start.planned_ns == start.deadline_ns and start.overshoot_ns >= 0 and start.slack_ns > 0
        order.append(start.deadline_ns)
        assert COMM.allgather(start.deadline_ns) == [start.deadline_ns] * COMM.size, number
    assert order == sorted(order)
    delayed = harmonize(COMM, delay_s=0.002 * COMM.rank)
    assert delayed.planned_ns - delayed.deadline_ns == 2_000_000 * COMM.rank
    assert "overshoot_ns" in repr(delayed)


def every_communicator_has_its_own_start() -> None:
    half = COMM.Split(COMM.rank % 2, -COMM.rank)
    copy = half.Dup()
    for comm in (half, copy, MPI.COMM_SELF, COMM, half):
        assert harmonize(comm).slack_ns > 0
    copy.Free()
    half.Free()
    assert harmonize(COMM).slack_ns > 0


def a_clock_outlives_its_communicator() -> None:
    comm = COMM.Dup()
    clock = Clock(comm)
    comm.Free()
    clock.sync()
    clock.free()
    clock.free()
    refuses(BadInput, "this clock was freed", clock.now)


def two_threads_start_on_two_communicators() -> None:
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        print("this library has no MPI_THREAD_MULTIPLE")
        return
    comms = [COMM.Dup() for _ in range(2)]
    done = [0, 0]

    def work(number: int) -> None:
        for _ in range(10):
            harmonize(comms[number])
            done[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [10, 10]


def what_cannot_be_used_is_refused_on_all_processes() -> None:
    refuses(BadInput, "guess", Clock, COMM, method="guess")
    refuses(BadInput, "sundial", Clock, COMM, source="sundial")
    refuses(BadInput, "zero byte", Clock, COMM, source="CLOCK\0")
    refuses(TypeError, "intra-communicator is needed", Clock, "MPI_COMM_WORLD")
    refuses(TypeError, "intra-communicator is needed", harmonize, None)
    refuses(BadInput, "a delay of -1 s is not possible", harmonize, COMM, -1)
    refuses(BadInput, "a delay of nan s", harmonize, COMM, float("nan"))
    freed = MPI.Intracomm()
    refuses(MPI.Exception, "", harmonize, freed)
    refuses(MPI.Exception, "", Clock, freed)
    with Clock(COMM) as clock:
        refuses(TypeError, "whole nanoseconds", clock.at, 1.5)
        refuses(BadInput, "is outside the range of a clock", clock.at, 2**70)
    assert harmonize(COMM).slack_ns > 0


def structures_are_as_large_as_the_library_s() -> None:
    """Memory after a structure is not changed, and the structure is filled completely."""
    from offbeat.libraries.clock import native

    class Guarded(ctypes.Structure):
        _fields_ = [("start", native.StartC), ("behind", ctypes.c_int64)]

    guarded = Guarded(behind=0x5A5A5A5A)
    guarded.start.verdict = -1
    handle = native.handle(MPI, COMM)
    assert native.library().MPIX_Harmonize_delayed(handle, ctypes.c_int64(0), ctypes.byref(guarded)) == 0
    assert guarded.behind == 0x5A5A5A5A and guarded.start.verdict in (0, 1, 2)


if __name__ == "__main__":
    for promise in sys.argv[1:]:
        globals()[promise]()
        COMM.Barrier()
        if COMM.rank == 0:
            print("held:", promise, flush=True)
