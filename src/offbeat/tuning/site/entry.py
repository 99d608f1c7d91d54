"""An entry of a knowledge base: what one study, or the tuning of one program, measured, as text.

The text has one fact a line, in a fixed order, so that the difference between two versions of an entry shows
what changed. Each line is a JSON object whose key ``fact`` says what it is:

- ``entry``: where the measurements come from, and the digest of all lines but this one and the weight;
- ``weight``: how much the entry counts; the only line that people edit;
- ``library``, ``launch``: the measured MPI library, and how it was launched;
- ``share``: the share of a program's run time in the calls of one configuration;
- ``algorithm``: how an algorithm is forced; ``verdict``: whether it ran and is right;
- ``time``: the last delay of one algorithm under one pattern, in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from offbeat.base.campaign.checksum import digest
from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json
from offbeat.libraries.families.libraries import LIBRARIES
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.model.study.case import Case

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")
"""Names of entries, which are names of files as well."""

Weight = Annotated[float, Meta(ge=0)]


class Origin(Struct, frozen=True, kw_only=True, tag_field="fact", tag="entry"):
    """Where the measurements come from.

    ``program`` is the command of a tuned program, empty for a plain study. ``study`` is a digest of the
    question: the same in all measurements of one study or program. ``measured`` is when measuring began
    (ISO 8601), ``repetitions`` the number of valid repetitions, ``digest`` that of all other facts without
    the weight. ``warnings`` are what :mod:`offbeat.selection.choices.reliability` said about the
    measurements.
    """

    name: Annotated[str, Meta(pattern=rf"\A{NAME.pattern}\Z")]
    program: str
    host: str
    path: str
    measured: str
    offbeat_version: str
    study: str
    repetitions: int
    digest: str = ""
    warnings: list[str] = []


class UseFact(Struct, frozen=True, kw_only=True, tag_field="fact", tag="weight"):
    """How much the entry counts: core-hours a month, or any other unit that all entries share."""

    weight: Weight


class LibraryFact(Struct, frozen=True, kw_only=True, tag_field="fact", tag="library"):
    """The entry ``library`` of the provenance."""

    library: dict[str, Any]


class LaunchFact(Struct, frozen=True, kw_only=True, tag_field="fact", tag="launch"):
    """The section [mpi] of the study without the library and the host file, and how long a call may take."""

    mpi: dict[str, Any]
    hang_after_s: Annotated[float, Meta(gt=0)]


class ShareFact(Struct, frozen=True, kw_only=True, tag_field="fact", tag="share"):
    """The share of the program's run time, after the last arrival, in calls of one configuration."""

    collective: str
    p: int
    bytes: int
    share: Annotated[float, Meta(ge=0, le=1)]


class AlgorithmFact(Algorithm, frozen=True, kw_only=True, tag_field="fact", tag="algorithm"):
    """An algorithm and how it is forced."""


class VerdictFact(Verdict, frozen=True, kw_only=True, tag_field="fact", tag="verdict", omit_defaults=True):
    """The result of testing an algorithm."""


class TimeFact(Case, frozen=True, kw_only=True, tag_field="fact", tag="time", omit_defaults=True):
    """A measured case: those columns of :mod:`offbeat.measurement.results.schema` that selection uses."""

    pattern_kind: str = "shape"
    source: str = ""
    status: str = "measured"
    reason: str = ""
    proof: str = "proved"
    blocks: int = 0
    repetitions: int = 0
    last_delay_s: float | None = None
    last_delay_low_s: float | None = None
    last_delay_high_s: float | None = None


Fact = Origin | UseFact | LibraryFact | LaunchFact | ShareFact | AlgorithmFact | VerdictFact | TimeFact
FactT = TypeVar("FactT", bound=Struct)


class Entry(Struct, frozen=True, kw_only=True):
    """The facts of one entry. Facts of each kind are in the order of the text."""

    origin: Origin
    weight: float
    library: dict[str, Any]
    launch: LaunchFact
    shares: list[ShareFact] = []
    algorithms: list[AlgorithmFact] = []
    verdicts: list[VerdictFact] = []
    times: list[TimeFact] = []

    @property
    def name(self) -> str:
        """The entry's name, unique among those of its library."""
        return self.origin.name

    @property
    def library_name(self) -> str:
        """The library: ``openmpi-4.1.4``."""
        return library_name(self.library)

    @property
    def age(self) -> tuple[str, int, str]:
        """Of two measurements of one study, the one with the larger value is the newer one."""
        return self.origin.measured, self.origin.repetitions, self.origin.digest

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the processes that the study set."""
        return dict(self.launch.mpi.get("environment", {}))


def library_name(library: dict[str, Any]) -> str:
    """Family and version of a checked library: ``openmpi-4.1.4``."""
    return f"{library['family']}-{'.'.join(map(str, library['version']))}"


class _Identity(Struct, frozen=True):
    """What a library is called by."""

    family: str
    version: Annotated[list[Annotated[int, Meta(ge=0, le=10**6)]], Meta(min_length=1, max_length=8)]


def check_library(library: dict[str, Any], source: object) -> dict[str, Any]:
    """The library, whose name becomes that of a folder; ``source`` is where it comes from.

    Raises :class:`BadInput` unless it is a known MPI library and its version a list of whole numbers.
    """
    try:
        identity = msgspec.convert(library, _Identity)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{source}: the MPI library has no valid family and version ({error}); a version is a list of"
            " whole numbers, such as [4, 1, 4]"
        ) from None
    if identity.family not in LIBRARIES:
        raise BadInput(f"{source}: the MPI library {identity.family!r} is none of {', '.join(LIBRARIES)}")
    return library


def in_order(entry: Entry) -> Entry:
    """The entry with its facts in the order of the text, and with their digest."""
    ordered = msgspec.structs.replace(
        entry,
        shares=sorted(entry.shares, key=lambda one: (one.collective, one.p, one.bytes)),
        algorithms=sorted(entry.algorithms, key=lambda one: (one.collective, one.name)),
        verdicts=sorted(entry.verdicts, key=lambda one: (one.collective, one.p, one.bytes, one.algorithm)),
        times=sorted(entry.times, key=_order_of_time),
    )
    origin = msgspec.structs.replace(entry.origin, digest=digest(_lines(_measured(ordered))))
    return msgspec.structs.replace(ordered, origin=origin)


def _order_of_time(one: TimeFact) -> tuple[object, ...]:
    processes = (one.p, one.nodes, one.ppn, one.communicators, one.stride)
    return (one.collective, *processes, one.bytes, one.op, one.datatype, one.root, one.pattern, one.algorithm)


def text(entry: Entry) -> bytes:
    """The text of an entry that :func:`in_order` returned."""
    return _lines([entry.origin, UseFact(weight=entry.weight), *_measured(entry)])


def _measured(entry: Entry) -> list[Struct]:
    """The facts without the origin and the weight."""
    library = LibraryFact(library=entry.library)
    return [library, entry.launch, *entry.shares, *entry.algorithms, *entry.verdicts, *entry.times]


def _lines(facts: Iterable[Struct]) -> bytes:
    return b"".join(msgspec.json.encode(fact) + b"\n" for fact in facts)


def parse(data: bytes, path: Path) -> Entry:
    """The entry of a text; raises :class:`BadInput`, with the line, for anything else."""
    facts: list[Fact] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            facts.append(decode_json(line, Fact))
        except msgspec.DecodeError as error:
            raise BadInput(f"{path}:{number}: this line is not a fact ({error}); {_REMEDY}") from None
    origin, use = _only(facts, Origin, path), _only(facts, UseFact, path)
    entry = Entry(
        origin=origin,
        weight=use.weight,
        library=check_library(_only(facts, LibraryFact, path).library, path),
        launch=_only(facts, LaunchFact, path),
        shares=[fact for fact in facts if isinstance(fact, ShareFact)],
        algorithms=[fact for fact in facts if isinstance(fact, AlgorithmFact)],
        verdicts=[fact for fact in facts if isinstance(fact, VerdictFact)],
        times=[fact for fact in facts if isinstance(fact, TimeFact)],
    )
    if in_order(entry).origin.digest != origin.digest:
        raise BadInput(
            f"{path}: its lines do not match the digest in its first line: a line was changed, lost or"
            f" added (only the weight may be edited); {_REMEDY}"
        )
    return in_order(entry)


_REMEDY = "put the file back with git, or add the results again with 'offbeat site add'"


def _only(facts: list[Fact], kind: type[FactT], path: Path) -> FactT:
    """The one fact of a kind. Raises :class:`BadInput` if there is none, or several."""
    found = [fact for fact in facts if isinstance(fact, kind)]
    if len(found) != 1:
        tag = kind.__struct_config__.tag
        raise BadInput(f'{path}: it has {len(found) or "no"} lines \'"fact":"{tag}"\', not one; {_REMEDY}')
    return found[0]
