"""Creates plans, choices and installations for the tests of tuning files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan, plan


def choice(collective: str, p: int, size: int, algorithm: str, **other: Any) -> Choice:
    """The choice for one configuration; the rest of the configuration and ``scores`` are optional."""
    scores = other.pop("scores", {algorithm: 1.0})
    configuration = Configuration(
        "library 1", p, other.pop("nodes", 0), other.pop("ppn", 0), collective, size, **other
    )
    return Choice(
        configuration=configuration,
        rule="average",
        algorithm=algorithm,
        no_delay_winner=None,
        winners={},
        good={},
        scores=scores,
        certainty=None,
        cost_of_no_delay_winner=None,
        cost_of_default=None,
        warnings=[],
    )


def setting(family: str, collective: str, number: int) -> dict[str, str]:
    """The settings that choose algorithm ``number`` of a collective."""
    upper = collective.upper()
    return {
        "openmpi": {f"coll_tuned_{collective}_algorithm": str(number)},
        "mpich": {f"MPIR_CVAR_{upper}_INTRA_ALGORITHM": f"way{number}"},
        "intelmpi": {f"I_MPI_ADJUST_{upper}": str(number)},
    }[family]


def algorithms(family: str, collective: str, count: int = 4) -> list[Algorithm]:
    """Algorithms 1 to ``count`` of a collective, called way1, way2 and so on, after the default."""
    tuning_plan = [Algorithm(collective=collective, name="default")]
    for number in range(1, count + 1):
        settings = setting(family, collective, number)
        tuning_plan.append(Algorithm(collective=collective, name=f"way{number}", settings=settings))
    return tuning_plan


def create_plan(
    family: str, chosen: dict[tuple[str, int, int], str], version: str = "1.2.3", beyond: float = 1.0
) -> TuningPlan:
    """The plan of choices, (collective, p, bytes) → algorithm; end sizes cover only themselves
    unless ``beyond`` is larger.
    """
    known = [a for collective in {key[0] for key in chosen} for a in algorithms(family, collective)]
    choices = [choice(*key, name) for key, name in chosen.items()]
    return plan(choices, known, library={"family": family, "version": version}, extension=beyond)


def planned(tuning_plan: TuningPlan, collective: str, p: int, size: int) -> Rule | None:
    """The plan's algorithm for a call; ``None`` is the library's default."""
    for rule in tuning_plan.rules.get(collective, []):
        if rule.p_low <= p <= rule.p_high and rule.bytes_low <= size <= rule.bytes_high:
            return rule
    return None


def installation(
    family: str, version: tuple[int, ...], library: Path = Path("/nowhere/libmpi.so")
) -> Installation:
    """An installation that need not exist."""
    name = f"{family}-{'.'.join(map(str, version))}"
    return Installation(
        name=name,
        family=family,
        version=version,
        version_text=name,
        prefix=Path("/nowhere"),
        source="test",
        library=library,
        include=Path("/nowhere/include"),
        mpicc=None,
        mpirun=Path("/nowhere/bin/mpirun"),
        identity="0",
    )


PROCESSES = st.lists(st.integers(1, 40), min_size=1, max_size=3, unique=True)
SIZES = st.lists(st.integers(0, 100_000), min_size=1, max_size=4, unique=True)
NAMES = st.sampled_from(["default", "way1", "way2", "way3"])


@st.composite
def chosen(draw: st.DrawFn, collectives: list[str]) -> dict[tuple[str, int, int], str]:
    """(collective, p, bytes) → algorithm, for one of ``collectives``; not all the default."""
    collective = draw(st.sampled_from(collectives))
    configurations = {(collective, p, size): draw(NAMES) for p in draw(PROCESSES) for size in draw(SIZES)}
    if set(configurations.values()) == {"default"}:
        configurations[next(iter(configurations))] = "way1"
    return configurations


def telling_calls(tuning_plan: TuningPlan, collective: str) -> list[tuple[int, int]]:
    """Processes and sizes at, beside and between all bounds of a plan's rules."""
    rules = tuning_plan.rules[collective]
    ps = {
        q for r in rules for q in (r.p_low - 1, r.p_low, r.p, r.p_high, r.p_high + 1, 2 * r.p_high) if q > 0
    }
    bounds = {b for r in rules for b in (r.bytes_low, r.bytes, r.bytes_high)}
    sizes = {s for b in bounds for s in (b - 1, b, b + 1, 3 * b + 7) if s >= 0}
    return [(p, size) for p in sorted(ps) for size in sorted(sizes)]
