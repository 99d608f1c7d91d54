"""An algorithm of an MPI library, its verdict (proved, refused, wrong, ...), and the legal calls it fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from offbeat.base.units import amount, enumeration

KINDS = {
    "absolute-addresses": "absolute addresses (MPI_BOTTOM)",
    "pair-types": "datatypes of pairs, such as MPI_DOUBLE_INT",
    "types-differ": "datatypes that differ between ranks or between the two sides of a call",
    "lower-bounds": "datatypes that do not begin at the address of the buffer",
    "noncommutative": "operations that are not commutative",
    "operations": "user-defined and other predefined operations",
    "datatypes": "other datatypes",
    "roots": "other roots",
    "in-place": "MPI_IN_PLACE",
    "null-arguments": "null for the arguments that MPI ignores on a process",
    "zero-counts": "counts of 0",
    "few-elements": "about as many elements as processes",
    "uneven-counts": "counts and displacements that differ between processes",
    "communicators": "communicators of other sizes or other ranks",
    "sizes": "other message sizes",
}
"""How a legal call can differ from the measured one: word of ``--allow-wrong-results`` → phrase."""


class WrongCall(Struct, frozen=True, kw_only=True):
    """A legal call for which an algorithm gives a wrong result, but the library's default does not.

    ``kind`` is one of :data:`KINDS`, ``p`` the number of processes of the call's communicator, ``call`` the
    description of the call, and ``result`` its outcome: ``64 elements of the result are wrong``.
    ``descriptor`` is the command that makes the driver repeat the call.
    """

    kind: str
    p: int
    call: str
    result: str
    descriptor: str = ""

    def __str__(self) -> str:
        """The call and its outcome."""
        return f"{self.call}: {self.result}"


def kinds_of(wrong: Iterable[WrongCall]) -> list[str]:
    """The kinds among calls, each once, in the order of :data:`KINDS`."""
    present = {call.kind for call in wrong}
    return [kind for kind in KINDS if kind in present]


def in_words(kinds: Iterable[str]) -> str:
    """Kinds as a phrase: ``other roots and MPI_IN_PLACE``."""
    return enumeration([KINDS[kind] for kind in kinds])


DEFAULT = "default"
"""The pseudo-algorithm that leaves the choice to the library: a reference, never selected."""

_NUMBERED_DEFAULT = re.compile(rf"{DEFAULT}_[0-9]+")


def distinct_from_default(name: str, number: int) -> str:
    """The name of a library's algorithm: with its number if the library calls it ``default``."""
    return f"{name}_{number}" if name == DEFAULT else name


def listed_name(name: str) -> str:
    """The name by which the library lists an algorithm: ``default`` for ``default_1``."""
    return DEFAULT if _NUMBERED_DEFAULT.fullmatch(name) else name


class Algorithm(Struct, frozen=True, kw_only=True):
    """An algorithm that a library can be forced to run for a collective.

    ``settings`` maps the library's own variable names to values as text: MCA parameters for Open MPI
    (``coll_tuned_reduce_algorithm``), control variables for MPICH (``MPIR_CVAR_REDUCE_INTRA_ALGORITHM``),
    environment variables for Intel MPI (``I_MPI_ADJUST_REDUCE``). It is empty for ``default``.
    ``hierarchical`` algorithms divide their collective into a part inside nodes and a part between them; they
    need several nodes with several processes on each.
    """

    collective: str
    name: str
    settings: dict[str, str] = {}
    hierarchical: bool = False

    def fits(self, nodes: int, ppn: int) -> bool:
        """Whether the algorithm is a candidate there; both are 0 if the launcher places the processes."""
        return not self.hierarchical or (nodes > 1 and ppn > 1)


MEASURED = ("proved", "indistinguishable", "unproved")
"""Statuses of a verdict with which an algorithm is measured, from strongest to weakest proof."""

OWN, LEARNED = "offbeat", "offbeat_learned"
"""The approaches of partitioned sends by offbeat's own library; the second learns the number of messages."""

POLLED = ("offbeat_polled", "library_polled")
"""Approaches whose receiver asks for each partition before it completes the message."""

OWN_SETTINGS = {
    "message_bytes": "OFFBEAT_PARTITIONED_MESSAGE_BYTES",
    "messages": "OFFBEAT_PARTITIONED_MESSAGES",
    "lanes": "OFFBEAT_PARTITIONED_LANES",
    "progress_thread": "OFFBEAT_PARTITIONED_PROGRESS_THREAD",
}
"""Parameters of the approach ``offbeat``, as in ``offbeat(messages=32)`` → the variable that sets each."""

PARAMETERS = re.compile(r"^(?P<name>[^=]+)\((?P<list>[^()]*)\)$")


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """``chain(fanout=4, segment=65536)`` → ``chain`` and its parameters.

    A name without parentheses, or with anything else in them (``nb(tsp_tree)``), is returned unchanged.
    """
    match = PARAMETERS.match(name)
    if not match:
        return name, {}
    pairs = [part.partition("=") for part in match["list"].split(",")]
    parameters = {key.strip(): value.strip() for key, _, value in pairs}
    if len(parameters) < len(pairs) or not all(key.strip() and value.strip() for key, _, value in pairs):
        return name, {}
    return match["name"].strip(), parameters


_FILE_AND_FUNCTION = re.compile(r"(?P<path>.+\.py):(?P<function>\w+)")


def split_file_and_function(text: str) -> tuple[Path, str] | None:
    """The file and the function of ``FILE.py:FUNCTION``, an algorithm that the user wrote; None for other
    texts."""
    parts = _FILE_AND_FUNCTION.fullmatch(text)
    return (Path(parts["path"]), parts["function"]) if parts else None


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of testing an algorithm at one p and message size, before it is measured.

    ``status`` is one of

    - ``proved``: it ran when forced, and computed the right result;
    - ``duplicate``: it ran the same code as ``same_as``, and is not measured again;
    - ``fell_back``: the library silently ran something else (``reason`` names it); not measured;
    - ``indistinguishable``: it was set and read back, and computed the right result, but the evidence is the
      same as for other algorithms (``reason`` names them); measured, and selected only on request;
    - ``unproved``: it was set and read back, but nothing shows what ran; measured, never selected;
    - ``wrong``: it computed a wrong result; not measured;
    - ``refused``: the library answered with an error (``reason``); not measured;
    - ``quarantined``: it crashed, hung or aborted the job (``reason``); not measured.

    ``commutative_only`` is true when a non-commutative operation gave a wrong result although the commutative
    one was right. ``evidence`` is the observation of what ran, for instance
    ``functions:ompi_coll_base_reduce_intra_binomial`` or ``messages:<digest> 1>0:8 2>0:8 3>2:8``.
    ``bits`` is a digest of a floating-point sum on all processes: algorithms with another digest than
    ``default`` change the bits of results; it is empty for collectives that only move data, and if it is
    unknown. ``wrong_calls`` are legal calls of the collective, on p and fewer processes, with wrong results;
    ``legal_calls`` is the number of calls that were tried (0: none, so nothing is known), drawn with the seed
    ``legal_seed``. Calls that are wrong with ``default`` were not tried with the other algorithms.
    """

    collective: str
    algorithm: str
    p: int
    bytes: int
    status: str
    evidence: str = ""
    reason: str = ""
    same_as: str = ""
    commutative_only: bool = False
    wrong_calls: list[WrongCall] = []
    legal_calls: int = 0
    legal_seed: int = 0
    bits: str = ""


def proof_lines(verdicts: Iterable[Verdict]) -> list[str]:
    """A line for each collective, without ``default``: ``reduce: 12 tests proved, 2 indistinguishable``.

    A test is an algorithm at a number of processes and a size.
    """
    counts: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        if verdict.algorithm != DEFAULT:
            counts.setdefault(verdict.collective, Counter())[verdict.status] += 1
    lines = []
    for collective, by_status in counts.items():
        (first, number), *others = ((status.replace("_", " "), by_status[status]) for status in by_status)
        rest = (f"{count} {status}" for status, count in others)
        lines.append(f"{collective}: " + ", ".join([f"{amount(number, 'test')} {first}", *rest]))
    return lines
