"""Compares each JSON document that commands write in tests with its published schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from msgspec import Struct

from offbeat.base import json_document
from offbeat.cli.documents import STRUCTURES, schema_text, structures_of


@contextmanager
def validated_documents() -> Iterator[None]:
    """In the block, a document that does not fit its schema, or has no schema, is an error."""
    encode = json_document.encode_document

    def encoded(document: Struct) -> bytes:
        content = encode(document)
        _validator(type(document)).validate(json.loads(content))
        return content

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_document, "encode_document", encoded)
        yield


@cache
def _validator(kind: type[Struct]) -> Any:
    from jsonschema import Draft202012Validator  # loads slowly

    name = f"{kind.__module__}:{kind.__name__}"
    command = next(command for command, places in STRUCTURES.items() if name in places)
    assert kind in structures_of(command)
    return Draft202012Validator(json.loads(schema_text(command)))
