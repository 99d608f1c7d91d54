"""The documents that commands write with ``--json``."""

from __future__ import annotations

import json
from importlib import import_module

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.json_document import schema

STRUCTURES: dict[str, tuple[str, ...]] = {
    "algorithm check": ("offbeat.algorithm.document:CheckDocument",),
    "algorithm list": ("offbeat.algorithm.document:CatalogueDocument",),
    "algorithm show": ("offbeat.algorithm.document:CallDocument",),
    "async advise": (
        "offbeat.assessment.document:AssessmentDocument",
        "offbeat.assessment.document:TraceAssessmentDocument",
    ),
    "async inject": ("offbeat.trial.document:InjectionDocument",),
    "async report": ("offbeat.execution.document:ReportDocument",),
    "compare": ("offbeat.comparison.studies:StudyComparison", "offbeat.comparison.trials:TrialComparison"),
    "doctor": (
        "offbeat.mpi.diagnose:Diagnosis",
        "offbeat.engines.open:LibraryAlgorithms",
        "offbeat.engines.library_check:LibraryCheck",
        "offbeat.tuning.rules_check:RulesCheck",
    ),
    "partitioned advise": ("offbeat.partitioned.document:RecommendationDocument",),
    "partitioned check": ("offbeat.conformance.outcomes:Check",),
    "partitioned fit": ("offbeat.partitioned.document:FitDocument",),
    "partitioned model": ("offbeat.partitioned.document:ModelDocument",),
    "partitioned run": ("offbeat.engines.progress:RunDocument",),
    "predict": ("offbeat.predict.document:PredictionDocument",),
    "program run": ("offbeat.program.summary:Summary",),
    "program simulate": ("offbeat.program.summary:Summary",),
    "program times": ("offbeat.program.summary:Summary",),
    "run": ("offbeat.engines.progress:RunDocument",),
    "select": ("offbeat.select.document:SelectionDocument",),
    "site export": ("offbeat.site.document:ExportDocument",),
    "site list": ("offbeat.site.document:SiteDocument",),
    "status": ("offbeat.results.status:Status",),
    "trace summary": ("offbeat.trace.document:SummaryDocument",),
    "try": ("offbeat.trial.document:TrialDocument",),
    "tune": ("offbeat.program_tuning.document:TuningDocument",),
    "verify": ("offbeat.tuning.proofs:Proofs",),
}
"""Command → the structures that its document can be, as ``module:name``: modules load when they are used."""


def structures_of(command: str) -> list[type[Struct]]:
    """The structures that the document of a command can be. Raises :class:`BadInput` for other commands."""
    if command not in STRUCTURES:
        raise BadInput(f"'{command}' has no document; these commands have: {', '.join(STRUCTURES)}")
    places = [place.split(":") for place in STRUCTURES[command]]
    return [getattr(import_module(module), name) for module, name in places]


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
