"""Mutations of files: random ones, and ones that an attacker would choose."""

from __future__ import annotations

import random

WORDS = (
    b"",
    b"0",
    b"-1",
    b"1e308",
    b"1e30",
    b"nan",
    b"inf",
    b"-0.0",
    b"9223372036854775808",
    b"1000000000000",
    b"16777216",
    b"null",
    b"true",
    b'""',
    b"[]",
    b"{}",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b"\r",
    b"=",
    b"'''",
    b'"',
    b"../../x",
)
"""Replacements for other bytes."""


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one to four mutations."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(_WAYS)(data, chance)
    return data


def _flip(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(WORDS) + data[at:]


def _replace(data: bytes, chance: random.Random) -> bytes:
    """Replaces a run of bytes, or a number, by a word."""
    at, length = chance.randint(0, len(data)), chance.choice((1, 2, 8, 30))
    while length < 30 and at and data[at - 1 : at].isdigit():
        at -= 1
    return data[:at] + chance.choice(WORDS) + data[at + length :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _repeat(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randint(0, len(data))
    end = min(len(data), begin + chance.choice((1, 10, 200)))
    return data[:end] + data[begin:end] * chance.choice((1, 3, 500)) + data[end:]


def _swap_lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _drop(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + data[at + chance.choice((1, 4, 64)) :]


_WAYS = (_flip, _flip, _insert, _replace, _replace, _cut, _repeat, _swap_lines, _drop)
