"""The messages of a call, round by round: a message is in round k if the longest chain of messages that ends
with it has k."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from offbeat.algorithm.subject import Call, Subject
from offbeat.errors import BadInput


class Message(Struct, frozen=True, kw_only=True):
    """One message."""

    source: int
    target: int
    bytes: int
    round: int


class Pattern(Struct, frozen=True, kw_only=True):
    """All messages of a call, by round, source and target."""

    title: str
    p: int
    root: int | None
    bytes: int
    messages: list[Message]

    @property
    def rounds(self) -> int:
        """The number of the last round; 0 without messages."""
        return max((message.round for message in self.messages), default=0)

    def of_round(self, number: int) -> list[Message]:
        """Its messages; the first round is 1."""
        return [message for message in self.messages if message.round == number]


def pattern(subject: Subject, call: Call, *, rooted: bool) -> Pattern:
    """The messages of a call. Raises :class:`BadInput` with the algorithm's own sentence if it refuses."""
    try:
        drawn = subject.messages(call)
    except ValueError as error:
        raise BadInput(f"{subject.title} at p = {call.p} and {call.count} elements: {error}") from None
    return Pattern(
        title=subject.title,
        p=call.p,
        root=call.root if rooted else None,
        bytes=call.count * call.element_bytes,
        messages=_messages(drawn, call.element_bytes),
    )


def _messages(drawn: dict[str, Any], element_bytes: int) -> list[Message]:
    sizes = np.asarray(drawn["elements"]) * element_bytes
    columns = (drawn["source"], drawn["target"], sizes, drawn["depth"])
    return [
        Message(source=source, target=target, bytes=size, round=depth)
        for source, target, size, depth in zip(*(column.tolist() for column in columns), strict=True)
    ]
