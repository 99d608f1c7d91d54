"""The commented file for a new user, generated from the schema."""

from __future__ import annotations

import textwrap
from typing import Any

import msgspec
import tomlkit
from msgspec import NODEFAULT, Struct, inspect

from offbeat.base.toml.quantities import UNITS
from offbeat.base.toml.structure import Form, heading_of, table_of


class Template(Struct, frozen=True, kw_only=True):
    """The parts of a template that are not in the schema.

    ``head`` is its introduction. ``settings`` are the keys that it sets, by dotted name; all others are
    comments with their default, or with their value in ``examples``.
    """

    form: Form
    head: str
    settings: dict[str, Any]
    examples: dict[str, Any] = {}

    def text(self) -> str:
        """The file."""
        kind = self.form.structure()
        tables = [(field, table_of(field.type)) for field in kind.fields]
        blocks = [comment(self.head)]
        blocks += [self._entry(field, field.encode_name) for field, section in tables if section is None]
        blocks += [self._section_text(field, section) for field, section in tables if section is not None]
        return "\n\n".join(blocks) + "\n"

    def _section_text(self, field: inspect.Field, section: inspect.StructType) -> str:
        header = heading_of(field)
        more = ""
        if header.startswith("[["):
            more = " There may be several of these sections."
            if not any(name.startswith(f"{field.encode_name}.") for name in self.settings):
                header = f"#{header}"  # without its required keys the section would be a fault
        purpose = comment((section.cls.__doc__ or "").replace("``", "") + more)
        entries = [self._entry(inner, f"{field.encode_name}.{inner.encode_name}") for inner in section.fields]
        return "\n".join([purpose, header, *entries])

    def _entry(self, field: inspect.Field, name: str) -> str:
        """A key with its description; a comment unless the template sets it."""
        metadata = field.type if isinstance(field.type, inspect.Metadata) else None
        description = (metadata.extra_json_schema or {}).get("description", "") if metadata else ""
        description += self._choices(metadata)
        if name in self.settings:
            line = f"{field.encode_name} = {_toml(self.settings[name])}"
        else:
            example = self.examples[name] if name in self.examples else _default(field)
            line = f"#{field.encode_name} = {_toml(example)}"
        return f"{comment(description)}\n{line}"

    def _choices(self, metadata: inspect.Metadata | None) -> str:
        """The words for a list, if the schema lists them."""
        kind = metadata.type.item_type if metadata and isinstance(metadata.type, inspect.ListType) else None
        noun = (kind.extra or {}).get("choice") if isinstance(kind, inspect.Metadata) else None
        return f": {', '.join(self.form.vocabulary[noun].choices)}" if noun else ""


def comment(text: str) -> str:
    """Text as TOML comments of at most 100 columns."""
    return "\n".join(f"# {line}" for line in textwrap.wrap(text, 98))


def _default(field: inspect.Field) -> Any:
    """A field's default; quantities as text with a unit."""
    default = field.default_factory() if field.default is NODEFAULT else field.default
    unit = (field.type.extra or {}).get("unit") if isinstance(field.type, inspect.Metadata) else None
    return UNITS[unit].format(default) if unit else msgspec.to_builtins(default)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return tomlkit.item(value).as_string()
