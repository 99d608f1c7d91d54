"""What ``offbeat try`` and ``offbeat async inject`` write as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from offbeat.tuning.prediction.document import PredictionDocument
from offbeat.tuning.trial.comparison import Verdict
from offbeat.tuning.trial.delay_effects import DelayEffect
from offbeat.tuning.trial.delays import DelayPlan
from offbeat.tuning.trial.trial import Settings


class TrialDocument(Struct, frozen=True, kw_only=True):
    """The trial of a program with several choices of algorithms.

    ``affected`` maps each choice to a sentence on the calls of the trace that it affects. ``times_s`` maps it
    to its run times, one for each round. ``verdict`` is null without two choices that ran, ``expected``
    without a prediction.
    """

    settings: Settings
    notes: list[str]
    affected: dict[str, str]
    times_s: Mapping[str, Sequence[float]]
    verdict: Verdict | None
    expected: PredictionDocument | None


class InjectionDocument(Struct, frozen=True, kw_only=True):
    """A program that was run with and without delays of its processes.

    ``plan`` says which calls of which processes were delayed. ``times_s`` maps each variant to its run times,
    one for each round. ``delays`` is what the delays of each variant did. ``verdict`` is null without a
    finished round.
    """

    settings: Settings
    plan: DelayPlan
    times_s: Mapping[str, Sequence[float]]
    delays: list[DelayEffect]
    verdict: Verdict | None
