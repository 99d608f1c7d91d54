"""Checks of a file against its schema: known keys, and values of the right type, unit and range.

The checks follow the type annotations of the schema, so that a key that is added there is checked here. The
owner of the schema checks the values against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import INVALID, Faults, KeyFault, Tree, Vocabulary, hint, unknown
from offbeat.base.toml.lines import Key
from offbeat.base.toml.quantities import UNITS

_NUL = "the text holds the character NUL, which no file, program or variable can be named with; take it out"


class Form(Struct, frozen=True):
    """The schema of a file: the structure of its keys, and the lists of words for them."""

    kind: type[Struct]
    vocabulary: Vocabulary = {}

    def structure(self) -> inspect.StructType:
        """The keys with their types."""
        info = inspect.type_info(self.kind)
        assert isinstance(info, inspect.StructType)
        return info

    def sections(self) -> dict[str, list[str]]:
        """Heading of a table (``[patterns]``, ``[[collective]]``, or the file's beginning) → its keys."""
        keys_by_heading: dict[str, list[str]] = {}
        _list_sections(self.structure(), heading(()), keys_by_heading)
        return keys_by_heading


def read(raw: dict[str, Any], form: Form, faults: Faults) -> Tree:
    """The file as plain values with every default filled in; values with a fault become INVALID."""
    return _Reader(form, faults).table(raw, form.structure(), ())


def structure_of(
    raw: Tree, form: Form, check_values: Callable[[Tree, Tree, Faults], None]
) -> tuple[Any, list[KeyFault]]:
    """Returns the structure that plain values describe, and their faults; with faults, None in its place.

    ``check_values`` adds the faults of values that contradict each other, from the values with every default
    filled in and from those without.
    """
    faults = Faults()
    tree = read(raw, form, faults)
    check_values(tree, raw, faults)
    return None if faults else msgspec.convert(tree, form.kind), faults.entries


def stated_keys(section: Struct) -> Tree:
    """Returns the keys of a structure that its file would state, as plain values: those that differ from
    their defaults, and those without default."""
    kind = inspect.type_info(type(section))
    assert isinstance(kind, inspect.StructType)
    return _keys_of_table(kind, section)


def _keys_of_table(kind: inspect.StructType, section: Struct) -> Tree:
    keys: Tree = {}
    for field in kind.fields:
        value = getattr(section, field.name)
        if table := table_of(field.type):
            is_list = isinstance(value, list)
            tables = (
                [_keys_of_table(table, item) for item in value] if is_list else _keys_of_table(table, value)
            )
            if tables:
                keys[field.encode_name] = tables
            continue
        is_made = field.default is NODEFAULT and not field.required
        if field.required or value != (field.default_factory() if is_made else field.default):
            keys[field.encode_name] = value
    return keys


def table_of(kind: inspect.Type) -> inspect.StructType | None:
    """The table that a key of this type holds, or a list of; None for other keys."""
    inner = kind.type if isinstance(kind, inspect.Metadata) else kind
    inner = inner.item_type if isinstance(inner, inspect.ListType) else inner
    return inner if isinstance(inner, inspect.StructType) else None


def heading_of(field: inspect.Field) -> str:
    """The heading of the table that a key holds, or a list of: ``[patterns]``, ``[[collective]]``."""
    is_one = isinstance(field.type, inspect.StructType)
    return f"[{field.encode_name}]" if is_one else f"[[{field.encode_name}]]"


def heading(key: Key) -> str:
    """The heading of the table at a key."""
    if not key:
        return "the file's beginning"
    return f"[[{key[0]}]]" if isinstance(key[-1], int) else f"[{'.'.join(map(str, key))}]"


class _Reader:
    def __init__(self, form: Form, faults: Faults) -> None:
        self._form = form
        self._faults = faults

    def check(self, value: Any, kind: inspect.Type, key: Key) -> Any:
        """A value, converted to the type of the schema; INVALID if it has a fault."""
        extra: dict[str, Any] = {}
        if isinstance(kind, inspect.Metadata):
            extra, kind = kind.extra or {}, kind.type
        try:
            if isinstance(kind, inspect.StructType):
                return self.table(_of_type(value, dict, "a table of keys"), kind, key)
            if isinstance(kind, inspect.ListType):
                return self.entries(value, kind, key)
            if isinstance(kind, inspect.DictType):
                return self.texts(_of_type(value, dict, "a table of texts"), key)
            if isinstance(kind, inspect.UnionType):
                return self.union(value, kind, key)
            return self._scalar(value, kind, extra)
        except BadInput as error:
            self._faults.add(key, str(error))
            return INVALID

    def table(self, raw: dict[str, Any], kind: inspect.StructType, key: Key) -> dict[str, Any]:
        """A table: its known keys, checked, defaults for those not given, and a fault for every other key."""
        fields = {field.encode_name: field for field in kind.fields}
        for name in raw:
            if name not in fields:
                self._faults.add((*key, name), _unknown_key(name, list(fields), key, self._form))
        return {name: self.field(raw, field, (*key, name)) for name, field in fields.items()}

    def field(self, raw: dict[str, Any], field: inspect.Field, key: Key) -> Any:
        if field.encode_name in raw:
            return self.check(raw[field.encode_name], field.type, key)
        if field.required:
            self._faults.add(key, f"this key is missing{_purpose(field)}")
            return INVALID
        default = field.default_factory() if field.default is NODEFAULT else field.default
        return msgspec.to_builtins(default)

    def entries(self, value: Any, kind: inspect.ListType, key: Key) -> list[Any]:
        """A list; a table instead of a list of tables, and a single value, have messages of their own."""
        if isinstance(value, dict) and isinstance(kind.item_type, inspect.StructType):
            raise BadInput(
                f"this is one table, but there may be several; write [[{key[-1]}]] in double brackets"
            )
        if not isinstance(value, list):
            raise BadInput(
                f"{_as_toml(value)} is {_kind(value)}, but this is a list; write [{_as_toml(value)}]"
            )
        if kind.min_length and len(value) < kind.min_length:
            raise BadInput("the list is empty; it needs at least one entry")
        return [self.check(item, kind.item_type, (*key, index)) for index, item in enumerate(value)]

    def texts(self, value: dict[str, Any], key: Key) -> dict[str, Any]:
        """A table of texts, such as environment variables."""
        for name, text in value.items():
            if not isinstance(text, str):
                remedy = f'write it in quotation marks: {name} = "{_as_toml(text)}"'
                self._faults.add(
                    (*key, name), f"{_as_toml(text)} is {_kind(text)}, but must be text; {remedy}"
                )
            elif "\0" in text:
                self._faults.add((*key, name), _NUL)
        return {name: text if isinstance(text, str) else INVALID for name, text in value.items()}

    def union(self, value: Any, kind: inspect.UnionType, key: Key) -> Any:
        """A word such as 'auto', or something else."""
        literals = [option for option in kind.types if isinstance(option, inspect.LiteralType)]
        choices = [word for literal in literals for word in literal.values]
        if value in choices:
            return value
        (alternative,) = (option for option in kind.types if not isinstance(option, inspect.LiteralType))
        if isinstance(value, str) and not any(character.isdigit() for character in value):
            has_unit = isinstance(alternative, inspect.Metadata) and "unit" in (alternative.extra or {})
            number = "a number with a unit" if has_unit else "a whole number"
            raise BadInput(f"{value!r} is neither {' nor '.join(map(repr, choices))} nor {number}")
        return self.check(value, alternative, key)

    def _scalar(self, value: Any, kind: inspect.Type, extra: dict[str, Any]) -> Any:
        """A number, text or word within its range."""
        if "unit" in extra:
            unit = UNITS[extra["unit"]]
            value = unit.parse(_of_type(value, unit.types, unit.expectation))
        elif isinstance(kind, inspect.IntType):
            value = _of_type(value, int, "a whole number")
        elif isinstance(kind, inspect.FloatType):
            value = _double(_of_type(value, (int, float), "a number"))
        elif isinstance(kind, inspect.BoolType):
            value = _of_type(value, bool, "true or false")
        else:
            value = _of_type(value, str, "text in quotation marks")
            if "\0" in value:
                raise BadInput(_NUL)
        self._refuse_unknown(value, kind, extra)
        _refuse_outside(value, kind)
        return value

    def _refuse_unknown(self, value: Any, kind: inspect.Type, extra: dict[str, Any]) -> None:
        """Raise BadInput for a word that is not in the lists of the schema or its vocabulary."""
        vocabulary = self._form.vocabulary[extra["choice"]] if "choice" in extra else None
        if vocabulary and value not in vocabulary.choices:
            raise BadInput(unknown(value, vocabulary.phrase, vocabulary.choices))
        if isinstance(kind, inspect.LiteralType) and value not in kind.values:
            raise BadInput(unknown(value, "known here", [str(word) for word in kind.values]))


def _refuse_outside(value: Any, kind: inspect.Type) -> None:
    """Raise BadInput for numbers outside the range of the schema, and for non-finite ones."""
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        return
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"{value} is not a finite number")
    if kind.ge is not None and value < kind.ge:
        raise BadInput(f"{value} is too small; it must be {kind.ge} or more")
    if kind.gt is not None and value <= kind.gt:
        raise BadInput(f"{value} is too small; it must be more than {kind.gt}")
    if kind.le is not None and value > kind.le:
        raise BadInput(f"{value} is too large; it must be {kind.le} or less")
    if kind.lt is not None and value >= kind.lt:
        raise BadInput(f"{value} is too large; it must be less than {kind.lt}")


def _double(value: int | float) -> float:
    """A number as a double; TOML's whole numbers may have more digits than a double can hold."""
    try:
        return float(value)
    except OverflowError:
        raise BadInput(f"{value} is too large; it must be less than 1.8e308") from None


def _of_type(value: Any, types: type | tuple[type, ...], expectation: str) -> Any:
    """The value, if it has one of the types; TOML's true and false are not numbers."""
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        raise BadInput(f"{_as_toml(value)} is {_kind(value)}, but this must be {expectation}")
    return value


def _unknown_key(name: str, key_names: list[str], key: Key, form: Form) -> str:
    """The message for an unknown key, with the table that has such a key."""
    owners = [title for title, keys in form.sections().items() if name in keys]
    message = f"{name!r} is not a key of {heading(key)}"
    if owners:
        return f"{message}; it belongs to {' or '.join(owners)}"
    return f"{message}{hint(name, key_names)}"


def _purpose(field: inspect.Field) -> str:
    """The description of a missing key in the schema."""
    table = table_of(field.type)
    if table:
        return f"; add a section {heading_of(field)}: {(table.cls.__doc__ or '').splitlines()[0]}"
    extra_schema = field.type.extra_json_schema if isinstance(field.type, inspect.Metadata) else None
    return f": {extra_schema['description']}" if extra_schema else ""


def _kind(value: Any) -> str:
    names: dict[type, str] = {
        bool: "true or false",
        int: "a whole number",
        float: "a decimal number",
        str: "text",
        list: "a list",
        dict: "a table",
        type(None): "no value",
    }
    return names.get(type(value), "a date or time")


def _as_toml(value: Any) -> str:
    """A value as TOML, shortened if it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _list_sections(kind: inspect.StructType, title: str, keys_by_heading: dict[str, list[str]]) -> None:
    keys_by_heading[title] = [field.encode_name for field in kind.fields]
    for field in kind.fields:
        table = table_of(field.type)
        if table:
            _list_sections(table, heading_of(field), keys_by_heading)
