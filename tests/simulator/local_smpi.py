"""SimGrid's SMPI on this machine, for tests."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from real_libraries import skip_without

from offbeat.base.errors import RunFailed
from offbeat.measurement.engines import smpi_platform
from offbeat.measurement.engines.smpi_program import PACKAGE, SimGridProcess, build_program
from offbeat.model.platform.machine import Platform, load
from offbeat.model.platform.network import Nodes

PATIENCE_S = 60.0


@functools.cache
def program() -> Path:
    """The program; skips or fails the test if SimGrid is missing."""
    try:
        return build_program()
    except RunFailed as failed:
        if "needs SimGrid" in str(failed):
            skip_without(f"SimGrid ({PACKAGE})")
        raise


def platform(preset: str = "paper", **changes: object) -> Platform:
    """A built-in platform with other values for keys of the file itself: ``messages__eager_below=4096``."""
    file = load(preset).file
    for key, value in changes.items():
        section, _, name = key.rpartition("__")
        if section:
            value = msgspec.structs.replace(getattr(file, section), **{name: value})
        file = msgspec.structs.replace(file, **{section or name: value})
    return Platform(file=file, path="platform.toml", text="")


def placed(p: int, nodes: int) -> Nodes:
    """Ranks in equal blocks on the first nodes."""
    return np.ascontiguousarray(np.arange(p) // (p // nodes), dtype=np.int32)


@contextmanager
def oracle(machine: Platform, node_of_rank: Nodes, folder: Path) -> Iterator[SimGridProcess]:
    """SMPI with ranks on a platform."""
    running = SimGridProcess(
        program(),
        smpi_platform.xml(machine, node_of_rank),
        [smpi_platform.host(int(node)) for node in node_of_rank],
        smpi_platform.settings(machine),
        folder=folder,
        log=folder / "smpi.log",
        patience_s=PATIENCE_S,
    )
    try:
        yield running
    finally:
        running.close(1.0)
