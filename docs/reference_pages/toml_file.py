"""The page of a TOML file that users write, from the structures into which it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tomlkit
from markdown import code, prose, sentence, table
from msgspec import NODEFAULT, inspect

from offbeat.base.toml.quantities import UNITS
from offbeat.base.toml.structure import Form

KINDS = {
    inspect.StrType: "text",
    inspect.IntType: "whole number",
    inspect.FloatType: "number",
    inspect.BoolType: "true or false",
}


def sections(form: Form) -> Iterator[tuple[str, inspect.StructType, bool]]:
    """Every table of a file: name, structure, and whether the file may have several of it."""
    top = form.structure()
    yield "", top, False
    for field in top.fields:
        section = section_of(field)
        if section is not None:
            yield field.encode_name, section, isinstance(_bare(field.type), inspect.ListType)


def section_of(field: inspect.Field) -> inspect.StructType | None:
    """The structure of a key that holds a table or a list of tables, else None."""
    bare = _bare(field.type)
    inner = _bare(bare.item_type) if isinstance(bare, inspect.ListType) else bare
    return inner if isinstance(inner, inspect.StructType) else None


def page_of(head: str, form: Form) -> str:
    """The whole page."""
    return "\n".join([head, *(_section(form, *entry) for entry in sections(form))])


def code_list(listed: Iterable[Any]) -> str:
    """A list of words as inline code."""
    return ", ".join(code(str(word)) for word in listed)


def _section(form: Form, name: str, section: inspect.StructType, several: bool) -> str:
    title = "## Top-level keys" if not name else f"## [[{name}]]" if several else f"## [{name}]"
    purpose = "Keys before the first table." if not name else prose(section.cls.__doc__)
    more = " There may be several of these tables." if several else ""
    rows = [
        (code(field.encode_name), _kind(field.type), _default(field), _meaning(field, form))
        for field in section.fields
        if section_of(field) is None
    ]
    return "\n".join([f"{title}\n", f"{purpose}{more}\n", table(("key", "type", "default", "meaning"), rows)])


def _bare(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _kind(kind: inspect.Type) -> str:
    """A type in words."""
    extra = kind.extra or {} if isinstance(kind, inspect.Metadata) else {}
    if "unit" in extra:
        return UNITS[extra["unit"]].noun
    bare = _bare(kind)
    if isinstance(bare, inspect.ListType):
        return f"list of {_kind(bare.item_type)}"
    if isinstance(bare, inspect.DictType):
        return f"table of {_kind(bare.value_type)}"
    if isinstance(bare, inspect.LiteralType):
        return " or ".join(code(f'"{value}"') for value in bare.values)
    if isinstance(bare, inspect.UnionType):
        return " or ".join(_kind(inner) for inner in bare.types)
    return KINDS[type(bare)]


def _default(field: inspect.Field) -> str:
    if field.required:
        return "required"
    value = field.default_factory() if field.default is NODEFAULT else field.default
    unit = (field.type.extra or {}).get("unit") if isinstance(field.type, inspect.Metadata) else None
    return code(f'"{UNITS[unit].format(value)}"' if unit else tomlkit.item(value).as_string())


def _meaning(field: inspect.Field, form: Form) -> str:
    if not isinstance(field.type, inspect.Metadata):
        return ""
    described = (field.type.extra_json_schema or {}).get("description", "")
    bare = field.type.type
    item = bare.item_type if isinstance(bare, inspect.ListType) else None
    noun = (item.extra or {}).get("choice") if isinstance(item, inspect.Metadata) else None
    return sentence(described) + (f": {code_list(form.vocabulary[noun].choices)}" if noun else "")
