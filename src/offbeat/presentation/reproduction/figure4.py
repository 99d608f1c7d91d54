"""Figure 4 of "MPI Collective Algorithm Selection in the Presence of Process Arrival Patterns".

Section III of the paper: reduce, allreduce and alltoall on 32 nodes of 32 cores, all algorithms of SimGrid,
no_delay and the eight shapes of figure 3, skews of 0.5, 1.0 and 1.5 times the mean run time without delay.
The caption states 1,024 processes; the sizes are powers of two up to 1 MiB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, cast

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import hint
from offbeat.base.units import enumeration, parse_size
from offbeat.measurement.engines import executors
from offbeat.measurement.engines.engine_choice import sim_engine_of
from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs import resume
from offbeat.measurement.runs.run import run
from offbeat.measurement.runs.run_progress import ProgressListener
from offbeat.model.pattern import SHAPE_NAMES
from offbeat.model.study.schema import (
    CollectiveSection,
    Executor,
    PatternsSection,
    ProcessesSection,
    SimulatorSection,
    SkewSection,
    Study,
)
from offbeat.model.study.study_file import from_structure
from offbeat.presentation.drawing.picture_files import write_pictures
from offbeat.presentation.reproduction.claims import NAMED, Reproduction, sentences
from offbeat.presentation.reproduction.maps import algorithms_of, map_figure, maps
from offbeat.simulation.calls import catalogue

COLLECTIVES = ("reduce", "allreduce", "alltoall")
FACTORS = (0.5, 1.0, 1.5)
SIZES = tuple(2**exponent for exponent in range(1, 21))
SHAPES = tuple(name for name in SHAPE_NAMES if name not in ("node_delayed", "noise"))
"""no_delay and eight shapes. The paper's text names four of the shapes in its figure 3; the others are those
named in its figures 5 to 8, and two with half of the processes delayed and with a maximum in the middle."""

FAMILY: Final = "simgrid"
"""The paper used SimGrid 3.35: its algorithms, under its names."""


class Part(Struct, frozen=True, kw_only=True):
    """A part of the figure; empty fields select everything.

    ``sizes`` are in bytes; ``p`` is 0 for all cores of the platform.
    """

    collectives: tuple[str, ...] = ()
    factors: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    algorithms: tuple[str, ...] = ()
    platform: str = "paper"
    p: int = 1024


def selected_part(
    collectives: Sequence[str],
    factors: Sequence[float],
    sizes: Sequence[str],
    algorithms: Sequence[str],
    platform: str,
    p: int,
) -> Part:
    """The part selected by options. Raises :class:`BadInput` for what the figure does not have."""
    for name in collectives:
        if name not in COLLECTIVES:
            raise BadInput(f"--collective {name}: figure 4 shows {', '.join(COLLECTIVES)}")
    for factor in factors:
        if not 0 < factor < 1e6:
            raise BadInput(f"--factor {factor:g}: a skew factor is a number above 0, such as 1.5")
    selected = tuple(collectives) or COLLECTIVES
    known = [one.name for name in selected for one in catalogue.algorithms(name, FAMILY)]
    for name in algorithms:
        if not any(catalogue.find(collective, FAMILY, name) for collective in selected):
            raise BadInput(
                f"--algorithm {name}: {enumeration(selected)} have none of this name{hint(name, known)}"
            )
    return Part(
        collectives=tuple(dict.fromkeys(collectives)),
        factors=tuple(dict.fromkeys(factors)),
        sizes=tuple(dict.fromkeys(_size(text) for text in sizes)),
        algorithms=tuple(dict.fromkeys(algorithms)),
        platform=platform,
        p=p,
    )


def study(part: Part, executor: Executor = "local") -> Study:
    """Returns the study of a part of the figure; ``executor`` says where it is simulated."""
    sections = []
    for collective in part.collectives or COLLECTIVES:
        names = [name for name in part.algorithms if catalogue.find(collective, FAMILY, name)]
        sections.append(
            CollectiveSection(
                names=[collective],
                sizes=list(part.sizes or SIZES),
                algorithms=names or ["all"],
                datatype="byte",
            )
        )
    return Study(
        name="figure 4",
        engine="sim",
        collective=sections,
        processes=ProcessesSection(p=[part.p]),
        patterns=PatternsSection(shapes=list(SHAPES)),
        skew=SkewSection(policy="mean", factors=list(part.factors or FACTORS)),
        simulator=SimulatorSection(platform=part.platform, family=FAMILY, executor=executor),
    )


def _size(text: str) -> int:
    try:
        size = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--size {text}: {error}") from None
    if size < 1:
        raise BadInput(f"--size {text}: a message has 1 byte or more")
    return size


FOLDER = "maps"
"""The folder of the pictures inside the result directory."""


def reproduce(
    part: Part,
    directory: Path,
    listener: ProgressListener,
    executor: str | None = None,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Reproduction:
    """Simulate the rest, then draw the maps; raises BadInput if the directory holds anything else."""
    requested = study(part, cast(Executor, executor or "local"))  # from_structure() refuses other words
    loaded = from_structure(requested, "figure4.toml")
    executors.check(loaded.study.simulator.executor)
    with resume.open_store(loaded, directory) as store:
        engine = sim_engine_of(loaded)
        try:
            outcome = run(loaded, store, engine, listener, out_of_time)
        finally:
            engine.close()
    if outcome.is_stopped:
        return Reproduction(done=outcome.finished_cases, total=outcome.total, pictures=[], claims=[])
    results = read_study(directory)
    all_maps = maps(results)
    files: list[Path] = []
    for one in all_maps:
        figure = map_figure(one, algorithms_of(all_maps, one.collective), engine.name)
        files += write_pictures(figure, directory / FOLDER, one.name)
    claims = sentences(all_maps, maps(results, NAMED))
    return Reproduction(done=outcome.finished_cases, total=outcome.total, pictures=files, claims=claims)
