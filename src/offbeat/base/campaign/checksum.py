"""Checksums of lines and of JSON documents; :mod:`offbeat.measurement.results.parts` has those of tables.

They detect changed, lost and inserted bytes, not forgery: whoever can write a result directory can also
compute a checksum.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

KEY = "checksum"
"""The last key of each line and document."""

_CHECKSUM = re.compile(rb',?"checksum":"([0-9a-f]{16})"\}')
_CHECKSUM_BYTES = len(b',"checksum":"0123456789abcdef"}')


class ChecksumError(ValueError):
    """Data that do not match their checksum; the message is the reason."""


def digest(data: bytes | memoryview) -> str:
    """The checksum of some bytes: 16 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def add_checksum(line: bytes) -> bytes:
    """A JSON object (without a line end) with its checksum as last key."""
    comma = b"," if len(line) > len(b"{}") else b""
    return line[:-1] + comma + b'"checksum":"' + digest(line).encode() + b'"}'


def remove_checksum(line: bytes) -> bytes:
    """The JSON object without the checksum of :func:`add_checksum`. Raises :class:`ChecksumError`."""
    match = _CHECKSUM.search(line, max(0, len(line) - _CHECKSUM_BYTES))
    if match is None or match.end() != len(line):
        raise ChecksumError("there is no checksum at its end")
    content = line[: match.start()] + b"}"
    if digest(content).encode() != match[1]:
        raise ChecksumError("its checksum does not match")
    return content


def document_with_checksum(content: Mapping[str, object]) -> bytes:
    """An indented JSON document with its checksum as last key."""
    values = {key: value for key, value in content.items() if key != KEY}
    document = values | {KEY: digest(msgspec.json.encode(values))}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def check_document(content: Mapping[str, Any]) -> dict[str, Any]:
    """A decoded document without its checksum. Raises :class:`ChecksumError` if it is missing or wrong."""
    values = {key: value for key, value in content.items() if key != KEY}
    if KEY not in content:
        raise ChecksumError("there is no checksum in it")
    if digest(msgspec.json.encode(values)) != content[KEY]:
        raise ChecksumError("its checksum does not match")
    return values
