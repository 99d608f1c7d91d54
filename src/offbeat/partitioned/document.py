"""What the commands of ``offbeat partitioned`` write as JSON; ``check`` writes its outcomes as they are."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from offbeat.partitioned.cost_fit import Fit
from offbeat.partitioned.predictions import Prediction
from offbeat.partitioned.recommendation import Option, Recommendation


class PredictedMessage(Struct, frozen=True, kw_only=True):
    """The times of a message, from the last ready partition to the arrival of all bytes; means over trials.

    ``delay_s`` is the time between the first and the last ready partition. ``single_s`` is the time of one
    message, ``each_s`` that of one message for each partition, ``best_s`` that of ``best_messages`` messages
    of neighbouring partitions. ``gain`` is ``single_s`` divided by ``each_s``, ``best_gain`` the same with
    ``best_s``.
    """

    total_bytes: int
    threads: int
    partitions_per_thread: int
    delay_s: float
    single_s: float
    each_s: float
    best_messages: int
    best_s: float
    gain: float
    best_gain: float


class ModelDocument(Struct, frozen=True, kw_only=True):
    """Predicted gains of partitioned messages."""

    messages: list[PredictedMessage]


class FitDocument(Struct, frozen=True, kw_only=True):
    """Costs of messages in partitions, fitted to measurements; ``fits`` has one for each approach."""

    fits: list[Fit]


class RecommendationDocument(Struct, frozen=True, kw_only=True):
    """How to send a message.

    ``recommendation`` is the best of the ``options``, which has all of them, the best first. ``source`` is
    what they rest on. ``too_few`` maps each approach that was measured in too few cases to their number.
    """

    recommendation: Option
    total_bytes: int
    threads: int
    source: str
    options: list[Option]
    too_few: dict[str, int]


def model_document(predictions: Sequence[Prediction]) -> ModelDocument:
    """The predictions with their gains."""
    return ModelDocument(
        messages=[
            PredictedMessage(**structs.asdict(one), gain=one.gain, best_gain=one.best_gain)
            for one in predictions
        ]
    )


def recommendation_document(recommendation: Recommendation) -> RecommendationDocument:
    """The recommendation first, then all options."""
    return RecommendationDocument(recommendation=recommendation.best, **structs.asdict(recommendation))
