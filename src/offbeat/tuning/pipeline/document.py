"""What ``offbeat tune`` writes as JSON."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from offbeat.tuning.pipeline.conclusion import Conclusion
from offbeat.tuning.pipeline.directory import TuneSettings
from offbeat.tuning.pipeline.program_choices import ExpectedGain
from offbeat.tuning.pipeline.stages import Outcome


class TuningDocument(Struct, frozen=True, kw_only=True):
    """The outcome of tuning a program.

    ``cautions`` are sentences that limit the verdict. ``expected`` is what measurements of single calls
    promise. ``times_s`` maps each choice to its run times, one for each round. ``files`` are the recommended
    tuning files, none if nothing is recommended; ``usage`` are lines that use them.
    """

    settings: TuneSettings
    verdict: Conclusion
    cautions: list[str]
    expected: list[ExpectedGain]
    times_s: dict[str, list[float]]
    files: list[Path]
    usage: list[str]


def tuning_document(settings: TuneSettings, outcome: Outcome) -> TuningDocument:
    """The document of an outcome."""
    return TuningDocument(
        settings=settings,
        verdict=outcome.conclusion,
        cautions=outcome.cautions,
        expected=outcome.gains,
        times_s=outcome.times_s,
        files=list(outcome.files.files) if outcome.files is not None else [],
        usage=outcome.usage,
    )
