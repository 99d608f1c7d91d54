"""A case: an algorithm of a configuration under one arrival pattern."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Struct

from offbeat.model.study.communicators import CommunicatorLayout, Placement
from offbeat.model.study.skew_policy import POLICIES, REPLAY, ZERO_SKEW, Runtimes, SkewPolicy

PARTS, LAYOUT = ("partitions", "threads"), ("communicators", "stride")
"""Fields and columns of partitioned sends, and of collectives that several communicators call."""

OPTIONAL = (*PARTS, *LAYOUT)
"""Fields and columns of a case that are written only if they are not 1."""

CONFIGURATION = ("collective", "bytes", "p", "nodes", "ppn", "op", "datatype", "root", *OPTIONAL)
"""Fields of a case, and columns of its results, that identify its configuration within one study."""

ConfigurationKey = tuple[object, ...]
"""The values of :data:`CONFIGURATION`."""


def configuration_key(item: Any) -> ConfigurationKey:
    """The configuration of a case, or of anything else that has the fields of one."""
    return tuple(getattr(item, name) for name in CONFIGURATION)


class OnCommunicators(Struct, frozen=True):
    """Base of what has the fields ``p``, ``communicators``, ``stride``, ``nodes`` and ``ppn`` of a case."""

    @property
    def layout(self) -> CommunicatorLayout:
        """The communicators that call the collective at the same time."""
        fields: Any = self
        return CommunicatorLayout(p=fields.p, communicators=fields.communicators, stride=fields.stride)

    @property
    def processes(self) -> int:
        """The number of processes of a launch."""
        return self.layout.total

    @property
    def launch_placement(self) -> Placement:
        """(processes, nodes, processes per node) of a launch."""
        fields: Any = self
        return self.processes, fields.nodes, fields.ppn


class Case(OnCommunicators, frozen=True, kw_only=True):
    """An algorithm of an operation at one p, placement and message size, under one pattern.

    ``collective`` is the operation's name: a collective's, or :data:`PARTITIONED_SEND`, which has
    ``partitions``, and ``threads`` that mark them as ready; a collective has 1 of each. ``p`` is the number
    of processes of a communicator, of which ``communicators`` call the collective at the same time;
    ``stride`` is the distance between the ranks of consecutive members. ``nodes`` and ``ppn`` are those of
    all processes. ``bytes`` is the message size: bytes per process as the MPI call states it (count ×
    extent); for alltoall bytes per destination; 0 for barrier. ``pattern`` is the row label that everything
    downstream uses: the shape's or scenario's name, followed by ``×factor`` where a study has several skews
    of one shape. ``skew_factor`` multiplies the runtime that ``skew_policy`` (``mean``, ``median``,
    ``fastest``, ``own``, ``fixed``, ``rate``, ``file``, ``replay`` or ``none``) refers to; for ``fixed`` it
    is the skew itself in seconds, for ``rate`` the delay in µs for each MB of a partition.
    """

    collective: str
    algorithm: str
    bytes: int
    pattern: str
    shape: str
    skew_policy: str
    skew_factor: float
    p: int
    nodes: int
    ppn: int
    op: str = ""
    datatype: str = ""
    root: int = 0
    partitions: int = 1
    threads: int = 1
    communicators: int = 1
    stride: int = 1

    @property
    def policy(self) -> SkewPolicy:
        """The record of the skew policy."""
        return POLICIES[self.skew_policy]

    @property
    def is_delayed(self) -> bool:
        """Whether processes or partitions have delays; cases without are the references of skews."""
        return self.skew_policy != ZERO_SKEW.key

    @property
    def is_replay(self) -> bool:
        """Whether the case has the delays of recorded calls, call by call."""
        return self.skew_policy == REPLAY.key

    def skew_s(self, runtimes: Runtimes) -> float:
        """Returns the largest delay of the pattern by the skew policy, in seconds; 0 if its delays are not
        scaled.

        ``runtimes`` are those of the configuration without delay. Raises :class:`UnknownSkew` if one is
        missing that the skew depends on.
        """
        partition_bytes = self.bytes / self.partitions
        return self.skew_factor * self.policy.reference_s(self.algorithm, partition_bytes, runtimes)

    @property
    def id(self) -> str:
        """A short digest of all fields (without those of OPTIONAL that are 1); the same in every run."""
        return hashlib.sha256(msgspec.json.encode(columns_of(msgspec.structs.asdict(self)))).hexdigest()[:16]


class Group(OnCommunicators, frozen=True, kw_only=True, omit_defaults=True):
    """A configuration: one collective at one p, placement, size, operation, datatype and root.

    A partitioned send's is one at one p, placement, size and number of partitions
    and threads. ``bytes`` is the message
    size, 0 for barrier; ``nodes`` and ``ppn`` are 0 where the launcher places the processes; ``op`` and
    ``datatype`` are empty and ``root`` is 0 if the collective has none. ``algorithms`` are those of the study
    file: ``["all"]``, or names. ``files``, ``replays`` and ``skews_s`` are the patterns and skews of its
    section of the study only.
    """

    collective: str
    bytes: int
    p: int
    nodes: int
    ppn: int
    op: str
    datatype: str
    root: int
    algorithms: list[str]
    partitions: int = 1
    threads: int = 1
    communicators: int = 1
    stride: int = 1
    files: list[str] = []
    replays: list[str] = []
    skews_s: list[float] = []


def columns_of(row: dict[str, object]) -> dict[str, object]:
    """The fields or columns of a case as they are written: without those of OPTIONAL that are 1."""
    return {name: value for name, value in row.items() if name not in OPTIONAL or value != 1}


def operation_label(item: Any) -> str:
    """The operation of a case or a configuration in tables: ``reduce``, ``partitioned_send (32 by 4)``.

    Of a partitioned send, the numbers are its partitions and threads.
    """
    if item.collective != PARTITIONED_SEND:
        layout = item.layout.text
        return f"{item.collective} ({layout})" if layout else str(item.collective)
    return f"{PARTITIONED_SEND} ({item.partitions} by {item.threads})"


PARTITIONED_SEND = "partitioned_send"
"""The name of the operation that sends one message in partitions (MPI_Psend_init, MPI_Precv_init)."""
