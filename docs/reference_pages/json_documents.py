"""The page of the documents that commands write with ``--json``, and their JSON Schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from markdown import code, prose, sentence, table
from msgspec import inspect
from toml_file import KINDS

from offbeat.base.json_document import SCHEMA_VERSION, VERSION_KEY, meanings, purpose, structures
from offbeat.cli.documents import STRUCTURES, schema_file, schema_text, structures_of

SOURCE = "src/offbeat/cli/documents.py and the structures that it names"

FOLDER = "json"
"""The folder of the schemas beside the page."""

HEAD = f"""# JSON documents

`--json FILE` writes what a command prints as a JSON document, `--json -` prints the document in place of the
text. This page lists the keys of each document, in the words of the
[glossary](../explanation/glossary.md). `offbeat schema COMMAND` prints its JSON Schema (draft 2020-12), which
is in the folder `{FOLDER}` beside this page, too.

- Every document is an object with the key {code(VERSION_KEY)}, which is {SCHEMA_VERSION}. The number
  increases when a key is removed or changes its meaning; keys may be added.
- A key that ends in `_s` is a time in seconds, one that ends in `bytes` a size in bytes. Shares and gains are
  fractions: 0.1 is 10%.
- A *number* is null where it is unknown or not finite. Whole numbers and texts are null only where this page
  says so.
"""


def page() -> str:
    """The whole page."""
    groups = {places: command for command, places in reversed(STRUCTURES.items())}
    uses = Counter(found.cls for command in groups.values() for found in _structures(command))
    shared = {cls for cls, number in uses.items() if number > 1}
    rows = [
        (code(f"offbeat {command}"), f"[{file}]({FOLDER}/{file})")
        for command in STRUCTURES
        for file in [schema_file(command)]
    ]
    sections = [_section(command, shared) for command in sorted(groups.values())]
    common = {found.cls: found for command in groups.values() for found in _structures(command)}
    listed = sorted((common[cls] for cls in shared), key=lambda found: found.cls.__name__)
    return "\n".join(
        [
            HEAD,
            table(("command", "schema"), rows),
            *sections,
            "## Structures of several documents\n",
            *map(_structure, listed),
        ]
    )


def schemas() -> Iterator[tuple[str, str]]:
    """File name in the folder of schemas → text of the schema."""
    yield from {schema_file(command): schema_text(command) for command in STRUCTURES}.items()


def _structures(command: str) -> list[inspect.StructType]:
    found = {one.cls: one for kind in structures_of(command) for one in structures(kind)}
    return list(found.values())


def _section(command: str, shared: set[type]) -> str:
    commands = [name for name, places in STRUCTURES.items() if places == STRUCTURES[command]]
    title = ", ".join(code(f"offbeat {name}") for name in commands)
    tops = structures_of(command)
    one_of = " or ".join(f"*{kind.__name__}*" for kind in tops)
    intro = [f"One of the structures {one_of}.\n"] if len(tops) > 1 else []
    parts = [_structure(found) for found in _structures(command) if found.cls not in shared]
    return "\n".join([f"## {title}\n", *intro, *parts])


def _structure(found: inspect.StructType) -> str:
    described = meanings(found)
    rows = [
        (code(field.encode_name), sentence(_kind(field.type)), sentence(prose(described[field.encode_name])))
        for field in found.fields
    ]
    head = f"*{found.cls.__name__}*: {sentence(prose(purpose(found)))}\n"
    return "\n".join([head, table(("key", "type", "meaning"), rows)])


def _kind(kind: inspect.Type) -> str:
    """A type in words; structures by their names."""
    if isinstance(kind, inspect.Metadata):
        return _kind(kind.type)
    if isinstance(kind, inspect.StructType):
        return f"*{kind.cls.__name__}*"
    if isinstance(kind, inspect.ListType | inspect.VarTupleType | inspect.CollectionType):
        return f"list of {_kind(kind.item_type)}"
    if isinstance(kind, inspect.TupleType):
        return f"[{', '.join(map(_kind, kind.item_types))}]"
    if isinstance(kind, inspect.DictType):
        return f"object, {_kind(kind.key_type)} → {_kind(kind.value_type)}"
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(code(f'"{value}"') for value in kind.values)
    if isinstance(kind, inspect.UnionType):
        return " or ".join(_kind(inner) for inner in kind.types)
    if isinstance(kind, inspect.NoneType):
        return "null"
    return KINDS.get(type(kind), "text")
