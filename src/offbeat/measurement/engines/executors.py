"""The workers that simulate batches: this machine's cores, MPI processes, or a Dask cluster.

All three have the interface of :mod:`concurrent.futures`. Work is submitted as a module's function and
arguments that can be pickled, so workers need only offbeat.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

from msgspec import Struct

from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.launch.cores import available

BATCHES_A_WORKER = 3
"""Batches in progress per worker: one that runs, and others so that the worker never waits."""

MPI_LINE = "mpirun -n 3 python -m mpi4py.futures -m offbeat run STUDY --executor mpi4py"


class Workers(Struct, frozen=True, kw_only=True):
    """An executor, how many batches it computes at the same time, and the function that ends it."""

    executor: Executor
    count: int
    end: Callable[[], object]

    @property
    def batches_ahead(self) -> int:
        """The number of batches that keep every worker busy."""
        return self.count * BATCHES_A_WORKER


def open_workers(kind: str) -> Workers:
    """The workers of an executor: ``local``, ``mpi4py`` or ``dask``.

    Raises what :func:`check` raises, and :class:`RunFailed` if there are no workers.
    """
    check(kind)
    return {"local": _local, "mpi4py": _mpi4py, "dask": _dask}[kind]()


def check(kind: str) -> None:
    """Raise :class:`BadInput` if an executor's package or mpirun is missing."""
    if kind == "dask":
        _import("distributed", "dask")
    if kind == "mpi4py":
        _import("mpi4py.futures", "mpi4py")
        world = importlib.import_module("mpi4py.MPI").COMM_WORLD.Get_size()
        pool = getattr(importlib.import_module("mpi4py.futures._core"), "SharedPool", None)
        if pool is None or world < 2:
            raise BadInput(
                "--executor mpi4py: rank 0 runs the study and the other ranks simulate; start it with two"
                f" ranks or more, like this: {MPI_LINE}"
            )


_LOSS_NAMES = ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError")
"""The exceptions that Dask raises if a worker or the scheduler is lost."""


def submit(workers: Workers, work: Callable[[Any], Any], argument: object) -> Future[Any]:
    """Begin ``work(argument)``. If the worker is lost, the future or this call raises :class:`RunFailed`."""
    answer: Future[Any] = Future()

    def hand_over(result: Future[Any]) -> None:
        if result.cancelled():
            answer.cancel()
            return
        error = result.exception()
        if error is None:
            answer.set_result(result.result())
        else:
            answer.set_exception(_loss_error(error) if _is_loss(error) else error)

    try:
        workers.executor.submit(work, argument).add_done_callback(hand_over)
    except RuntimeError as error:
        raise _loss_error(error) from error
    return answer


def _is_loss(error: BaseException) -> bool:
    """Whether an error is the loss of a worker, and not an error of the work itself."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ in _LOSS_NAMES


def _loss_error(error: BaseException) -> RunFailed:
    return RunFailed(
        f"a worker was lost ({type(error).__name__}: {error}); finished cases are saved, and the same command"
        " resumes the study"
    )


def _local() -> Workers:
    count = available().logical
    return _workers(ThreadPoolExecutor(count, thread_name_prefix="simulate"), count)


def _mpi4py() -> Workers:
    world = importlib.import_module("mpi4py.MPI").COMM_WORLD.Get_size()
    executor = importlib.import_module("mpi4py.futures").MPIPoolExecutor(main=False)
    executor.bootup(wait=True)
    return _workers(executor, world - 1)


def _workers(executor: Executor, count: int) -> Workers:
    return Workers(
        executor=executor, count=count, end=lambda: executor.shutdown(wait=False, cancel_futures=True)
    )


def _dask() -> Workers:
    dask = importlib.import_module("distributed")
    address = os.environ.get("DASK_SCHEDULER_ADDRESS", "")
    try:
        client = dask.Client(address or None, set_as_default=False)
        client.wait_for_workers(1, timeout=60)
    except (OSError, TimeoutError, ValueError) as error:
        where = f"at {address} (DASK_SCHEDULER_ADDRESS)" if address else "on this machine"
        raise RunFailed(f"--executor dask: there are no workers of Dask {where}: {error}") from None
    count = sum(client.nthreads().values())
    executor = client.get_executor(pure=False)

    def end() -> None:
        executor.shutdown(wait=False)
        client.close()

    return Workers(executor=executor, count=count, end=end)


def _import(module: str, extra: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError:
        raise BadInput(
            f"--executor {extra}: this Python has no {module.partition('.')[0]}; install it with"
            f" pip install 'offbeat[{extra}]'"
        ) from None
    except RuntimeError as error:  # importing mpi4py loads an MPI library
        raise BadInput(
            f"--executor {extra}: {extra} finds no MPI library ({str(error).splitlines()[0]}); load its"
            " module, or name its libmpi.so in MPI4PY_LIBMPI"
        ) from None
