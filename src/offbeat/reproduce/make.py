"""Figure 4 from beginning to end: the study, its maps, and what they show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from offbeat.engines import executors, resume
from offbeat.engines.open import sim_engine_of
from offbeat.engines.progress import ProgressListener
from offbeat.engines.run import run
from offbeat.report import pictures
from offbeat.reproduce.claims import NAMED, sentences
from offbeat.reproduce.draw import algorithms_of, map_figure
from offbeat.reproduce.figure4 import Part, study_text
from offbeat.reproduce.maps import maps
from offbeat.results.read import read_study
from offbeat.study.load import loads, simulator_options

FOLDER = "maps"
"""Where the pictures go inside the result directory."""


class Made(Struct, frozen=True, kw_only=True):
    """What came of it: how many cases there are and were wanted, the pictures, and a line for each claim."""

    done: int
    total: int
    pictures: list[Path]
    claims: list[str]


def make(
    wanted: Part,
    directory: Path,
    told: ProgressListener,
    executor: str | None = None,
    out_of_time: Callable[[float], bool] = lambda _: False,
) -> Made:
    """Simulate what is not simulated yet, and draw the maps if all of it is there.

    Raises BadInput where the directory holds something else, or another part of the figure.
    """
    path = Path("figure4.toml")  # for sentences; the study stands in the result directory
    loaded = loads(study_text(wanted), path, overrides=simulator_options(executor=executor))
    executors.check(loaded.study.simulator.executor)
    with resume.open_store(loaded, directory) as store:
        engine = sim_engine_of(loaded)
        try:
            outcome = run(loaded, store, engine, told, out_of_time)
        finally:
            engine.close()
    if outcome.stopped:
        return Made(done=outcome.done, total=outcome.total, pictures=[], claims=[])
    results = read_study(directory)
    everything = maps(results)
    written: list[Path] = []
    for one in everything:
        figure = map_figure(one, algorithms_of(everything, one.collective), engine.name)
        written += pictures.write(figure, directory / FOLDER, one.name)
    claims = sentences(everything, maps(results, NAMED))
    return Made(done=outcome.done, total=outcome.total, pictures=written, claims=claims)
