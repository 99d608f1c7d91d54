"""From arrivals to exits: simulating one call of a collective under many patterns.

Schedules and networks are cached in the process: calls that differ in their patterns only, or in their sizes
if the algorithm scales, build them once.
"""

from __future__ import annotations

import functools
import inspect
import math
from pathlib import Path

import msgspec
import numpy as np
import psutil
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from offbeat import _simulator
from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json
from offbeat.model.platform.machine import Platform, load
from offbeat.model.platform.schema import PlatformFile
from offbeat.model.study.algorithm import Algorithm, split_file_and_function
from offbeat.model.study.collectives import REDUCING, ROOTED
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.simulation.calls.catalogue import SimulatedAlgorithm, catalogue, get_algorithm
from offbeat.simulation.calls.schedule_cache import LruCache, MemoryBudget
from offbeat.simulation.calls.user_function import FunctionOfFile, RankFunction, load_function, with_messages

CACHED_NETWORKS = 16

BYTES_PER_MESSAGE = 256
"""Memory that simulating a schedule takes for each of its messages, roughly."""


class Job(Struct, frozen=True, kw_only=True):
    """A call of a collective and its arrival patterns; can be sent to other processes.

    ``algorithm`` is a name with its parameters, ``function`` the algorithm if the user wrote it, ``bytes``
    the message size as the MPI call states it, a multiple of ``element_bytes``. The communicators of
    ``layout`` call at the same time; ``root`` is a rank of each. ``node_of_rank`` is (p,) int32,
    ``arrivals_s`` (patterns × p) in seconds, where p is the number of processes of all communicators.
    """

    platform: PlatformFile
    node_of_rank: NDArray[np.int32]
    collective: str
    family: str
    algorithm: str
    root: int
    bytes: int
    element_bytes: int
    arrivals_s: NDArray[np.float64]
    layout: CommunicatorLayout
    function: FunctionOfFile | None = None


class SimulationResult(Struct, frozen=True, kw_only=True):
    """``exits_s`` is (patterns × p), on the clock of the arrivals.

    ``evaluations`` says how each pattern was evaluated: ``longest_path`` where no link is shared, else
    ``fluid``. ``messages`` is how many messages were simulated, those of every pattern counted.
    """

    exits_s: NDArray[np.float64]
    evaluations: list[str]
    messages: int


def run_job(job: Job) -> SimulationResult:
    """Simulate every pattern of a job.

    Raises :class:`BadInput` for an unknown algorithm, ValueError with a sentence for a call that the
    algorithm refuses, and RuntimeError for a deadlock of its ranks; :class:`RunFailed` for an error in an
    algorithm that the user wrote.
    """
    if job.function is not None:
        return _evaluate(job, _schedule_of_file(job, job.function), job.element_bytes)
    algorithm = get_algorithm(job.collective, job.family, job.algorithm)
    schedule = _cached_schedule(job, algorithm)
    return _evaluate(job, schedule, job.bytes if algorithm.scales else job.element_bytes)


def _evaluate(job: Job, schedule: _simulator.Schedule, bytes_per_element: int) -> SimulationResult:
    network = _network(msgspec.json.encode(job.platform), job.node_of_rank.tobytes())
    arrivals = np.ascontiguousarray(job.arrivals_s, dtype=np.float64)
    with _memory.reserve(schedule.messages * BYTES_PER_MESSAGE):
        exits, evaluations = _simulator.evaluate(schedule, network, arrivals, float(bytes_per_element))
    return SimulationResult(
        exits_s=exits, evaluations=evaluations, messages=schedule.messages * len(arrivals)
    )


class OwnProof(Struct, frozen=True, kw_only=True):
    """What the checker says of one call: why the algorithm refuses the call, or what is wrong in its result;
    both are empty if the result is right. ``commutative_only``: right for operations that commute."""

    refusal: str = ""
    wrong: str = ""
    commutative_only: bool = False


def prove_function(job: Job) -> OwnProof:
    """Whether the user's function of a job computes its collective in this call.

    Raises :class:`RunFailed` for an error in the function.
    """
    assert job.function is not None
    try:
        programs = _programs(job, job.function.load())
    except ValueError as refusal:
        return OwnProof(refusal=str(refusal))
    wrong = programs.check()
    has_order = wrong or job.collective not in REDUCING or not programs.check(ordered=True)
    return OwnProof(wrong=wrong, commutative_only=not has_order)


def refusal(job: Job, memory_bytes: float = math.inf) -> str:
    """Why a job cannot be simulated; empty if it can. Nothing is simulated.

    The algorithm may refuse the call, or its schedule may need more than ``memory_bytes``.
    """
    return call_of(job).refusal(memory_bytes)


def call_of(job: Job) -> SimulatedCall:
    """The call of a job. Raises :class:`BadInput` for an unknown algorithm."""
    return SimulatedCall(
        algorithm=get_algorithm(job.collective, job.family, job.algorithm),
        layout=job.layout,
        root=job.root,
        elements=job.bytes // job.element_bytes,
        element_bytes=job.element_bytes,
        node_of_rank=job.node_of_rank.tolist(),
    )


class SimulatedCall(Struct, frozen=True, kw_only=True, eq=False):
    """A call of a collective by an algorithm, on the communicators of a layout.

    ``root`` is a rank in each communicator, ``node_of_rank`` has the nodes of all processes.
    """

    algorithm: SimulatedAlgorithm
    layout: CommunicatorLayout
    root: int
    elements: int
    element_bytes: int
    node_of_rank: list[int]

    def preview(self) -> tuple[str, int]:
        """Why the algorithm refuses the call, empty if it does not; and about how many messages all ranks
        send. Nothing is built."""
        return _simulator.preview(
            *self.algorithm.identity,
            self.layout.p,
            self.root,
            self.elements,
            self.element_bytes,
            self.node_of_rank,
            communicators=self.layout.communicators,
            stride=self.layout.stride,
        )

    def refusal(self, memory_bytes: float) -> str:
        """Does the same as :func:`refusal`."""
        reason, messages = self.preview()
        needed_bytes = messages * BYTES_PER_MESSAGE
        if not reason and needed_bytes > memory_bytes:
            return (
                f"its schedule has about {messages:.2g} messages, which need about"
                f" {needed_bytes / 2**30:.3g} GiB of memory; this machine has {memory_bytes / 2**30:.3g} GiB"
            )
        return reason

    def schedule(self, *, local_work: bool) -> _simulator.Schedule:
        """The programs of all ranks. Raises ValueError with a sentence if the algorithm refuses the call."""
        return _simulator.Schedule(
            *self.algorithm.identity,
            self.layout.p,
            self.root,
            self.elements,
            self.element_bytes,
            self.node_of_rank,
            local_work=local_work,
            communicators=self.layout.communicators,
            stride=self.layout.stride,
        )


def has_local_work(platform: PlatformFile) -> bool:
    """Whether ranks are busy with more than sending, so that schedules must have their local work."""
    messages = platform.messages
    return any((messages.receive_overhead, messages.reduce_bandwidth, messages.copy_bandwidth))


def simulate(
    platform: Platform | str,
    algorithm: Algorithm | RankFunction | str,
    p: int,
    bytes: int,
    arrivals: ArrayLike,
    *,
    collective: str = "",
    family: str = "openmpi",
    root: int = 0,
    element_bytes: int = 1,
    communicators: int = 1,
    stride: int = 1,
) -> NDArray[np.float64]:
    """When each rank leaves a collective, given when each arrives: seconds in, seconds out.

    ``platform`` is a platform, or the name of a built-in one or of a file. ``algorithm`` names collective and
    algorithm (``"reduce/chain(fanout=4)"``) in a ``family`` of names: openmpi, mpich or simgrid. Your own
    algorithm is a function that writes the program of a rank, or ``"FILE.py:FUNCTION"``; ``collective`` says
    what the algorithm computes, which ``offbeat algorithm check`` proves. ``bytes`` is
    the message size as the MPI call states it (for alltoall per destination), made of elements of
    ``element_bytes``. ``arrivals`` is (p,) for one pattern or (patterns × p) for many, and the exits have its
    shape. Many patterns at once are simulated faster than one after another; the GIL is released meanwhile.

    Several ``communicators`` of ``p`` processes each, the rows of a process grid (``stride`` 1) or its
    columns (``stride`` is the length of a row), call the collective at the same time: ``arrivals`` and exits
    then have p · communicators columns, by rank, and ``root`` is a rank of each communicator.

    Raises :class:`BadInput` for arguments that do not exist or do not fit each other.
    """
    machine = load(platform) if isinstance(platform, str) else platform
    own_function = _own_function(algorithm, collective)
    collective, name = own_function.call if own_function else _split(algorithm, collective)
    times = np.asarray(arrivals, dtype=np.float64)
    layout = _layout(p, communicators, stride)
    if times.ndim not in (1, 2) or times.shape[-1] != layout.total:
        ranks = layout.total
        raise BadInput(f"arrivals have the shape {times.shape}; it must be ({ranks},) or (patterns, {ranks})")
    if not np.isfinite(times).all():
        raise BadInput("some arrivals are not finite")
    if not 0 <= root < p:
        raise BadInput(f"root {root} is no rank of p = {p}; write a rank from 0 to {p - 1}")
    if element_bytes < 1 or bytes < 0 or bytes % element_bytes:
        raise BadInput(f"{bytes} B is not a whole number of elements of {element_bytes} B")
    job = Job(
        platform=machine.file,
        node_of_rank=machine.node_of_rank(layout.total),
        collective=collective,
        family=family,
        algorithm=name,
        root=root if collective in ROOTED else 0,
        bytes=bytes,
        element_bytes=element_bytes,
        arrivals_s=np.atleast_2d(times),
        layout=layout,
    )
    try:
        result = run_job(job) if own_function is None else _run_function(job, own_function.write)
        return result.exits_s.reshape(times.shape)
    except (ValueError, RuntimeError) as error:
        raise BadInput(f"{collective}/{name} at p = {p} and {bytes} B: {error}") from None


def _layout(p: int, communicators: int, stride: int) -> CommunicatorLayout:
    if p < 1 or communicators < 1:
        raise BadInput(f"p = {p}, communicators = {communicators}: write 1 or more of each")
    if stride < 1 or communicators % stride:
        raise BadInput(f"stride {stride} does not divide {communicators} communicators; write 1 for rows")
    return CommunicatorLayout(p=p, communicators=communicators, stride=stride)


class _OwnFunction(Struct, frozen=True, kw_only=True):
    """An algorithm that the user wrote; ``call`` is its collective and its name."""

    call: tuple[str, str]
    write: RankFunction


def _own_function(algorithm: Algorithm | RankFunction | str, collective: str) -> _OwnFunction | None:
    """The algorithm if the user wrote it; None if it is one of the simulator's."""
    file_and_function = split_file_and_function(algorithm) if isinstance(algorithm, str) else None
    if isinstance(algorithm, Algorithm) or (isinstance(algorithm, str) and file_and_function is None):
        return None
    name = algorithm if isinstance(algorithm, str) else algorithm.__name__
    collectives = sorted({known for known, _ in catalogue()})
    if collective not in collectives:
        remedy = f"write collective=..., one of {', '.join(collectives)}"
        raise BadInput(f"{name}: {collective!r} is no collective that can be simulated; {remedy}")
    if file_and_function is not None:
        return _OwnFunction(call=(collective, name), write=load_function(*file_and_function))
    assert callable(algorithm)
    path = Path(inspect.getsourcefile(algorithm) or name)
    return _OwnFunction(call=(collective, name), write=with_messages(algorithm, path))


def _run_function(job: Job, function: RankFunction) -> SimulationResult:
    """Does the same as :func:`run_job`, for an algorithm that the user wrote."""
    return _evaluate(job, _schedule_of_function(job, function), job.element_bytes)


def _programs(job: Job, function: RankFunction) -> _simulator.Programs:
    """The programs that the function writes for all ranks. Raises ValueError if it refuses the call."""
    if job.layout.communicators > 1:
        raise ValueError("your own algorithm is simulated on one communicator; write communicators=1")
    elements, nodes = job.bytes // job.element_bytes, job.node_of_rank.tolist()
    try:
        return _simulator.Programs(
            job.collective, function, job.layout.p, job.root, elements, job.element_bytes, nodes
        )
    except NotImplementedError as refusal:
        raise ValueError(str(refusal) or "the algorithm refuses the call") from None


def _schedule_of_function(job: Job, function: RankFunction) -> _simulator.Schedule:
    return _simulator.Schedule(_programs(job, function), has_local_work(job.platform))


def _schedule_of_file(job: Job, function: FunctionOfFile) -> _simulator.Schedule:
    """The schedule of a job whose algorithm the user wrote."""
    write = function.load()
    size = (job.bytes, job.element_bytes)
    nodes = job.node_of_rank.tobytes()
    key = (job.collective, function, job.layout, job.root, *size, nodes, has_local_work(job.platform))
    return _schedules.get(key, lambda: _schedule_of_function(job, write))


def _split(algorithm: Algorithm | RankFunction | str, collective: str) -> tuple[str, str]:
    if isinstance(algorithm, Algorithm):
        return algorithm.collective, algorithm.name
    stated_collective, slash, name = str(algorithm).partition("/")
    if not slash:
        raise BadInput(f"{algorithm!r} names no collective; write it like 'reduce/binomial'")
    if collective not in ("", stated_collective):
        raise BadInput(
            f"{algorithm!r} is an algorithm for {stated_collective}, but collective={collective!r}"
        )
    return stated_collective, name


@functools.lru_cache(maxsize=CACHED_NETWORKS)
def _network(platform: bytes, node_of_rank: bytes) -> _simulator.Network:
    nodes = np.frombuffer(node_of_rank, dtype=np.int32)
    file = decode_json(platform, PlatformFile)
    return Platform(file=file, path=file.name, text="").network(len(nodes), node_of_rank=nodes)


_schedules = LruCache()
_memory = MemoryBudget(psutil.virtual_memory().total / 2)


def _cached_schedule(job: Job, algorithm: SimulatedAlgorithm) -> _simulator.Schedule:
    """The schedule of a job; if the algorithm scales, that of one element, which serves every size."""
    count = 1 if algorithm.scales else job.bytes // job.element_bytes
    element_bytes = 1 if algorithm.scales else job.element_bytes
    local_work = has_local_work(job.platform)
    nodes = job.node_of_rank.tobytes()
    call = (algorithm.collective, algorithm.family, algorithm.name, *algorithm.parameters.items())
    key = (*call, job.layout, job.root, count, element_bytes, nodes, local_work)

    def build() -> _simulator.Schedule:
        return SimulatedCall(
            algorithm=algorithm,
            layout=job.layout,
            root=job.root,
            elements=count,
            element_bytes=element_bytes,
            node_of_rank=job.node_of_rank.tolist(),
        ).schedule(local_work=local_work)

    return _schedules.get(key, build)
