"""The complete study, as it is kept beside its results, and what differs between two."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec
import tomlkit

from offbeat.errors import BadInput
from offbeat.study.schema import Study

NOT_MEASURED = ("name",)
"""Keys that alter neither the cases nor how they are measured."""


def resolved_toml(study: Study) -> str:
    """A study with every default written out, sizes in bytes and times in seconds.

    Loads back to an equal study. The key that its skew policy doesn't use is left out, as a study file must.
    """
    values = msgspec.to_builtins(study)
    values["skew"].pop("factors" if study.skew.policy == "fixed" else "times")
    document = tomlkit.document()
    document.add(tomlkit.comment("The whole study with every default; sizes in bytes, times in seconds."))
    for name, value in sorted(values.items(), key=lambda item: isinstance(item[1], dict | list)):
        document.add(name, tomlkit.item(value))
    return tomlkit.dumps(document)


def read_resolved(text: str) -> Study:
    """The study of a text that :func:`resolved_toml` wrote; its files are not looked for.

    Raises :class:`BadInput` when it is something else.
    """
    try:
        return msgspec.convert(tomllib.loads(text), Study)
    except (ValueError, RecursionError) as error:  # of TOML, and of the study's form
        raise BadInput(
            f"study.toml beside the results is no study as offbeat keeps it ({error}); put it back from"
            " a copy, or measure into another directory with --output"
        ) from None


def changed_keys(old: Study, new: Study) -> list[str]:
    """The dotted keys in which two studies differ, without those that change nothing measured (the name)."""
    before, after = msgspec.to_builtins(old), msgspec.to_builtins(new)
    for name in NOT_MEASURED:
        before.pop(name)
        after.pop(name)
    return list(_differences(before, after, ""))


def _differences(old: Any, new: Any, key: str) -> list[str]:
    """Dotted keys below ``key`` with different values; lists differ as a whole, unless they hold tables."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(dict.fromkeys([*old, *new]))
        inner = [(old.get(name), new.get(name), f"{key}.{name}".lstrip(".")) for name in names]
    elif _are_tables(old) and _are_tables(new) and len(old) == len(new):
        inner = [
            (one, other, f"{key}[{index}]") for index, (one, other) in enumerate(zip(old, new, strict=True))
        ]
    else:
        return [] if old == new else [key]
    return [found for one, other, place in inner for found in _differences(one, other, place)]


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
