"""What the commands of ``offbeat site`` write as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.against_default import RelativeTime
from offbeat.tuning.site.decide import Calls, Decision, Vote
from offbeat.tuning.site.directory import Site
from offbeat.tuning.site.merge import Merged
from offbeat.tuning.site.tables import configuration_count


class EntrySummary(Struct, frozen=True, kw_only=True):
    """An entry of a knowledge base.

    ``configurations`` is how many were measured; ``measured`` when. ``program`` is the command of a tuned
    program, empty for a study. ``path`` on ``host`` is where the results were. ``digest`` is that of the
    results.
    """

    name: str
    library: str
    configurations: int
    weight: float
    measured: str
    program: str
    host: str
    path: str
    digest: str


class SiteDocument(Struct, frozen=True, kw_only=True):
    """The entries of a knowledge base."""

    entries: list[EntrySummary]


class ExportedDecision(Struct, frozen=True, kw_only=True):
    """What was decided for the calls of a collective with ``p`` processes and a message size of ``bytes``.

    ``algorithm`` is in the tuning file; ``default`` leaves the calls to the library. ``times`` are the
    weighted mean times, relative to the default, of the algorithms that may be used, the best first;
    ``refused`` maps all others to the reason. ``votes`` are what the configurations of the entries say;
    ``own_algorithms`` has the algorithm that each vote alone would get.
    """

    collective: str
    p: int
    bytes: int
    algorithm: str
    times: dict[str, RelativeTime]
    refused: dict[str, str]
    votes: list[Vote]
    own_algorithms: list[str]


class ExportDocument(Struct, frozen=True, kw_only=True):
    """The tuning file that all entries of a library give together.

    ``files`` are the files that were written. ``left_out`` are sentences on entries and configurations that
    are not merged.
    """

    library: str
    files: Sequence[Path]
    entries: list[str]
    decisions: list[ExportedDecision]
    left_out: list[str]


def site_document(site: Site) -> SiteDocument:
    """The entries."""
    return SiteDocument(
        entries=[
            EntrySummary(
                name=one.name,
                library=one.library_name,
                configurations=configuration_count(one),
                weight=one.weight,
                measured=one.origin.measured,
                program=one.origin.program,
                host=one.origin.host,
                path=one.origin.path,
                digest=one.origin.digest,
            )
            for one in site.entries
        ]
    )


def export_document(merged: Merged, chosen: Mapping[Calls, str], files: Sequence[Path]) -> ExportDocument:
    """Every decision with its votes."""
    return ExportDocument(
        library=merged.library,
        files=files,
        entries=[entry.name for entry in merged.entries],
        decisions=[_decision(decision, chosen) for decision in merged.decisions],
        left_out=merged.left_out,
    )


def _decision(decision: Decision, chosen: Mapping[Calls, str]) -> ExportedDecision:
    collective, p, size_bytes = decision.calls
    return ExportedDecision(
        collective=collective,
        p=p,
        bytes=size_bytes,
        algorithm=chosen.get(decision.calls, DEFAULT),
        times=decision.times,
        refused=decision.refused,
        votes=decision.votes,
        own_algorithms=decision.own,
    )
