"""The simulator's algorithms as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec
from rich.table import Table
from rich.text import Text

from offbeat.algorithm.subject import Listed


def table(entries: Sequence[Listed]) -> Table:
    """A row an algorithm; collective and family where they begin."""
    shown = Table(box=None, pad_edge=False)
    for heading in ("collective", "family", "algorithm"):
        shown.add_column(heading, no_wrap=True)
    shown.add_column("combines in", no_wrap=True)
    shown.add_column("parameters and their defaults", overflow="fold")
    for (collective, family), group in groupby(entries, key=lambda entry: (entry.collective, entry.family)):
        for index, entry in enumerate(group):
            first = (collective, family) if index == 0 else ("", "")
            values = ", ".join(f"{name}={value}" for name, value in entry.parameters)
            shown.add_row(*first, Text(entry.name), "rank order" if entry.ordered else "", values)
    return shown


def encoded(entries: Sequence[Listed]) -> str:
    """The same as JSON: a list of objects."""
    plain = [
        {
            "collective": entry.collective,
            "family": entry.family,
            "name": entry.name,
            "parameters": {
                name: {"default": value, "smallest": smallest}
                for (name, value), smallest in zip(entry.parameters, entry.smallest, strict=True)
            },
            "ordered": entry.ordered,
            "scales": entry.scales,
        }
        for entry in entries
    ]
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()
