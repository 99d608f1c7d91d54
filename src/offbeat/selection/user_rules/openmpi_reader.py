"""Reading rules files of Open MPI's component ``tuned`` (formats 1 and 2) exactly as the library does.

The library reads numbers as C's ``%li`` does (decimal, octal and hexadecimal), skips every character that
begins no number, and everything from ``#`` to the end of the line. It reads as many entries as the counts in
the file announce; an error, also a missing entry, makes it ignore the whole file without a word
(coll_tuned_dynamic_file.c of 4.1.4 and 5.0.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

MOST_COLLECTIVES = 22
"""The number of collectives that Open MPI numbers (COLLCOUNT)."""

_VERSION = "rule-file-version-"
_NUMBER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]*|0[0-7]*|[1-9][0-9]*)")
_BLANKS = " \t\n\v\f\r"
_LONG = 2**63


class SizeRule(Struct, frozen=True, kw_only=True):
    """From a message size on: an algorithm by its number, 0 for the library's decision; ``requests`` is None
    where the file does not limit them."""

    line: int
    size: int
    algorithm: int
    fanout: int
    segment_bytes: int
    requests: int | None = None


class ProcessesRule(Struct, frozen=True, kw_only=True):
    """From a communicator size on: the rules by message size."""

    line: int
    p: int
    sizes: list[SizeRule]


class CollectiveRule(Struct, frozen=True, kw_only=True):
    """A collective by its number: the rules by communicator size."""

    line: int
    number: int
    processes: list[ProcessesRule]


class Fault(Struct, frozen=True, kw_only=True):
    """What is wrong, or without effect, in a line."""

    line: int
    message: str

    def __str__(self) -> str:
        """``line 5: ...``."""
        return f"line {self.line}: {self.message}"


class RulesFile(Struct, kw_only=True):
    """The rules of a file. With a ``fault`` the library ignores the whole file, and ``collectives`` are those
    before it. ``skipped_lines`` are lines with characters that are neither numbers nor comments; ``rest`` is
    the first line with numbers that the library does not read, 0 without.
    """

    collectives: list[CollectiveRule] = field(default_factory=list)
    fault: Fault | None = None
    skipped_lines: list[int] = field(default_factory=list)
    rest: int = 0

    def rule_for(self, number: int, p: int, size: int) -> SizeRule | None:
        """The rule that the library finds for a call, with ``size`` as the library computes it; None if it
        has none for the collective, or ignores the file."""
        rules_of_number = [rule for rule in self.collectives if rule.number == number]
        if self.fault or not rules_of_number or not rules_of_number[-1].processes:
            return None
        processes = rules_of_number[-1].processes
        sizes = processes[position([rule.p for rule in processes], p)].sizes
        return sizes[position([rule.size for rule in sizes], size)] if sizes else None


def position(keys: Sequence[int], value: int) -> int:
    """The place of the entry that the library uses for a value: the last before the first larger key; the
    first entry if its own key is larger."""
    result = 0
    for index, key in enumerate(keys):
        if key > value:
            break
        result = index
    return result


def reached_entries(keys: Sequence[int], least: int = 0) -> Iterator[tuple[int, int, int | None]]:
    """(place, first value, last value) of each entry that some value of at least ``least`` reaches; the last
    value is None for the last entry."""
    first = least
    for index, key in enumerate(keys):
        first = max(first, key) if index else least
        last = keys[index + 1] - 1 if index + 1 < len(keys) else None
        if index == 0 and last is not None:
            last = max(last, key - 1)  # the first entry also serves all smaller values
        if last is None or first <= last:
            yield index, first, last
        first = max(first, key)


def read_rules(content: bytes, *, knows_version_2: bool) -> RulesFile:
    """The rules of a file's content, as a library reads them that knows version 2 of the format or not."""
    rules = RulesFile()
    numbers = _Numbers(content.decode("latin-1"))
    has_requests = knows_version_2 and numbers.version() > 1
    try:
        _read(numbers, rules.collectives, has_requests=has_requests)
    except _Wrong as wrong:
        rules.fault = Fault(line=numbers.line, message=str(wrong))
    rules.skipped_lines = sorted(numbers.skipped_lines)
    if rules.fault is None:
        rules.rest = numbers.next_line()
    return rules


class _Wrong(Exception):
    """Why the library ignores the file."""


class _Numbers:
    """The numbers of a text, in the order in which the library reads them; ``line`` is that of the last."""

    def __init__(self, text: str) -> None:
        self.line = 1
        self.skipped_lines: set[int] = set()
        self._text = text
        self._position = 0
        self._current_line = 1

    def version(self) -> int:
        """The version in the first characters of the file, 1 without."""
        common = 0
        while common < len(_VERSION) and self._text[common : common + 1] == _VERSION[common]:
            common += 1
        match = re.compile(r"[ \t\n\v\f\r]*\+?([0-9]+)").match(self._text, common)
        if common < len(_VERSION) or match is None:
            self._move(common)
            return 1
        self._move(match.end())
        return int(match[1])

    def count(self, meaning: str) -> int:
        """The next number, which must not be negative; ``meaning`` it is, for the message."""
        number = self._next()
        if number is None:
            raise _Wrong(f"the file ends, and {meaning} is missing")
        if number < 0:
            raise _Wrong(f"{number} is {meaning}, which cannot be negative")
        return number

    def digit_follows(self) -> bool:
        """Whether the next character on this line, except blanks, is a digit."""
        while self._text[self._position : self._position + 1] in (" ", "\t"):
            self._position += 1
        return self._text[self._position : self._position + 1].isdigit()

    def next_line(self) -> int:
        """The line of the next number, 0 if there is none."""
        return self.line if self._next() is not None else 0

    def _next(self) -> int | None:
        while True:
            while self._position < len(self._text) and self._text[self._position] in _BLANKS:
                self._move(self._position + 1)
            self.line = self._current_line
            if self._position == len(self._text):
                return None
            match = _NUMBER.match(self._text, self._position)
            if match:
                self._move(match.end())
                return _value(match[0])
            self._skip()

    def _skip(self) -> None:
        """Skip a character that begins no number, a sign with what follows it, or a comment."""
        if self._text[self._position] in "+-":
            self.skipped_lines.add(self._current_line)
            self._move(self._position + 1)
        character = self._text[self._position : self._position + 1]
        if character == "#":
            end = self._text.find("\n", self._position)
            self._move(len(self._text) if end < 0 else end + 1)
        elif character:
            self.skipped_lines.add(self._current_line)
            self._move(self._position + 1)

    def _move(self, new_position: int) -> None:
        self._current_line += self._text.count("\n", self._position, new_position)
        self._position = new_position


def _value(text: str) -> int:
    """A number as C reads it, within the range of ``long``."""
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        value = int(digits[2:] or "0", 16)
    else:
        value = int(digits, 8 if digits[0] == "0" else 10)
    return max(-_LONG, min(_LONG - 1, sign * value))


def _as_int(value: int) -> int:
    """A number that the library stores in a C ``int``."""
    return (value + 2**31) % 2**32 - 2**31


def _read(numbers: _Numbers, collectives: list[CollectiveRule], *, has_requests: bool) -> None:
    count = numbers.count("the number of collectives")
    count_text = f"{count} (announced in line {numbers.line})"
    if count > MOST_COLLECTIVES:
        raise _Wrong(f"{count} collectives are announced, and Open MPI numbers {MOST_COLLECTIVES}")
    for index in range(count):
        number = numbers.count(f"collective {index + 1} of {count_text}")
        if number >= MOST_COLLECTIVES:
            raise _Wrong(f"{number} is no collective's number, which is 0 to {MOST_COLLECTIVES - 1}")
        rule = CollectiveRule(line=numbers.line, number=number, processes=[])
        collectives.append(rule)
        sizes = numbers.count(f"the number of communicator sizes of collective {number}")
        sizes_line = numbers.line
        for size_index in range(sizes):
            meaning = f"communicator size {size_index + 1} of {sizes} (announced in line {sizes_line})"
            p = _as_int(numbers.count(meaning))
            by_size = ProcessesRule(line=numbers.line, p=p, sizes=[])
            rule.processes.append(by_size)
            _read_sizes(numbers, by_size.sizes, has_requests=has_requests)


def _read_sizes(numbers: _Numbers, sizes: list[SizeRule], *, has_requests: bool) -> None:
    count = numbers.count("the number of message sizes")
    count_text = f"{count} (announced in line {numbers.line})"
    for index in range(count):
        size = numbers.count(f"message size {index + 1} of {count_text}")
        line = numbers.line
        of_size = f"of message size {index + 1} of {count_text}"
        algorithm = numbers.count(f"the algorithm {of_size}")
        fanout = numbers.count(f"the fan-out {of_size}")
        segment = numbers.count(f"the segment size {of_size}")
        requests = (
            numbers.count("the limit of requests") if has_requests and numbers.digit_follows() else None
        )
        if index == 0 and size:
            raise _Wrong(f"the first message size must be 0, and it is {size}")
        sizes.append(
            SizeRule(
                line=line,
                size=size,
                algorithm=_as_int(algorithm),
                fanout=_as_int(fanout),
                segment_bytes=_as_int(segment),
                requests=requests,
            )
        )
