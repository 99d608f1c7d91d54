"""A prediction as JSON; times in seconds, null where nothing was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from offbeat.atomic_write import write_atomically, write_error
from offbeat.predict.affected_calls import calls_affected_by_choice
from offbeat.predict.prediction import ExpectedRun, Part, Prediction

SCHEMA_VERSION = 1


def document(prediction: Prediction) -> dict[str, Any]:
    """The content of the tables, with intervals.

    ``bias`` and ``change`` are shares of the recorded run time: the error of the prediction for the algorithm
    that ran, and the difference of the prediction for each algorithm from it.
    """
    run = prediction.recorded
    return {
        "schema_version": SCHEMA_VERSION,
        "program": run.program,
        "library": run.library,
        "processes": run.processes,
        "run_s": run.run_s,
        "computing_s": run.computing_s,
        "ran": prediction.ran or None,
        "ran_is_assumed": prediction.ran_is_assumed,
        "bias": prediction.bias,
        "conditions": prediction.conditions,
        "calls": [_part(part) for part in prediction.parts],
        "expected": [
            {
                "name": one.name,
                "algorithms": one.algorithms,
                "barred": one.barred,
                "run_s": {name: one.run_s.get(name) for name in prediction.conditions},
                "change": {name: prediction.change(one, name) for name in prediction.conditions},
                "acts_on": _acts_on(prediction, one),
            }
            for one in prediction.expected
        ],
        "notes": prediction.notes,
    }


def _acts_on(prediction: Prediction, one: ExpectedRun) -> dict[str, Any]:
    reach = calls_affected_by_choice(prediction, one.algorithms)
    return {"calls": reach.number, "of": reach.all_calls, "share_of_time_in_collectives": reach.share}


def _part(part: Part) -> dict[str, Any]:
    calls = part.calls
    return {
        "calls": calls.description,
        "number": calls.number,
        "share_of_ranks": calls.share,
        "last_delay_s": calls.last_delay_s,
        "skew_s": calls.skew_s,
        "cell": part.table.configuration,
        "patterns": {name: one.pattern for name, one in part.conditions.items()},
    }


def encoded(prediction: Prediction) -> bytes:
    """The document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document(prediction)), indent=2) + b"\n"


def write(prediction: Prediction, path: Path) -> None:
    """Write the document to a file. Raises :class:`BadInput` if it cannot be written."""
    try:
        write_atomically(path, encoded(prediction))
    except OSError as error:
        raise write_error(path, error) from error
