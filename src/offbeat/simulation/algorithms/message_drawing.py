"""Drawing the messages of a call in the terminal: a column for each rank, a block of lines for each round.

Messages share a line if their arrows do not touch. Two messages in opposite directions between the same two
ranks in one round are one arrow with two heads. Successive rounds with the same messages are drawn once.
Rounds that do not fit the width are described in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from offbeat.base.units import amount, format_size
from offbeat.simulation.algorithms.messages import CallMessages, Message

MAX_BLOCKS = 24
"""The most blocks of rounds that are drawn."""

MAX_LINES = 20
"""The most lines of one round; rounds with more are described in words."""

_HEADING = "round"


class Arrow(Struct, frozen=True, kw_only=True):
    """An arrow between two ranks (equal: a message to itself), with heads where data arrives."""

    left: int
    right: int
    head_left: bool
    head_right: bool
    bytes: int


def draw_messages(call: CallMessages, *, width: int = 80, unicode: bool = True) -> list[str]:
    """The messages as lines of text at most ``width`` wide; without ``unicode`` all characters are ASCII."""
    lines = [heading(call)]
    if not call.messages:
        return lines
    column = _column_width(call, width)
    lines.append("")
    if column:
        ranks = "".join(f"{rank:<{column}}" for rank in range(call.p)).rstrip()
        lines.append(f"{_HEADING}  {ranks}")
    blocks = _blocks(call)
    for label, messages in blocks[:MAX_BLOCKS]:
        lanes = _lanes(_arrows(messages)) if column else []
        if column and len(lanes) <= MAX_LINES:
            lines += _round(label, lanes, call.p, column, unicode)
        else:
            lines.append(f"{label:>{len(_HEADING)}}  {describe_round(messages, call.p)}")
    if len(blocks) > MAX_BLOCKS:
        first = blocks[MAX_BLOCKS][1][0].round
        count = sum(message.round >= first for message in call.messages)
        lines.append(
            f"{'...':>{len(_HEADING)}}  {amount(count, 'message')} in rounds {first} to {call.rounds}"
        )
    return lines


def _blocks(call: CallMessages) -> list[tuple[str, list[Message]]]:
    """Successive rounds with the same messages: their label (``2`` or ``2-7``) and their messages."""
    blocks: list[tuple[str, list[Message]]] = []
    by_round = groupby(call.messages, key=lambda message: message.round)

    def endpoints_and_size(entry: tuple[int, list[Message]]) -> list[tuple[int, int, int]]:
        return [(message.source, message.target, message.bytes) for message in entry[1]]

    rounds = [(number, list(messages_of_round)) for number, messages_of_round in by_round]
    for _, alike in groupby(rounds, key=endpoints_and_size):
        numbers = list(alike)
        first, last = numbers[0][0], numbers[-1][0]
        blocks.append((str(first) if first == last else f"{first}-{last}", numbers[0][1]))
    return blocks


def heading(call: CallMessages) -> str:
    """One line with the call and its number of messages and rounds."""
    root = "" if call.root is None else f", root {call.root}"
    size = f", {format_size(call.bytes)}" if call.bytes else ""
    total = sum(message.bytes for message in call.messages)
    volume = f" of {format_size(total)} in all" if total else ""
    extent = f"{amount(len(call.messages), 'message')}{volume} in {amount(call.rounds, 'round')}"
    return f"{call.title}, p = {call.p}{root}{size}: {extent}"


def describe_round(messages: Sequence[Message], p: int) -> str:
    """Returns ``64 messages of 1 KiB: every rank to rank + 1, rank + 2``: number, sizes, distances."""
    sizes = sorted({message.bytes for message in messages})
    size = _sizes(sizes)
    apart = {abs(message.source - message.target) for message in messages}
    steps = Counter((message.target - message.source) % p for message in messages)
    common_steps = [step for step, count in sorted(steps.items()) if count >= p]
    if len(common_steps) == len(steps) and len(common_steps) == p - 1 > 3:
        distances = ": every rank to every other"
    elif len(apart) == 1 and len(messages) > 4:
        distances = f": between ranks {apart.pop()} apart"
    elif len(common_steps) == len(steps) and len(common_steps) <= 4:
        distances = ": every rank to " + ", ".join(f"rank + {step}" for step in common_steps)
    else:
        distances = _name_ranks(messages)
    return f"{amount(len(messages), 'message')}{size}{distances}"


def _name_ranks(messages: Sequence[Message]) -> str:
    sources = {message.source for message in messages}
    targets = {message.target for message in messages}
    if len(messages) <= 4:
        return ": " + ", ".join(f"{message.source} to {message.target}" for message in messages)
    return f", from {_ranks(sources)} to {_ranks(targets)}"


def _ranks(ranks: set[int]) -> str:
    return f"rank {min(ranks)}" if len(ranks) == 1 else f"{len(ranks)} ranks"


def _sizes(sizes: Sequence[int]) -> str:
    if sizes == [0]:
        return ""
    if len(sizes) == 1:
        return f" of {format_size(sizes[0])}"
    return f" of {format_size(sizes[0])} to {format_size(sizes[-1])}"


def _column_width(call: CallMessages, width: int) -> int:
    """Characters for each rank; 0 if the ranks do not fit. Sizes follow to the right of the columns."""
    available = width - len(_HEADING) - 2 - len("  1023 KiB to 1023 KiB")
    digits = len(str(call.p - 1))
    widest = min(available // call.p, max(4, digits + 2))
    return widest if widest >= max(3, digits + 1) else 0


def _arrows(messages: Iterable[Message]) -> list[Arrow]:
    """An arrow for each message or opposite pair; the shorter ones first, so that they share lines."""
    arrows = []

    def ends(message: Message) -> tuple[int, int, int]:
        return min(message.source, message.target), max(message.source, message.target), message.bytes

    for (left, right, size), group in groupby(sorted(messages, key=ends), key=ends):
        between_pair = list(group)
        rightward = sum(message.target == right for message in between_pair)
        leftward = len(between_pair) - rightward
        if left == right:
            rightward, leftward = len(between_pair), 0
        for index in range(max(rightward, leftward)):
            arrows.append(
                Arrow(
                    left=left,
                    right=right,
                    head_left=index < leftward,
                    head_right=index < rightward,
                    bytes=size,
                )
            )
    return sorted(arrows, key=lambda arrow: (arrow.right - arrow.left, arrow.left))


def _lanes(arrows: Iterable[Arrow]) -> list[list[Arrow]]:
    """The arrows of each line: of equal size, and not touching each other."""
    lanes: list[list[Arrow]] = []
    for arrow in arrows:
        for lane in lanes:
            apart = all(arrow.left > other.right or arrow.right < other.left for other in lane)
            if lane[0].bytes == arrow.bytes and apart:
                lane.append(arrow)
                break
        else:
            lanes.append([arrow])
    return lanes


def _round(number: str, lanes: Sequence[Sequence[Arrow]], p: int, column: int, unicode: bool) -> list[str]:
    lines = []
    sizes = {lane[0].bytes for lane in lanes}
    for index, lane in enumerate(lanes):
        label = number if index == 0 else ""
        size = format_size(lane[0].bytes) if lane[0].bytes and (index == 0 or len(sizes) > 1) else ""
        suffix = " each" if size and len(lane) + (len(lanes) if len(sizes) == 1 else 1) > 2 else ""
        cells = _line(lane, p, column, unicode)
        text = f"{label:>{len(_HEADING)}}  {cells:<{p * column}}  {size}{suffix}"
        lines.append(text.rstrip())
    return lines


def _line(lane: Sequence[Arrow], p: int, column: int, unicode: bool) -> str:
    bar, start, to_left, to_right, to_self, idle = "─●◀▶↻·" if unicode else "-o<>@."
    cells = [" "] * (p * column)
    for rank in range(p):
        cells[rank * column] = idle
    for arrow in lane:
        first, last = arrow.left * column, arrow.right * column
        cells[first : last + 1] = [bar] * (last - first + 1)
        cells[last] = to_right if arrow.head_right else start
        cells[first] = to_left if arrow.head_left else start
        if arrow.left == arrow.right:
            cells[first] = to_self
    return "".join(cells).rstrip()
