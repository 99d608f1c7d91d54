"""The simulator's algorithms as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from offbeat.algorithm.subject import Listed
from offbeat.table import FittedTable


def table(entries: Sequence[Listed]) -> FittedTable:
    """A row an algorithm; collective and family where they begin."""
    headings = ["collective", "family", "algorithm", "combines in", "parameters and their defaults"]
    shown = FittedTable(headings, texts=range(len(headings)))
    for (collective, family), group in groupby(entries, key=lambda entry: (entry.collective, entry.family)):
        for index, entry in enumerate(group):
            first = (collective, family) if index == 0 else ("", "")
            values = ", ".join(f"{name}={value}" for name, value in entry.parameters)
            shown.add_row(*first, entry.name, "rank order" if entry.ordered else "", values)
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
