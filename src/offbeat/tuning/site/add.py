"""Adding an entry to a knowledge base, or replacing an older measurement of the same study."""

from __future__ import annotations

from pathlib import Path

import msgspec

from offbeat.base.errors import BadInput
from offbeat.tuning.site.directory import changing, write_entry
from offbeat.tuning.site.entry import Entry

ADDED, REPLACED, REWEIGHTED, UNCHANGED, OLDER = "added", "replaced", "reweighted", "unchanged", "older"
"""What became of an entry: ``older`` means that the knowledge base has a newer measurement, which stays."""


def add(directory: Path, entry: Entry, *, keep_weight: bool = False) -> tuple[str, Entry]:
    """Add an entry; returns what became of it, and the entry that is there now.

    The newer measurement of a study stays, so that the order of additions has no effect. ``keep_weight`` says
    that an entry which is there keeps its weight. Raises :class:`BadInput` if the name belongs to another
    study, and what :func:`offbeat.tuning.site.directory.changing` raises.
    """
    with changing(directory, create=True) as site:
        present = next((one for one in site.of_library(entry.library_name) if one.name == entry.name), None)
        if present is None:
            write_entry(site, entry)
            return ADDED, entry
        if not _are_of_one_study(present, entry):
            raise BadInput(
                f"{directory} has an entry '{entry.name}' of {present.library_name} already,"
                f" of {present.origin.program or present.origin.path}: give this one another name with"
                f" --name, or remove that one with 'offbeat site remove {entry.name}'"
            )
        newest = max(present, entry, key=lambda one: one.age)
        weight = present.weight if keep_weight else entry.weight
        now = msgspec.structs.replace(newest, weight=weight)
        if now != present:
            write_entry(site, now)
        return _outcome(present, entry, now), now


def _outcome(before: Entry, given: Entry, now: Entry) -> str:
    if now.age != before.age:
        return REPLACED
    if now.weight != before.weight:
        return REWEIGHTED
    return UNCHANGED if given.age == before.age else OLDER


def _are_of_one_study(one: Entry, other: Entry) -> bool:
    """Whether two entries measured the same study or program, or were read from the same directory."""
    places = [(entry.origin.host, entry.origin.path) for entry in (one, other)]
    return one.origin.study == other.origin.study or places[0] == places[1]
