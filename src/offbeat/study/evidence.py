"""Evidence: what was seen to run, as text that can be compared.

Three kinds, the strongest that a library allows: ``functions:`` names of the library's own algorithm
functions in the order of entry; ``messages:`` a digest of how many messages and bytes each rank sent to each
other; ``late:`` who left late when one rank after another was delayed. Where more than one kind was seen, the
parts are separated by ``; ``, the strongest first. Of a simulated algorithm there is nothing to see:
``schedule:`` names the schedule that was run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from offbeat.units import counted

FUNCTIONS = "functions:"
MESSAGES = "messages:"
LATE = "late:"
SCHEDULE = "schedule:"
AND = "; "
"""Stands between the parts of evidence of several kinds."""

EDGES_SHOWN = 8


def from_observation(answer: Mapping[str, Any]) -> str:
    """The evidence in the driver's answer to ``observe``; empty where it saw nothing."""
    messages = [tuple(message) for message in answer["messages"] if message]
    parts = [FUNCTIONS + str(answer["functions"])] if answer["functions"] else []
    if answer["sees_messages"] and messages:
        parts.append(_messages(messages))
    return AND.join(parts)


def from_fingerprint(answer: Mapping[str, Any]) -> str:
    """The evidence in the driver's answer to ``fingerprint``: ``late:1>0,1 2>0,2``, delayed rank > who left
    late."""
    rows = [row for row in answer["late"] if row]
    return LATE + " ".join(f"{row[0]}>{','.join(str(rank) for rank in row[1:])}" for row in rows)


def part(evidence: str, kind: str) -> str:
    """The part of one kind (``FUNCTIONS``, ``MESSAGES`` or ``LATE``); empty without such a part."""
    return next((one for one in evidence.split(AND) if one.startswith(kind)), "")


def functions(evidence: str) -> list[str]:
    """The function names in the evidence; none where no functions were seen."""
    return part(evidence, FUNCTIONS).removeprefix(FUNCTIONS).split()


def with_fingerprint(seen: str, late: str) -> str:
    """Evidence of functions and messages together with who left late."""
    return AND.join(filter(None, [seen, late]))


def identity(evidence: str) -> str:
    """The part that two runs of the same algorithm share."""
    return AND.join(
        " ".join(one.split()[:1]) if one.startswith(MESSAGES) else one for one in evidence.split(AND)
    )


def kind(evidence: str) -> str:
    """The strongest of the three kinds in the evidence; empty where nothing was seen, as in a simulation."""
    return next((one for one in (FUNCTIONS, MESSAGES, LATE) if evidence.startswith(one)), "")


def is_fingerprint(evidence: str) -> bool:
    """Whether the evidence is about time alone."""
    return evidence.startswith(LATE)


def short(evidence: str) -> str:
    """The evidence in a few words, for a table."""
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
    """The matrix, not the order: schedules of nonblocking messages may change their order from run to run."""
    tally = Counter(messages)
    rows = sorted((source, target, size, count) for (source, target, size), count in tally.items())
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:12]
    total = sum(size for _, _, size in messages)
    shown = " ".join(
        f"{source}>{target}:{size}B" + (f"×{n}" if n > 1 else "")
        for source, target, size, n in rows[:EDGES_SHOWN]
    )
    more = " …" if len(rows) > EDGES_SHOWN else ""
    return f"{MESSAGES}{digest} {counted(len(messages), 'message')}, {total} B: {shown}{more}".rstrip(": ")
