"""What ``offbeat predict`` writes as JSON."""

from __future__ import annotations

from msgspec import Struct

from offbeat.selection.choices.delay_table import Configuration
from offbeat.tuning.prediction.affected_calls import calls_affected_by_choice
from offbeat.tuning.prediction.measured_configuration import Estimate
from offbeat.tuning.prediction.prediction import ExpectedRun, Part, Prediction


class PredictedCalls(Struct, frozen=True, kw_only=True):
    """Calls whose times are predicted from the measurements of a configuration.

    ``calls`` describes them, ``number`` is how many there are. ``share_of_ranks`` is the mean share of the
    processes in a call, ``critical_share`` the share of the last delay that prolongs the run.
    ``last_delay_s`` and ``skew_s`` are recorded means. ``patterns`` maps each condition to its arrival
    patterns.
    """

    calls: str
    number: int
    share_of_ranks: float
    critical_share: float
    last_delay_s: float
    skew_s: float
    configuration: Configuration
    patterns: dict[str, str]


class CallShare(Struct, frozen=True, kw_only=True):
    """The calls of a trace that a choice affects.

    ``affected_calls`` of all ``calls`` are affected; ``share`` is their share of the time in collectives.
    """

    affected_calls: int
    calls: int
    share: float


class ExpectedTime(Struct, frozen=True, kw_only=True):
    """The expected run time with an algorithm, or with a choice of algorithms.

    ``algorithms`` has one for each of the predicted calls. ``excluded`` is why it is never selected, empty if
    it can be. ``run_s`` maps each condition to the expected run time, ``change`` to its difference from the
    prediction for the algorithm that ran, as a share of the recorded run time; null where it is unknown.
    """

    name: str
    algorithms: list[str]
    excluded: str
    run_s: dict[str, Estimate | None]
    change: dict[str, Estimate | None]
    affected: CallShare


class PredictionDocument(Struct, frozen=True, kw_only=True):
    """The expected run times of a traced program.

    ``run_s`` is the recorded run time, ``computing_s`` what of it is not predicted. ``ran`` is the algorithm
    of the traced run, null if it is unknown, and ``ran_is_assumed`` whether that is an assumption. ``bias``
    maps conditions to the error of the prediction for this algorithm, as a share of the recorded run time.
    """

    program: str
    library: str
    processes: int
    run_s: float
    computing_s: float
    ran: str | None
    ran_is_assumed: bool
    bias: dict[str, float]
    conditions: list[str]
    calls: list[PredictedCalls]
    expected: list[ExpectedTime]
    notes: list[str]


def prediction_document(prediction: Prediction) -> PredictionDocument:
    """The content of the tables, with intervals."""
    run = prediction.recorded
    return PredictionDocument(
        program=run.program,
        library=run.library,
        processes=run.processes,
        run_s=run.run_s,
        computing_s=run.computing_s,
        ran=prediction.ran or None,
        ran_is_assumed=prediction.ran_is_assumed,
        bias=prediction.bias,
        conditions=prediction.conditions,
        calls=[_calls(part) for part in prediction.parts],
        expected=[_expected(prediction, one) for one in prediction.expected],
        notes=prediction.notes,
    )


def _expected(prediction: Prediction, one: ExpectedRun) -> ExpectedTime:
    affected = calls_affected_by_choice(prediction, one.algorithms)
    return ExpectedTime(
        name=one.name,
        algorithms=one.algorithms,
        excluded=one.barred,
        run_s={name: one.run_s.get(name) for name in prediction.conditions},
        change={name: prediction.change(one, name) for name in prediction.conditions},
        affected=CallShare(affected_calls=affected.number, calls=affected.all_calls, share=affected.share),
    )


def _calls(part: Part) -> PredictedCalls:
    calls = part.calls
    return PredictedCalls(
        calls=calls.description,
        number=calls.number,
        share_of_ranks=calls.share,
        critical_share=calls.critical,
        last_delay_s=calls.last_delay_s,
        skew_s=calls.skew_s,
        configuration=part.table.configuration,
        patterns={name: one.pattern for name, one in part.conditions.items()},
    )
