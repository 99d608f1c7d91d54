"""Calls that failed with an algorithm of some library: they are tried before any that are drawn."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import UNSET, convert
from msgspec.structs import replace

from offbeat.base.reading import read_text
from offbeat.libraries.launch.driver_protocol import CallDrawn
from offbeat.measurement.legal_calls.drawn_calls import LegalCall, legal_call

CORPUS = "corpus.txt"
"""One call on each line, as the driver reads it; lines that begin with ``#`` are comments."""

_LISTS = ("members", "next", "elements")
_TEXTS = ("collective", "send", "receive", "op")


def corpus_calls(collective: str, p: int) -> list[LegalCall]:
    """The calls of the corpus of a collective that need at most p processes.

    Calls on a communicator of the first processes in order are made on all p processes.
    """
    return [
        _spread_over(call, p)
        for call in _corpus()
        if call.command.collective == collective and max(_ranks(call.command)) < p
    ]


def _ranks(command: CallDrawn) -> list[int]:
    return [*command.members, *(command.next if isinstance(command.next, list) else [])]


def _spread_over(call: LegalCall, p: int) -> LegalCall:
    is_in_order = call.command.members == list(range(call.p)) and call.p > 1
    if not is_in_order or call.command.next is not UNSET:
        return call
    return legal_call(replace(call.command, members=list(range(p))))


@cache
def _corpus() -> tuple[LegalCall, ...]:
    text = read_text(Path(__file__).with_name(CORPUS))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(legal_call(read_call(line)) for line in lines)


def read_call(line: str) -> CallDrawn:
    """The call of a line as :meth:`CallDrawn.line` writes it. Raises ValueError for any other text."""
    verb, *words = line.split()
    values: dict[str, object] = {}
    for word in words:
        key, is_key, value = word.partition("=")
        if verb != "call" or not is_key:
            raise ValueError(f"{line!r} is not a call: it has the word {word!r}")
        if key in _LISTS:
            values[key] = [int(number) for number in value.split(",")]
        else:
            values[key] = value if key in _TEXTS else int(value)
    return convert({"type": verb} | values, CallDrawn)
