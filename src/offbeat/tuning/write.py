"""From results to tuning files: the plan, the installation they are for, and the writer of its family."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from offbeat.errors import BadInput, RunFailed
from offbeat.mpi import find
from offbeat.mpi.installation import Installation
from offbeat.select.coverage import BEYOND
from offbeat.tuning import intelmpi, mpich, openmpi, simulated
from offbeat.tuning.files import TuningFiles
from offbeat.tuning.plan import FAMILY_NAMES, TuningPlan, plan

if TYPE_CHECKING:
    from offbeat.results.read import Results
    from offbeat.select.choose import Choice


def plan_for(
    results: Results,
    choices: Sequence[Choice],
    wanted: str = "",
    allowed: Collection[str] = (),
    beyond: float = BEYOND,
) -> tuple[TuningPlan, Installation]:
    """The plan of ``choices``, and the installation that it is for: ``wanted``, as ``--mpi`` takes it, or the
    measured one. ``beyond`` as :func:`offbeat.tuning.plan.plan` takes it.

    ``allowed`` are kinds of legal calls (:data:`offbeat.study.legal.KINDS`) for which its algorithms may be
    wrong. Raises what :func:`plan_of` and :func:`installation_for` raise.
    """
    library = measured_library(results.provenance)
    if simulated.is_simulated(library):
        made, installation = simulated.plan_for(results, choices, library, wanted, allowed, beyond)
        _refuse_empty(results, made)
        return made, installation
    made = plan_of(results, choices, allowed, beyond)
    return made, installation_for(made, library, wanted)


def plan_of(
    results: Results, choices: Sequence[Choice], allowed: Collection[str] = (), beyond: float = BEYOND
) -> TuningPlan:
    """The plan of ``choices`` made from ``results``; ``beyond`` as :func:`offbeat.tuning.plan.plan` takes it.

    Raises :class:`RunFailed` when nothing was selected and :class:`BadInput` for measurements made elsewhere.
    """
    made = plan(
        choices,
        results.algorithms,
        verdicts=results.verdicts,
        library=measured_library(results.provenance),
        environment=study_environment(results.study),
        allowed=allowed,
        beyond=beyond,
    )
    _refuse_empty(results, made)
    return msgspec.structs.replace(made, notes=[*made.notes, *_untried(results, made)])


def _untried(results: Results, made: TuningPlan) -> list[str]:
    """A sentence on algorithms of which nobody tried other calls than the measured ones."""
    tried = {(one.collective, one.algorithm) for one in results.verdicts if one.legal_calls}
    untried = {
        f"{rule.collective} by {rule.algorithm.name}": None
        for rules in made.rules.values()
        for rule in rules
        if (rule.collective, rule.algorithm.name) not in tried
    }
    if not untried:
        return []
    return [
        f"These results do not tell whether {', '.join(untried)} is right for every legal call: they come"
        " from an earlier version of offbeat or from elsewhere. 'offbeat verify' tries the calls with the"
        " files."
    ]


def _refuse_empty(results: Results, made: TuningPlan) -> None:
    if not made.rules:
        why = " ".join(made.notes) or f"nothing was selected; 'offbeat select {results.directory}' says why."
        raise RunFailed(f"there is nothing to write for {results.directory}: {why}")


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
    """A sentence on the variables that the study set for every launch, which the tuning files do not hold."""
    variables = study_environment(results.study)
    if not variables:
        return []
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return [
        f"The study was measured, and 'offbeat verify' launches, with {words}: set the same for your"
        " programs, or something else may run there."
    ]


def measured_library(provenance: Mapping[str, object]) -> dict[str, object]:
    """What the provenance of a study says of its MPI library; empty where it says nothing."""
    library = provenance.get("library")
    return dict(library) if isinstance(library, Mapping) else {}


def installation_for(made: TuningPlan, library: Mapping[str, object], wanted: str = "") -> Installation:
    """The installation that files of a plan are for: ``wanted`` (as ``--mpi`` takes it), or the measured one.

    Raises :class:`BadInput` when it is of another family than the measured one, or when the measured one is
    no longer there and none was named.
    """
    installation = find.choose(wanted) if wanted else _measured(made, library)
    if installation.family != made.family:
        raise BadInput(
            f"{installation.name} is {FAMILY_NAMES.get(installation.family, installation.family)}, but these"
            f" results were measured with {made.library}: algorithms of one library say nothing about"
            f" another's. Name an installation of {FAMILY_NAMES[made.family]} with --mpi PREFIX"
        )
    return installation


def _measured(made: TuningPlan, library: Mapping[str, object]) -> Installation:
    """The measured installation, by its launcher, prefix or name."""
    for key in ("mpirun", "prefix", "name"):
        where = str(library.get(key, ""))
        try:
            found = find.choose(where) if where else None
        except BadInput:
            continue
        if found is not None and found.family == made.family:
            return found
    raise BadInput(
        f"the library that was measured, {made.library}, was not found on this machine; name an installation"
        " of it with --mpi PREFIX"
    )


def write(
    made: TuningPlan, installation: Installation, directory: Path, format_version: int | None = None
) -> TuningFiles:
    """Write a plan's files for an installation of its family into ``directory``.

    ``format_version`` chooses between Open MPI's two file formats (1 if ``None``); the other libraries have
    one. An installation of another version than the measured one is noted.
    """
    if format_version is not None and made.family != "openmpi":
        raise BadInput(
            f"--format chooses between Open MPI's file formats; these results are of {made.library}"
        )
    if made.family == "openmpi":
        files = openmpi.write(made, installation, directory, format_version or 1)
    elif made.family == "mpich":
        files = mpich.write(made, installation, directory)
    else:
        files = intelmpi.write(made, installation, directory)
    if not files.rules:
        for path in files.files:
            path.unlink(missing_ok=True)
        raise RunFailed(
            f"nothing of the selection can be said in the tuning files of {installation.name}: "
            + " ".join(files.notes)
        )
    files = msgspec.structs.replace(files, insisted=made.insisted)
    version = ".".join(str(part) for part in installation.version)
    if made.version and made.version != version:
        files = msgspec.structs.replace(
            files,
            notes=[
                f"{made.library} was measured, but the files are for {installation.name}: algorithms may"
                " behave differently there, and their numbers may mean others. Prove them with 'offbeat"
                " verify'.",
                *files.notes,
            ],
        )
    return files
