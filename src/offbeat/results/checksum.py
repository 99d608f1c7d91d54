"""Checksums that find damage: of a line and of a JSON document. Those of tables: :mod:`row_checksums`.

They protect against flipped, lost and inserted bytes, not against forgery: whoever can write a result
directory can also compute a checksum.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

KEY = "checksum"
"""The last key of a line and of a document."""

_SEAL = re.compile(rb',?"checksum":"([0-9a-f]{16})"\}')
_SEAL_BYTES = len(b',"checksum":"0123456789abcdef"}')


class Damaged(ValueError):
    """Data that do not fit their checksum; the message says how."""


def digest(data: bytes | memoryview) -> str:
    """The checksum of some bytes: 16 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def sealed(line: bytes) -> bytes:
    """A JSON object (without a line end) with its checksum as last key."""
    comma = b"," if len(line) > len(b"{}") else b""
    return line[:-1] + comma + b'"checksum":"' + digest(line).encode() + b'"}'


def unsealed(line: bytes) -> bytes:
    """The JSON object that :func:`sealed` was given. Raises :class:`Damaged`."""
    match = _SEAL.search(line, max(0, len(line) - _SEAL_BYTES))
    if match is None or match.end() != len(line):
        raise Damaged("there is no checksum at its end")
    content = line[: match.start()] + b"}"
    if digest(content).encode() != match[1]:
        raise Damaged("its checksum does not match")
    return content


def sealed_document(content: Mapping[str, object]) -> bytes:
    """A JSON document for people to read too, with its checksum as last key."""
    plain = {key: value for key, value in content.items() if key != KEY}
    whole = plain | {KEY: digest(msgspec.json.encode(plain))}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


def check_document(content: Mapping[str, Any]) -> dict[str, Any]:
    """A decoded document without its checksum. Raises :class:`Damaged` where that is missing or wrong."""
    plain = {key: value for key, value in content.items() if key != KEY}
    if KEY not in content:
        raise Damaged("there is no checksum in it")
    if digest(msgspec.json.encode(plain)) != content[KEY]:
        raise Damaged("its checksum does not match")
    return plain
