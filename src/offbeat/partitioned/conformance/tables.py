"""A check as a table, and in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from offbeat.base.units import amount
from offbeat.partitioned.conformance.outcomes import FAILURES, Check, Implementation, Outcome

HEADINGS = ("section", "case", "verdict", "found")

EXPLANATION = (
    "section: of MPI 4.0. right, wrong, crashes, hangs: the standard requires it. yes, no: a quality, which"
    " the standard leaves to the library; it lets wrong calls (refuse-...) crash or hang, too."
)

_SUBJECTS: dict[Implementation, str] = {
    "library": "The functions of {}",
    "offbeat": "offbeat's library on {}",
    "preload": "offbeat's preload on {}",
}


def rows(check: Check) -> Iterator[tuple[str, ...]]:
    """The cells below HEADINGS; what was found is short: the sentences follow the table."""
    for one in check.outcomes:
        yield one.section, one.case, one.verdict, _location(one)


def _location(one: Outcome) -> str:
    """The rank and the beginning of what was found."""
    return one.found if len(one.found) <= 40 else f"{one.found[:39].rstrip()}…"


def failures(check: Check) -> list[str]:
    """A sentence for each case that is not as the standard requires: the promise, and what was found."""
    return [
        f"{one.case} (section {one.section}) {one.verdict}: {one.found}. Promise: {one.promise}"
        for one in check.outcomes
        if one.failed
    ]


def summary(check: Check) -> str:
    """How many cases are right, and how many not."""
    required = [one for one in check.outcomes if one.required]
    qualities = [one for one in check.outcomes if not one.required]
    counts = Counter[str](one.verdict for one in required)
    named = {"wrong": "wrong", "crashes": "crash", "hangs": "hang", "skipped": "skipped"}
    others = [f"{counts[verdict]} {named[verdict]}" for verdict in (*FAILURES, "skipped") if counts[verdict]]
    settings = check.head.settings
    place = " on two nodes" if settings.nodes == 2 else ""
    text = f"{_SUBJECTS[settings.of].format(settings.library)}{place}: "
    if required:
        parts = [f"{counts['right']} of {amount(len(required), 'case')} right", *others]
        text += ", ".join(parts) + ". "
    if qualities:
        good = sum(one.verdict == "yes" for one in qualities)
        text += f"Qualities: {good} of {len(qualities)}."
    return text.rstrip()
