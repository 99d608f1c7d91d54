"""Tuning files from simulated results: the library is asked how it calls what was simulated.

A simulation knows algorithms by the names that a library gives them, and nothing of the numbers or variables
by which that library is told to use them: these move between versions, so the installation that the files are
for is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from offbeat.engines.catalogue import named
from offbeat.errors import BadInput
from offbeat.mpi import find
from offbeat.mpi.installation import Installation
from offbeat.select.coverage import BEYOND
from offbeat.study.algorithm import DEFAULT, Algorithm
from offbeat.tuning.plan import FAMILY_NAMES, TuningPlan, plan

if TYPE_CHECKING:
    from offbeat.results.read import Results
    from offbeat.select.choose import Choice


def is_simulated(library: Mapping[str, object]) -> bool:
    """Whether results are a simulation's, by the entry 'library' of their provenance."""
    return library.get("simulated") is True


def plan_for(
    results: Results,
    choices: Sequence[Choice],
    library: Mapping[str, object],
    wanted: str,
    allowed: Collection[str] = (),
    beyond: float = BEYOND,
) -> tuple[TuningPlan, Installation]:
    """The plan of simulated choices, with the settings of the installation that it is for.

    ``wanted`` names it, as ``--mpi`` takes it; empty means the first one of the simulated family. Raises
    :class:`BadInput` where there is none, or where no library has algorithms of this family's names.
    """
    family = str(library.get("family", ""))
    if family not in FAMILY_NAMES:
        raise BadInput(
            f"{results.directory} simulated the algorithms of {family}, which no MPI library has under these"
            " names; simulate a library's with --family openmpi or --family mpich"
        )
    installation = _installation(family, wanted)
    wanted_names = {
        (one.configuration.collective, one.algorithm) for one in choices if one.algorithm != DEFAULT
    }
    algorithms = named(installation, wanted_names)
    known, notes = _known(choices, algorithms, installation)
    made = plan(
        known,
        algorithms,
        verdicts=results.verdicts,
        library={"family": family},
        allowed=allowed,
        beyond=beyond,
    )
    simulator = str(library.get("name", ""))
    caution = (
        f"These choices were simulated ({simulator}), not measured. A study of 'offbeat run"
        " --engine mpi' on the machine itself shows whether they are faster there."
    )
    return msgspec.structs.replace(
        made, notes=[caution, *notes, *made.notes], simulator=simulator
    ), installation


def _installation(family: str, wanted: str) -> Installation:
    called = FAMILY_NAMES[family]
    if wanted:
        installation = find.choose(wanted)
        if installation.family != family:
            other = FAMILY_NAMES.get(installation.family, installation.family)
            raise BadInput(
                f"{installation.name} is {other}, but these results simulate {called}: name an installation"
                f" of {called} with --mpi PREFIX"
            )
        return installation
    for installation in find.installations():
        if installation.family == family:
            return installation
    raise BadInput(
        f"these results simulate {called}, and there is none on this machine that could be asked for its"
        " settings; name an installation of it with --mpi PREFIX"
    )


def _known(
    choices: Sequence[Choice], algorithms: Iterable[Algorithm], installation: Installation
) -> tuple[list[Choice], list[str]]:
    """The choices, with the library's own decision where it lacks what was chosen, and a sentence on each."""
    there = {(algorithm.collective, algorithm.name) for algorithm in algorithms}
    kept: list[Choice] = []
    missing: dict[tuple[str, str], list[str]] = {}
    for choice in choices:
        key = (choice.configuration.collective, choice.algorithm)
        if key in there or choice.algorithm == DEFAULT:
            kept.append(choice)
            continue
        missing.setdefault(key, []).append(str(choice.configuration))
        kept.append(msgspec.structs.replace(choice, algorithm=DEFAULT))
    notes = [
        f"{', '.join(configurations)}: left to the library, for {installation.name} has no {name}."
        for (_, name), configurations in missing.items()
    ]
    return kept, notes
