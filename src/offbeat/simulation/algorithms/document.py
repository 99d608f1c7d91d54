"""What the commands of ``offbeat algorithm`` write as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from offbeat.simulation.algorithms.check import Outcome
from offbeat.simulation.algorithms.inspected import Call, CatalogueAlgorithm
from offbeat.simulation.algorithms.messages import Message, ShownCall


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of an algorithm."""

    default: int
    smallest: int


class CatalogueEntry(Struct, frozen=True, kw_only=True):
    """An algorithm that can be simulated.

    ``family`` is the library whose algorithm and name it is. ``ordered`` says that it combines in rank order
    whatever the operation, ``scales`` that its schedule for n elements is the schedule for one element with
    every length multiplied by n.
    """

    collective: str
    family: str
    name: str
    parameters: dict[str, Parameter]
    ordered: bool
    scales: bool


class CatalogueDocument(Struct, frozen=True, kw_only=True):
    """The algorithms that can be simulated."""

    algorithms: list[CatalogueEntry]


class CallExits(Struct, frozen=True, kw_only=True):
    """When each rank arrives and leaves, under an arrival pattern.

    ``evaluation`` is ``longest_path`` or ``fluid``. ``last_delay_s`` is d̂, ``total_delay_s`` d*.
    """

    platform: str
    pattern: str
    evaluation: str
    arrivals_s: list[float]
    exits_s: list[float]
    last_delay_s: float
    total_delay_s: float


class CallDocument(Struct, frozen=True, kw_only=True):
    """The messages of one call of an algorithm.

    ``rounds`` is the largest round of a message. ``exits`` is null without an arrival pattern.
    """

    algorithm: str
    collective: str
    parameters: dict[str, int]
    call: Call
    rounds: int
    messages: list[Message]
    exits: CallExits | None


class CheckDocument(Struct, frozen=True, kw_only=True):
    """What a check of algorithms proved."""

    algorithms: list[Outcome]


def catalogue_document(entries: Sequence[CatalogueAlgorithm]) -> CatalogueDocument:
    """The catalogue."""
    return CatalogueDocument(
        algorithms=[
            CatalogueEntry(
                collective=entry.collective,
                family=entry.family,
                name=entry.name,
                parameters={
                    name: Parameter(default=value, smallest=entry.smallest[name])
                    for name, value in entry.parameters.items()
                },
                ordered=entry.ordered,
                scales=entry.scales,
            )
            for entry in entries
        ]
    )


def call_document(shown_call: ShownCall) -> CallDocument:
    """The call, its messages and, if there are any, its arrivals and exits."""
    exits = shown_call.exits
    return CallDocument(
        algorithm=shown_call.algorithm.title,
        collective=shown_call.algorithm.collective,
        parameters=shown_call.algorithm.parameters,
        call=shown_call.call,
        rounds=shown_call.messages.rounds,
        messages=shown_call.messages.messages,
        exits=None
        if exits is None
        else CallExits(
            platform=exits.platform,
            pattern=exits.pattern,
            evaluation=exits.evaluation,
            arrivals_s=exits.arrivals_s.tolist(),
            exits_s=exits.exits_s.tolist(),
            last_delay_s=exits.last_delay_s,
            total_delay_s=exits.total_delay_s,
        ),
    )
