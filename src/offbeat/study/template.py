"""The study file that ``offbeat init`` writes: valid as it is, with every key of the schema explained."""

from __future__ import annotations

import textwrap
from typing import Any

import msgspec
import tomlkit
from msgspec import NODEFAULT, inspect

from offbeat.study.choices import choices
from offbeat.study.schema import Study
from offbeat.units import format_size, format_time

HEAD = (
    "A study for offbeat: what is measured, and how. 'offbeat run FILE' does it, 'offbeat run FILE --dry-run'"
    " says what would be done. Lines that begin with '#' and a key show a default or an example; take the '#'"
    ' away to change it. Sizes are bytes or text such as "64 KiB", times seconds or text such as "100 us".'
)

WRITTEN: dict[str, Any] = {
    "name": "study",
    "collective.names": ["reduce", "allreduce", "alltoall"],
    "collective.sizes": ["8 B", "1 KiB", "64 KiB"],
    "collective.algorithms": ["all"],
    "processes.p": [4],
    "patterns.shapes": [
        "no_delay",
        "ascending",
        "descending",
        "first_delayed",
        "last_delayed",
        "mid_delayed",
        "random",
    ],
    "skew.policy": "mean",
    "skew.factors": [1.5],
    "repetitions.minimum": 10,
    "repetitions.maximum": 100,
}
"""Keys that the template sets; all others stand there as comments."""

EXAMPLES: dict[str, Any] = {
    "processes.nodes": [2, 4],
    "processes.ppn": [32],
    "patterns.files": ["application.txt"],
    "skew.times": ["100 us", "1 ms"],
    "mpi.hostfile": "hosts.txt",
    "mpi.options": ["--bind-to", "core"],
    "mpi.environment": {"OMP_NUM_THREADS": "1"},
}
"""What the commented keys show where the default would be empty."""


def template() -> str:
    """The text, made from the schema so that it can't drift from it."""
    kind = inspect.type_info(Study)
    assert isinstance(kind, inspect.StructType)
    plain = [field for field in kind.fields if _section(field) is None]
    blocks = [_comment(HEAD), *(_entry(field, field.encode_name) for field in plain)]
    for field in kind.fields:
        section = _section(field)
        if section is not None:
            blocks.append(_section_text(field, section))
    return "\n\n".join(blocks) + "\n"


def _section(field: inspect.Field) -> inspect.StructType | None:
    """The table that a field of the study holds, or a list of."""
    kind = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
    inner = kind.item_type if isinstance(kind, inspect.ListType) else kind
    return inner if isinstance(inner, inspect.StructType) else None


def _section_text(field: inspect.Field, section: inspect.StructType) -> str:
    """A table with its purpose, its header and its keys."""
    is_list = section is not field.type
    header = f"[[{field.encode_name}]]" if is_list else f"[{field.encode_name}]"
    more = " There may be several of these sections." if is_list else ""
    purpose = _comment((section.cls.__doc__ or "").replace("``", "") + more)
    entries = [_entry(inner, f"{field.encode_name}.{inner.encode_name}") for inner in section.fields]
    return "\n".join([purpose, header, *entries])


def _entry(field: inspect.Field, name: str) -> str:
    """A key with its description; a comment unless the template sets it."""
    metadata = field.type if isinstance(field.type, inspect.Metadata) else None
    described = (metadata.extra_json_schema or {}).get("description", "") if metadata else ""
    described += _known(metadata)
    if name in WRITTEN:
        line = f"{field.encode_name} = {_toml(WRITTEN[name])}"
    else:
        line = f"#{field.encode_name} = {_toml(EXAMPLES.get(name, _default(field)))}"
    return f"{_comment(described)}\n{line}"


def _known(metadata: inspect.Metadata | None) -> str:
    """The words that a list may hold, where the schema knows them."""
    kind = metadata.type.item_type if metadata and isinstance(metadata.type, inspect.ListType) else None
    noun = (kind.extra or {}).get("choice") if isinstance(kind, inspect.Metadata) else None
    return f": {', '.join(choices(noun))}" if noun else ""


def _default(field: inspect.Field) -> Any:
    """A field's default; sizes and times as text with a unit."""
    default = field.default_factory() if field.default is NODEFAULT else field.default
    unit = (field.type.extra or {}).get("unit") if isinstance(field.type, inspect.Metadata) else None
    if unit == "seconds":
        return format_time(default)
    return format_size(default) if unit == "bytes" else msgspec.to_builtins(default)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return tomlkit.item(value).as_string()


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in textwrap.wrap(text, 98))


TEMPLATE = template()
"""The commented study file that ``offbeat init`` writes."""
