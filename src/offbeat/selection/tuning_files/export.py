"""From results to tuning files: the plan, the installation that it is for, and the writer of its library
family.

Results may be simulated. A simulation knows algorithms by the names that a library gives them, but not the
numbers or variables that force them: these change between versions, so the target installation is queried.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import amount, enumeration
from offbeat.libraries.families.inherited_settings import inherited_settings
from offbeat.libraries.families.libraries import LIBRARIES, title_of
from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.engines.engine_choice import find_algorithms
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import (
    DEFAULT,
    Algorithm,
    Verdict,
    WrongCall,
    in_words,
    kinds_of,
    split_file_and_function,
)
from offbeat.model.study.case import PARTITIONED_SEND
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.coverage import EXTENSION
from offbeat.selection.tuning_files import intelmpi, mpich, openmpi
from offbeat.selection.tuning_files.manifest import TuningFiles
from offbeat.selection.tuning_files.same_bits import bits_notes
from offbeat.selection.tuning_files.tuning_plan import TuningPlan, plan

Writer = Callable[[TuningPlan, Installation, Path], TuningFiles]

WRITERS: dict[str, dict[int, Writer]] = {
    "openmpi": {1: openmpi.write, 2: partial(openmpi.write, format_version=2)},
    "mpich": {1: mpich.write},
    "intelmpi": {1: intelmpi.write},
}
"""Family of a library → version of its file format → what writes a plan's files into a directory."""


def plan_for(
    results: Results,
    choices: Sequence[Choice],
    request: str = "",
    allowed_kinds: Collection[str] = (),
    extension: float = EXTENSION,
    *,
    keep_slower: bool = False,
) -> tuple[TuningPlan, Installation]:
    """The plan of ``choices``, and the installation that it is for: ``request``, as ``--mpi`` takes it, or
    the measured one. ``extension`` and ``keep_slower`` as
    :func:`offbeat.selection.tuning_files.tuning_plan.plan` takes them.

    ``allowed_kinds`` are kinds of legal calls (:data:`offbeat.model.study.algorithm.KINDS`) for which its
    algorithms may be wrong. Raises the errors of :func:`plan_of` and :func:`installation_for`.
    """
    _refuse_partitioned(results)
    library = measured_library(results.provenance)
    if is_simulated(library):
        tuning_plan, installation = _simulated_plan(
            results, choices, library, request, allowed_kinds, extension
        )
        _refuse_empty(results, tuning_plan)
        return tuning_plan, installation
    tuning_plan = plan_of(results, choices, allowed_kinds, extension, keep_slower=keep_slower)
    return tuning_plan, installation_for(tuning_plan, library, request)


def plan_of(
    results: Results,
    choices: Sequence[Choice],
    allowed_kinds: Collection[str] = (),
    extension: float = EXTENSION,
    *,
    keep_slower: bool = False,
) -> TuningPlan:
    """The plan of ``choices``; raises :class:`RunFailed` if it is empty, BadInput for imports."""
    tuning_plan = plan(
        choices,
        results.algorithms,
        verdicts=results.verdicts,
        library=measured_library(results.provenance),
        environment=study_environment(results.study),
        allowed_kinds=allowed_kinds,
        extension=extension,
        keep_slower=keep_slower,
    )
    _refuse_empty(results, tuning_plan)
    notes = [*tuning_plan.notes, *_untested_notes(results, tuning_plan), *faults_of_default(results.verdicts)]
    return msgspec.structs.replace(tuning_plan, notes=notes)


def _refuse_partitioned(results: Results) -> None:
    count = int((results.cases["collective"] == PARTITIONED_SEND).sum())
    if count:
        raise BadInput(
            f"the results hold {amount(count, 'case')} of {PARTITIONED_SEND}, and tuning files are for"
            " collectives only; 'offbeat select' shows the best approach of each message"
        )


def faults_of_default(verdicts: Iterable[Verdict]) -> list[str]:
    """A sentence for each collective of which the library's own choice gets legal calls wrong."""
    faults: dict[str, dict[str, WrongCall]] = {}
    for verdict in verdicts:
        for call in verdict.wrong_calls if verdict.algorithm == DEFAULT else []:
            faults.setdefault(verdict.collective, {}).setdefault(call.kind, call)
    return [
        f"The library itself, without a tuning file, is wrong in {collective} for {in_words(kinds_of(calls))}"
        f" ({calls[0]}). No algorithm was judged by such a call."
        for collective, by_kind in faults.items()
        for calls in [list(by_kind.values())]
    ]


def _untested_notes(results: Results, tuning_plan: TuningPlan) -> list[str]:
    """A sentence on algorithms for which only the measured calls were tested."""
    tested_algorithms = {(one.collective, one.algorithm) for one in results.verdicts if one.legal_calls}
    untested_names = {
        f"{rule.collective} by {rule.algorithm.name}": None
        for rules in tuning_plan.rules.values()
        for rule in rules
        if (rule.collective, rule.algorithm.name) not in tested_algorithms
    }
    if not untested_names:
        return []
    return [
        f"It is unknown whether {', '.join(untested_names)} is right for every legal call: these results"
        " come from"
        " an earlier version of offbeat or were imported. 'offbeat verify' tests the calls with the files."
    ]


def _refuse_empty(results: Results, tuning_plan: TuningPlan) -> None:
    if not tuning_plan.rules:
        why = (
            " ".join(tuning_plan.notes)
            or f"nothing was selected; 'offbeat select {results.directory}' shows why."
        )
        raise RunFailed(f"there is nothing to export for {results.directory}: {why}")


def study_environment(study: Mapping[str, object]) -> dict[str, str]:
    """The variables that a resolved study set for its processes."""
    section = study.get("mpi")
    environment = section.get("environment") if isinstance(section, Mapping) else None
    return (
        {str(name): str(value) for name, value in environment.items()}
        if isinstance(environment, Mapping)
        else {}
    )


def environment_notes(results: Results) -> list[str]:
    """A sentence on the variables that the study set for every launch, which are not in the tuning files."""
    variables = study_environment(results.study)
    if not variables:
        return []
    assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return [
        f"The study was measured, and 'offbeat verify' launches, with {assignments}: set them for your"
        " programs as well, or other algorithms may run."
    ]


def measured_library(provenance: Mapping[str, object]) -> dict[str, object]:
    """The entry of the MPI library in a study's provenance; empty if there is none."""
    library = provenance.get("library")
    return dict(library) if isinstance(library, Mapping) else {}


def installation_for(
    tuning_plan: TuningPlan, library: Mapping[str, object], request: str = ""
) -> Installation:
    """The installation that a plan's files are for: ``request`` (as ``--mpi`` takes it), or the measured
    one.

    Raises :class:`BadInput` if it is of another family than the measured one, or if the measured one no
    longer exists and none was named.
    """
    installation = find.choose(request) if request else _measured_installation(tuning_plan, library)
    if installation.family != tuning_plan.family:
        raise BadInput(
            f"{installation.name} is {title_of(installation.family)}, but these"
            f" results were measured with {tuning_plan.library}: tuning of one library does not apply to"
            f" another. Name an installation of {title_of(tuning_plan.family)} with --mpi PREFIX"
        )
    return installation


def _measured_installation(tuning_plan: TuningPlan, library: Mapping[str, object]) -> Installation:
    """The measured installation, by its launcher, prefix or name."""
    for key in ("mpirun", "prefix", "name"):
        identifier = str(library.get(key, ""))
        try:
            installation = find.choose(identifier) if identifier else None
        except BadInput:
            continue
        if installation is not None and installation.family == tuning_plan.family:
            return installation
    raise BadInput(
        f"the library that was measured, {tuning_plan.library}, was not found on this machine; name an"
        " installation of it with --mpi PREFIX"
    )


def write(
    tuning_plan: TuningPlan, installation: Installation, directory: Path, format_version: int | None = None
) -> TuningFiles:
    """Write a plan's files for an installation of its family into ``directory``.

    ``format_version`` chooses between Open MPI's two file formats (1 if ``None``); the other libraries have
    one. A note is added if the installation's version is not the measured one.
    """
    writers = WRITERS[tuning_plan.family]
    if format_version is not None and len(writers) == 1:
        raise BadInput(
            f"--format chooses between Open MPI's file formats; these results are of {tuning_plan.library}"
        )
    files = writers[format_version or 1](tuning_plan, installation, directory)
    if not files.rules:
        for path in files.files:
            path.unlink(missing_ok=True)
        raise RunFailed(
            f"the tuning files of {installation.name} cannot express any choice of the selection: "
            + " ".join(files.notes)
        )
    files = msgspec.structs.replace(
        files,
        wrong_result_warnings=tuning_plan.wrong_result_warnings,
        notes=[
            *bits_notes(rule.collective for rule in files.rules if rule.changes_bits),
            *files.notes,
            *_inherited_notes(installation, files),
        ],
    )
    version = ".".join(str(part) for part in installation.version)
    if tuning_plan.version and tuning_plan.version != version:
        files = msgspec.structs.replace(
            files,
            notes=[
                f"{tuning_plan.library} was measured, but the files are for {installation.name}: its"
                f" algorithms may"
                " behave differently and have other numbers. Check the files with 'offbeat verify'.",
                *files.notes,
            ],
        )
    return files


def _inherited_notes(installation: Installation, files: TuningFiles) -> list[str]:
    """A sentence on settings of this environment that choose algorithms and that the files do not replace."""
    replaced_names = files.environment.keys() | {
        name for entry in files.by_processes for name in entry.environment
    }
    other_settings = [
        one for one in inherited_settings(installation, os.environ) if one.name not in replaced_names
    ]
    if not other_settings:
        return []
    return [
        f"Your settings {enumeration([str(one) for one in other_settings])} choose algorithms, too, and the"
        " files do not replace them: programs that use the files must run without these settings."
    ]


def is_simulated(library: Mapping[str, object]) -> bool:
    """Whether results are simulated, by the entry 'library' of their provenance."""
    return library.get("simulated") is True


def _simulated_plan(
    results: Results,
    choices: Sequence[Choice],
    library: Mapping[str, object],
    request: str,
    allowed_kinds: Collection[str] = (),
    extension: float = EXTENSION,
) -> tuple[TuningPlan, Installation]:
    """The plan of simulated choices, with the settings of the installation that it is for.

    ``request`` names it, as ``--mpi`` takes it; empty means the first one of the simulated family. Raises
    :class:`BadInput` if there is none, or if no library has algorithms with this family's names.
    """
    family = str(library.get("family", ""))
    if family not in LIBRARIES:
        raise BadInput(
            f"{results.directory} simulated the algorithms of {family}, which no MPI library has;"
            " simulate those of a library with --family openmpi or --family mpich"
        )
    installation = _target_installation(family, request)
    # An algorithm that breaks legal programs is replaced by another one that was measured.
    names = {
        (one.configuration.collective, name)
        for one in choices
        for name in (one.algorithm, *one.scores)
        if name != DEFAULT
    }
    algorithms = find_algorithms(installation, names)
    available, notes = _available(choices, algorithms, installation)
    tuning_plan = plan(
        available,
        algorithms,
        verdicts=results.verdicts,
        library={"family": family},
        allowed_kinds=allowed_kinds,
        extension=extension,
    )
    simulator = str(library.get("name", ""))
    caveat = (
        f"These choices were simulated ({simulator}), not measured. A study of 'offbeat run"
        " --engine mpi' on the machine itself shows whether they are faster on it."
    )
    return msgspec.structs.replace(
        tuning_plan, notes=[caveat, *notes, *tuning_plan.notes], simulator=simulator
    ), installation


def _target_installation(family: str, request: str) -> Installation:
    family_name = title_of(family)
    if request:
        installation = find.choose(request)
        if installation.family != family:
            found_title = title_of(installation.family)
            raise BadInput(
                f"{installation.name} is {found_title}, but these results simulate {family_name}: name an"
                f" installation of {family_name} with --mpi PREFIX"
            )
        return installation
    for installation in find.installations():
        if installation.family == family:
            return installation
    raise BadInput(
        f"these results simulate {family_name}, and no installation of it was found on this machine"
        " to query its settings; name one with --mpi PREFIX"
    )


def _why_missing(algorithm: str, installation: Installation) -> str:
    if split_file_and_function(algorithm):
        return f"{algorithm} is an algorithm of yours, which no library has"
    return f"{installation.name} has no {algorithm}"


def _available(
    choices: Sequence[Choice], algorithms: Iterable[Algorithm], installation: Installation
) -> tuple[list[Choice], list[str]]:
    """The choices, with the library's default where it lacks the chosen algorithm, and a sentence on each."""
    installed_algorithms = {(algorithm.collective, algorithm.name) for algorithm in algorithms}
    available: list[Choice] = []
    missing_algorithms: dict[tuple[str, str], list[str]] = {}
    for choice in choices:
        key = (choice.configuration.collective, choice.algorithm)
        if key in installed_algorithms or choice.algorithm == DEFAULT:
            available.append(choice)
            continue
        missing_algorithms.setdefault(key, []).append(str(choice.configuration))
        available.append(msgspec.structs.replace(choice, algorithm=DEFAULT))
    notes = [
        f"{', '.join(configurations)}: left to the library, because {_why_missing(name, installation)}."
        for (_, name), configurations in missing_algorithms.items()
    ]
    return available, notes
