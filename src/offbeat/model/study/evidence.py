"""Evidence: the observation of what ran, as text that can be compared.

There are three kinds, from strong to weak: ``functions:`` names of the library's algorithm functions in the
order of entry; ``messages:`` a digest of the number of messages and bytes between each pair of ranks;
``late:`` the ranks that left late when one rank after another was delayed. Several kinds are separated by
``; ``, the strongest first. For a simulated algorithm, ``schedule:`` names the schedule that was run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from offbeat.base.units import amount

FUNCTIONS = "functions:"
MESSAGES = "messages:"
LATE = "late:"
SCHEDULE = "schedule:"
AND = "; "
"""Separator between evidence of several kinds."""

EDGES_SHOWN = 8


def from_observation(functions: str, messages: Sequence[Sequence[int]]) -> str:
    """The evidence of one observed call; empty if nothing was observed.

    ``functions`` are names separated by blanks, ``messages`` are (source, target, size in bytes).
    """
    parts = [FUNCTIONS + functions] if functions else []
    if messages:
        parts.append(_messages([(source, target, size) for source, target, size in messages]))
    return AND.join(parts)


def from_fingerprint(rows: Sequence[Sequence[int]]) -> str:
    """The evidence ``late:1>0,1 2>0,2`` of rows of a delayed rank and the ranks that left late."""
    return LATE + " ".join(f"{row[0]}>{','.join(str(rank) for rank in row[1:])}" for row in rows)


def part(evidence: str, kind: str) -> str:
    """The part of one kind (``FUNCTIONS``, ``MESSAGES`` or ``LATE``); empty without such a part."""
    return next((one for one in evidence.split(AND) if one.startswith(kind)), "")


def functions(evidence: str) -> list[str]:
    """The function names in the evidence; none if no functions were observed."""
    return part(evidence, FUNCTIONS).removeprefix(FUNCTIONS).split()


def with_fingerprint(observed: str, fingerprint: str) -> str:
    """Evidence of functions and messages joined with a fingerprint of late exits."""
    return AND.join(filter(None, [observed, fingerprint]))


def identity(evidence: str) -> str:
    """The part of the evidence that is equal in all runs of an algorithm."""
    return AND.join(
        " ".join(one.split()[:1]) if one.startswith(MESSAGES) else one for one in evidence.split(AND)
    )


def kind(evidence: str) -> str:
    """The strongest of the three kinds in the evidence; empty without any, as in a simulation."""
    return next((one for one in (FUNCTIONS, MESSAGES, LATE) if evidence.startswith(one)), "")


def is_fingerprint(evidence: str) -> bool:
    """Whether the evidence is of exit times only."""
    return evidence.startswith(LATE)


def short(evidence: str) -> str:
    """A short form of the evidence for tables."""
    names = functions(evidence)
    if names:
        first = names[0].removeprefix("ompi_coll_base_").removeprefix("MPIR_")
        return first + (f" and {len(names) - 1} inside" if len(names) > 1 else "")
    if evidence.startswith(MESSAGES):
        return " ".join(evidence.split(":")[1].split()[1:])
    if evidence.startswith(SCHEDULE):
        return "its schedule, simulated"
    return "who leaves late" if is_fingerprint(evidence) else "nothing"


def shows_identity(evidence: str) -> bool:
    """Whether the evidence names the functions that ran."""
    return evidence.startswith(FUNCTIONS)


def _messages(messages: Sequence[tuple[int, int, int]]) -> str:
    """The matrix of messages without their order, as nonblocking messages may change their order."""
    counts = Counter(messages)
    rows = sorted((source, target, size, count) for (source, target, size), count in counts.items())
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:12]
    total = sum(size for _, _, size in messages)
    names_text = " ".join(
        f"{source}>{target}:{size}B" + (f"×{n}" if n > 1 else "")
        for source, target, size, n in rows[:EDGES_SHOWN]
    )
    more = " …" if len(rows) > EDGES_SHOWN else ""
    return f"{MESSAGES}{digest} {amount(len(messages), 'message')}, {total} B: {names_text}{more}".rstrip(
        ": "
    )
