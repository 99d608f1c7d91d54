"""The lines of a plan, which the executor of programs reads; see
:mod:`offbeat.libraries.launch.driver_protocol`.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from offbeat.libraries.launch.driver_protocol import Answer, CallInLayout, Command


class ProgramRun(Command[Answer], frozen=True, kw_only=True, tag="run"):
    """The first line of a plan."""

    ranks: int
    iterations: int
    alone: int | UnsetType = UNSET
    buffer_bytes: int | UnsetType = UNSET


class ProgramWork(Command[Answer], frozen=True, kw_only=True, tag="work"):
    """Work: one number per rank, or fewer that are repeated."""

    memory: list[int] | UnsetType = UNSET
    flops: list[int] | UnsetType = UNSET
    time_ns: list[int] | UnsetType = UNSET
    every: int | UnsetType = UNSET


class ProgramExchange(Command[Answer], frozen=True, kw_only=True, tag="exchange"):
    """An exchange, whose messages follow."""

    sends: str | UnsetType = UNSET
    every: int | UnsetType = UNSET


class ProgramMessage(Command[Answer], frozen=True, kw_only=True, tag="message"):
    """A message of the last exchange."""

    sender: int = field(name="from")
    receiver: int = field(name="to")
    bytes: int | UnsetType = UNSET


class ProgramCollective(CallInLayout, Command[Answer], frozen=True, kw_only=True, tag="collective"):
    """A collective of all ranks, on one communicator or on several at the same time."""

    every: int | UnsetType = UNSET


class ProgramDelay(Command[Answer], frozen=True, kw_only=True, tag="delay"):
    """A place for delays besides work."""

    every: int | UnsetType = UNSET
