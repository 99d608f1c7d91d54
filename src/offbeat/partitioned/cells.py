"""Measured cells: the cases of a study of partitioned messages, with the ready times that they had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.measurement.results.blocks import RESOLUTION_S
from offbeat.measurement.results.read import Results, read_study
from offbeat.model.study.algorithm import LEARNED, OWN, OWN_SETTINGS, POLLED, split_name
from offbeat.model.study.case import PARTITIONED_SEND
from offbeat.model.study.case_expansion import NO_DELAY, SENDER
from offbeat.partitioned.costs import messages_of_bytes, threads_of_partitions
from offbeat.partitioned.gain_model import Times


class Cell(Struct, frozen=True, eq=False, kw_only=True):
    """One measured case. ``setting`` is the number of messages that the study sets; 0: none. ``case`` is the
    case's key in the results.

    ``ready_s`` (partitions,) are the typical times at which partitions were ready; the first is 0. ``time_s``
    is d̂ with its 95% confidence interval.
    """

    approach: str
    total_bytes: int
    threads: int
    pattern: str
    ready_s: Times
    time_s: float
    low_s: float
    high_s: float
    setting: int = 0
    case: str = ""

    @property
    def partitions(self) -> int:
        """The partitions of the message."""
        return len(self.ready_s)

    @property
    def delay_s(self) -> float:
        """The time between the first and the last ready partition."""
        return float(self.ready_s.max())

    @property
    def message(self) -> tuple[int, int, int, str]:
        """What cells that are compared with each other have in common."""
        return self.total_bytes, self.partitions, self.threads, self.pattern


class Measured(Struct, frozen=True, eq=False, kw_only=True):
    """The cells of studies on one machine; ``noise_s`` are median and standard deviation of the lateness of
    ready partitions. ``notes`` are what is damaged or missing in the results."""

    cells: list[Cell]
    noise_s: tuple[float, float]
    source: str
    date: str
    nodes: int
    cores: int
    notes: list[str] = []


def read_measured(directories: Sequence[Path]) -> Measured:
    """The cells of result directories. Raises BadInput as :func:`measured_of`."""
    return measured_of([read_study(directory) for directory in directories])


def measured_of(studies: Sequence[Results]) -> Measured:
    """The cells of studies. Raises BadInput where there is none, for two libraries and for two placements."""
    libraries = list(
        dict.fromkeys(library for study in studies for library in study.cases["library"].unique())
    )
    if len(libraries) > 1:
        raise BadInput(
            f"the results are of {' and '.join(map(str, libraries))}; fit the results of each library by"
            " themselves"
        )
    _check_nodes(studies)
    known = [(study, _arrivals(study)) for study in studies]
    cells = [cell for study, arrivals in known for cell in _cells(study, arrivals)]
    if not cells:
        named = ", ".join(str(study.directory) for study in studies)
        raise BadInput(
            f"{named}: no partitioned message was measured; measure a study with [[partitioned]] first"
        )
    first = studies[0].provenance
    return Measured(
        cells=cells,
        noise_s=_noise_s(known),
        source=f"{libraries[0]} on {first.get('host') or 'an unknown host'}",
        date=str(first.get("time", ""))[:10],
        nodes=max(int(study.cases["nodes"].max() or 1) for study in studies),  # type: ignore[arg-type]
        cores=int((first.get("topology") or {}).get("cores") or 1),
        notes=[note for study in studies for note in study.notes],
    )


def _check_nodes(studies: Sequence[Results]) -> None:
    """Messages inside a node and between nodes have different costs."""
    nodes = sorted({count or 0 for study in studies for count in study.cases["nodes"].unique()})
    if len(nodes) > 1:
        placements = " and ".join(amount(count, "node") if count else "nodes not stated" for count in nodes)
        raise BadInput(
            f"the results have messages between processes on {placements}; give the results of one placement"
        )


def _cells(results: Results, arrivals: pl.DataFrame) -> Iterable[Cell]:
    usable = (
        (pl.col("collective") == PARTITIONED_SEND)
        & pl.col("last_delay_s").is_finite().fill_null(False)
        & (pl.col("proof") == "proved")
        & (pl.col("status") != "quarantined")
    )
    cases = results.cases.filter(usable)
    if cases.is_empty():
        return
    ready_s = _ready_s(arrivals)
    variables = results.study.get("mpi", {}).get("environment", {})
    environment = {
        key: str(variables[OWN_SETTINGS[key]])
        for key in ("messages", "message_bytes")
        if variables.get(OWN_SETTINGS[key])
    }
    for row in cases.iter_rows(named=True):
        modelled = modelled_approach(row["algorithm"], row["bytes"], row["partitions"], environment)
        if modelled and row["case"] in ready_s:
            yield Cell(
                approach=modelled[0],
                total_bytes=row["bytes"],
                threads=row["threads"],
                pattern=row["pattern"],
                ready_s=ready_s[row["case"]],
                time_s=max(row["last_delay_s"], RESOLUTION_S),
                low_s=max(row["last_delay_low_s"], RESOLUTION_S),
                high_s=max(row["last_delay_high_s"], RESOLUTION_S),
                setting=modelled[1],
                case=row["case"],
            )


def modelled_approach(
    name: str, total_bytes: int, partitions: int, environment: Mapping[str, str]
) -> tuple[str, int] | None:
    """The approach and the number of messages of the model for a measured algorithm.

    ``environment`` has the settings of messages in the study's environment, which parameters override. As in
    the library, ``messages`` takes precedence over ``message_bytes``, wherever each is set. None for settings
    that the model does not have, such as lanes, and for receivers that poll: the sender's choice is the same.
    """
    approach, parameters = split_name(name)
    if approach in POLLED:
        return None
    if approach == OWN:
        parameters = {**environment, **parameters}
        if "messages" in parameters:
            parameters.pop("message_bytes", None)
    if not parameters:
        return approach, 0
    ((key, text), *others) = parameters.items()
    if others or key not in ("messages", "message_bytes"):
        return None
    if key == "messages" and text == "learned":
        return LEARNED, 0
    if not text.isdecimal() or not int(text):  # the library accepts positive numbers only
        return None
    count = int(text) if key == "messages" else messages_of_bytes(partitions, total_bytes, int(text))
    return OWN, count


def _ready_s(arrivals: pl.DataFrame) -> dict[str, Times]:
    """Case → the median ready time of each partition, from the first one."""
    medians = arrivals.group_by("case", "partition").agg(pl.col("arrival_s").median())
    listed = medians.sort("case", "partition").group_by("case", maintain_order=True).agg("arrival_s")
    ready_s = {case: np.asarray(times, dtype=np.float64) for case, times in listed.iter_rows()}
    return {case: times - times.min() for case, times in ready_s.items()}


def _noise_s(known: Sequence[tuple[Results, pl.DataFrame]]) -> tuple[float, float]:
    """Median and standard deviation of the lateness of threads that should begin at the start.

    A thread's lateness is that of its first partition: the driver measures that of later ones from when the
    thread has marked the earlier ones. Both are robust: the median, and the deviation of a normal
    distribution with the same quartiles.
    """
    from scipy.stats import iqr  # loads slowly

    values = np.concatenate([_first_arrivals(*one)["arrival_s"].to_numpy() for one in known])
    if not len(values):
        return 0.0, 0.0
    return max(float(np.median(values)), 0.0), float(iqr(values, scale="normal"))


def _first_arrivals(results: Results, arrivals: pl.DataFrame) -> pl.DataFrame:
    """The arrivals of each thread's first partition, of cases without delays."""
    cases = results.cases.filter((pl.col("collective") == PARTITIONED_SEND) & (pl.col("pattern") == NO_DELAY))
    firsts = [
        (case, int(partition))
        for case, partitions, threads in cases.select("case", "partitions", "threads").iter_rows()
        for partition in np.unique(threads_of_partitions(partitions, threads), return_index=True)[1]
    ]
    schema = {name: arrivals.schema[name] for name in ("case", "partition")}
    return arrivals.join(pl.DataFrame(firsts, schema, orient="row"), on=["case", "partition"])


def _arrivals(results: Results) -> pl.DataFrame:
    """The arrivals of the sender's partitions in valid repetitions."""
    valid = results.repetitions.filter("valid").select("case", "repetition")
    return results.ranks().filter(rank=SENDER).join(valid, on=["case", "repetition"])
