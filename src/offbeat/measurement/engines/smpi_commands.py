"""The commands of the program ``offbeat-smpi``, and its answers; see
:mod:`offbeat.libraries.launch.driver_protocol`.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from offbeat.libraries.launch.driver_protocol import Answer, Command


class SmpiGreeting(Answer, frozen=True, kw_only=True):
    """The answer of the program for SimGrid to ``hello``; ``simgrid`` is its version."""

    protocol: int
    simgrid: str
    p: int


class SmpiTimes(Answer, frozen=True, kw_only=True):
    """Arrival and exit of each rank in seconds since the start, and the CPU time of the simulation."""

    cpu_s: float
    arrivals: list[float]
    exits: list[float]


class SmpiChecked(Answer, frozen=True, kw_only=True):
    """The number of wrong elements."""

    wrong: int


class SmpiAlgorithmsAnswer(Answer, frozen=True, kw_only=True):
    """The names of SMPI's algorithms."""

    algorithms: list[str]


class SmpiCall(Struct, frozen=True, kw_only=True):
    """One collective call by one of SMPI's algorithms."""

    collective: str
    algorithm: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    root: int | UnsetType = UNSET
    datatype: str | UnsetType = UNSET


class SmpiRun(SmpiCall, Command[SmpiTimes], frozen=True, kw_only=True, tag="run"):
    """Simulates a call whose processes arrive with ``delays``, in seconds."""

    op: str | UnsetType = UNSET
    delays: list[float] | UnsetType = UNSET
    copies: int | UnsetType = UNSET


class SmpiCheck(SmpiCall, Command[SmpiChecked], frozen=True, kw_only=True, tag="check"):
    """Simulates a call with data, and checks its result."""


class SmpiAlgorithms(Command[SmpiAlgorithmsAnswer], frozen=True, kw_only=True, tag="algorithms"):
    """Lists SMPI's algorithms of a collective."""

    collective: str


class SmpiHello(Command[SmpiGreeting], frozen=True, kw_only=True, tag="hello"):
    """Asks for SimGrid's version."""
