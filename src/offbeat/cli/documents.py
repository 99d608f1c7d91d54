"""The documents that commands write with ``--json``."""

from __future__ import annotations

import json
from importlib import import_module

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.json_document import schema

STRUCTURES: dict[str, tuple[str, ...]] = {
    "algorithm check": ("offbeat.simulation.algorithms.document:CheckDocument",),
    "algorithm list": ("offbeat.simulation.algorithms.document:CatalogueDocument",),
    "algorithm show": ("offbeat.simulation.algorithms.document:CallDocument",),
    "async advise": (
        "offbeat.programs.advice.document:AssessmentDocument",
        "offbeat.programs.advice.document:TraceAssessmentDocument",
    ),
    "async inject": ("offbeat.tuning.trial.document:InjectionDocument",),
    "async report": ("offbeat.programs.iterations.document:ReportDocument",),
    "compare": (
        "offbeat.tuning.comparison.studies:StudyComparison",
        "offbeat.tuning.comparison.trials:TrialComparison",
    ),
    "doctor": (
        "offbeat.libraries.installations.diagnosis:Diagnosis",
        "offbeat.measurement.engines.engine_choice:LibraryAlgorithms",
        "offbeat.measurement.legal_calls.library_check:LibraryCheck",
        "offbeat.selection.user_rules.rules_check:RulesCheck",
    ),
    "partitioned advise": ("offbeat.partitioned.document:RecommendationDocument",),
    "partitioned check": ("offbeat.partitioned.conformance.outcomes:Check",),
    "partitioned fit": ("offbeat.partitioned.document:FitDocument",),
    "partitioned model": ("offbeat.partitioned.document:ModelDocument",),
    "partitioned run": ("offbeat.measurement.runs.run_progress:RunDocument",),
    "predict": ("offbeat.tuning.prediction.document:PredictionDocument",),
    "program run": ("offbeat.programs.simulation.summary:Summary",),
    "program simulate": ("offbeat.programs.simulation.summary:Summary",),
    "program times": ("offbeat.programs.simulation.summary:Summary",),
    "run": ("offbeat.measurement.runs.run_progress:RunDocument",),
    "select": ("offbeat.selection.choices.document:SelectionDocument",),
    "site export": ("offbeat.tuning.site.document:ExportDocument",),
    "site list": ("offbeat.tuning.site.document:SiteDocument",),
    "status": ("offbeat.measurement.results.status:Status",),
    "trace summary": ("offbeat.trace.document:SummaryDocument",),
    "try": ("offbeat.tuning.trial.document:TrialDocument",),
    "tune": ("offbeat.tuning.pipeline.document:TuningDocument",),
    "verify": ("offbeat.selection.verification.proofs:Proofs",),
}
"""Command → the structures that its document can be, as ``module:name``: modules load when they are used."""


def structures_of(command: str) -> list[type[Struct]]:
    """The structures that the document of a command can be. Raises :class:`BadInput` for other commands."""
    if command not in STRUCTURES:
        raise BadInput(f"'{command}' has no document; these commands have: {', '.join(STRUCTURES)}")
    references = [reference.split(":") for reference in STRUCTURES[command]]
    return [getattr(import_module(module), name) for module, name in references]


def schema_file(command: str) -> str:
    """The name of the file with the schema of a command's document; the same for the same structures."""
    shortest = min((name for name, places in STRUCTURES.items() if places == STRUCTURES[command]), key=len)
    return f"{shortest.replace(' ', '-')}.schema.json"


def schema_text(command: str) -> str:
    """The JSON Schema of a command's document. Raises :class:`BadInput` for a command without one."""
    kinds = structures_of(command)
    commands = [name for name, places in STRUCTURES.items() if places == STRUCTURES[command]]
    title = " and ".join(f"offbeat {name} --json" for name in commands)
    return json.dumps(schema(title, kinds), indent=2, ensure_ascii=False) + "\n"
