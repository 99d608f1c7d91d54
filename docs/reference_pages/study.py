"""The page of the study file, from the structures that it is read into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tomlkit
from markdown import code, prose, sentence, table
from msgspec import NODEFAULT, inspect

from offbeat.study.choices import choices
from offbeat.study.schema import Study
from offbeat.units import SIZE_UNITS, TIME_UNITS, format_size, format_time

SOURCE = "src/offbeat/study/schema.py"

HEAD = """# The study file

A study file is TOML. `offbeat init` writes one with every key explained; `offbeat run` refuses a file with an
unknown key, a wrong type or an impossible value whole, with the line, before anything is launched. Editors
that understand JSON Schema can use [study.schema.json](study.schema.json) (`offbeat schema` prints it).

Sizes are whole numbers of bytes or text with a unit: {sizes}. Times are seconds or text with a unit: {times}.
"""

KINDS = {
    inspect.StrType: "text",
    inspect.IntType: "whole number",
    inspect.FloatType: "number",
    inspect.BoolType: "true or false",
}


def sections() -> Iterator[tuple[str, inspect.StructType, bool]]:
    """Every table of a study file: name, structure, and whether it may be there several times."""
    top = inspect.type_info(Study)
    assert isinstance(top, inspect.StructType)
    yield "", top, False
    for field in top.fields:
        section = section_of(field)
        if section is not None:
            yield field.encode_name, section, isinstance(_bare(field.type), inspect.ListType)


def section_of(field: inspect.Field) -> inspect.StructType | None:
    """The table that a key of the study holds, or a list of which it holds."""
    bare = _bare(field.type)
    inner = _bare(bare.item_type) if isinstance(bare, inspect.ListType) else bare
    return inner if isinstance(inner, inspect.StructType) else None


def page() -> str:
    """The whole page."""
    head = HEAD.format(sizes=_words(SIZE_UNITS), times=_words(TIME_UNITS))
    return "\n".join([head, *(_section(*entry) for entry in sections())])


def _section(name: str, section: inspect.StructType, several: bool) -> str:
    title = "## At the top" if not name else f"## [[{name}]]" if several else f"## [{name}]"
    purpose = "Keys before the first table." if not name else prose(section.cls.__doc__)
    more = " There may be several of these tables." if several else ""
    rows = [
        (code(field.encode_name), _kind(field.type), _default(field), _meaning(field))
        for field in section.fields
        if section_of(field) is None
    ]
    return "\n".join([f"{title}\n", f"{purpose}{more}\n", table(("key", "type", "default", "meaning"), rows)])


def _words(words: Any) -> str:
    return ", ".join(code(str(word)) for word in words)


def _bare(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _kind(kind: inspect.Type) -> str:
    """A type in words."""
    extra = kind.extra or {} if isinstance(kind, inspect.Metadata) else {}
    if "unit" in extra:
        return {"bytes": "size", "seconds": "time"}[extra["unit"]]
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
    if unit == "seconds":
        return code(f'"{format_time(value)}"')
    return code(f'"{format_size(value)}"' if unit == "bytes" else tomlkit.item(value).as_string())


def _meaning(field: inspect.Field) -> str:
    if not isinstance(field.type, inspect.Metadata):
        return ""
    described = (field.type.extra_json_schema or {}).get("description", "")
    bare = field.type.type
    item = bare.item_type if isinstance(bare, inspect.ListType) else None
    noun = (item.extra or {}).get("choice") if isinstance(item, inspect.Metadata) else None
    return sentence(described) + (f": {_words(choices(noun))}" if noun else "")
