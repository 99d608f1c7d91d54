"""Every document of ``--json`` fits its published schema.

Documents are drawn from their structures here; those that commands write in all tests are validated by the
fixture ``published_schemas``.
"""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import inspect
from test_output import commands, option
from typer.testing import CliRunner

from offbeat.base.json_document import (
    SCHEMA_VERSION,
    VERSION_KEY,
    encode_document,
    meanings,
    purpose,
    structures,
)
from offbeat.cli.app import build
from offbeat.cli.documents import STRUCTURES, schema_text, structures_of

SCALARS: dict[type, st.SearchStrategy[Any]] = {
    inspect.StrType: st.text(max_size=3),
    inspect.IntType: st.integers(-9, 2**62),
    inspect.FloatType: st.floats(),
    inspect.BoolType: st.booleans(),
    inspect.NoneType: st.none(),
    inspect.DateTimeType: st.datetimes(timezones=st.just(UTC)),
    inspect.CustomType: st.just(Path("/there")),
}


def drawn(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a type."""
    if type(kind) in SCALARS:
        return SCALARS[type(kind)]
    if isinstance(kind, inspect.Metadata):
        return drawn(kind.type)
    if isinstance(kind, inspect.StructType):
        return st.builds(kind.cls, **{field.name: drawn(field.type) for field in kind.fields})
    if isinstance(kind, inspect.TupleType):
        return st.tuples(*map(drawn, kind.item_types))
    if isinstance(kind, inspect.DictType):
        return st.dictionaries(drawn(kind.key_type), drawn(kind.value_type), max_size=2)
    if isinstance(kind, inspect.LiteralType):
        return st.sampled_from(kind.values)
    if isinstance(kind, inspect.UnionType):
        return st.one_of(*map(drawn, kind.types))
    assert isinstance(kind, inspect.ListType | inspect.VarTupleType | inspect.CollectionType), kind
    return st.lists(drawn(kind.item_type), max_size=2)


def test_every_command_with_json_has_a_schema() -> None:
    assert set(STRUCTURES) == {name for name, command in commands() if option(command, "--json")}


@pytest.mark.parametrize("command", {places: name for name, places in STRUCTURES.items()}.values())
def test_whatever_a_document_holds_fits_its_schema(command: str) -> None:
    schema = json.loads(schema_text(command))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)

    @settings(max_examples=5, phases=[Phase.explicit, Phase.generate])
    @given(st.one_of(*(drawn(inspect.type_info(kind)) for kind in structures_of(command))))
    def fits(document: msgspec.Struct) -> None:
        plain = json.loads(encode_document(document))
        validator.validate(plain)
        assert plain[VERSION_KEY] == SCHEMA_VERSION
        del plain[VERSION_KEY]
        assert not validator.is_valid(plain)

    fits()


def test_every_structure_of_a_document_says_what_it_is() -> None:
    for command in STRUCTURES:
        for kind in structures_of(command):
            for structure in structures(kind):
                assert purpose(structure), structure.cls


def test_a_key_is_explained_by_the_sentence_that_begins_with_it() -> None:
    (structure,) = structures(structures_of("program times")[0])[:1]
    assert meanings(structure)["skew_s"] == "In seconds."
    assert meanings(structure)["basis"] == "``basis`` are sentences on what its times rest on."


def test_the_schema_of_a_command_can_be_printed(tmp_path: Path) -> None:
    done = CliRunner().invoke(build(), ["schema", "trace", "summary"])
    assert json.loads(done.stdout)["title"] == "offbeat trace summary --json"
    assert (
        CliRunner().invoke(build(), ["schema", "trace summary", "-o", str(tmp_path / "s.json")]).exit_code
        == 0
    )
    refused = CliRunner().invoke(build(), ["schema", "export"])
    assert "'export' has no document" in str(refused.exception)
