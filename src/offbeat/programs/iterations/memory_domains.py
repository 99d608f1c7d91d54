"""The memory domain of each rank: what the trace or the user says, or else its node."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.programs.simulation.iterations import numbered
from offbeat.trace.files.trace_folder import Trace


class Domains(Struct, frozen=True, kw_only=True, eq=False):
    """The domain of each rank (p,), numbered from 0 in the order of their first ranks; ``source`` says what a
    domain is."""

    of_rank: NDArray[np.int32]
    source: str

    @property
    def count(self) -> int:
        """The number of domains."""
        return int(self.of_rank.max(initial=-1)) + 1

    def select(self, places: NDArray[np.int64]) -> Domains:
        """The domains of some ranks only."""
        return _numbered(self.of_rank[places].tolist(), self.source)


def domains_of(trace: Trace, ranks: NDArray[np.int64], *, size: int = 0, listed: str = "") -> Domains:
    """The domains of ``ranks`` (p,), which have files.

    By default they are those that the trace notes, as traces of simulated programs do, or else nodes.
    ``size`` divides each node into domains of this many neighbouring ranks; ``listed`` lists the ranks of
    each domain, as in ``0-17/18-35``. Raises :class:`BadInput`.
    """
    if size and listed:
        raise BadInput("--domain-size and --domains say the same: give one of them")
    if listed:
        return _listed(trace, ranks, listed)
    hosts = {file.header.rank: file.header.host for file in trace.files}
    if not size:
        noted = {file.header.rank: file.memory_domain for file in trace.files}
        if all(noted[rank] is not None for rank in ranks.tolist()):
            return _numbered([noted[rank] for rank in ranks.tolist()], "as the trace says")
        return _numbered([hosts[rank] for rank in ranks.tolist()], "a node")
    seen: dict[str, int] = {}
    keys = []
    for rank in range(trace.size):
        # Of ranks without a file the node is not known: that of the rank before.
        host = hosts.setdefault(rank, hosts.get(rank - 1, ""))
        keys.append((host, seen.get(host, 0) // size))
        seen[host] = seen.get(host, 0) + 1
    return _numbered([keys[rank] for rank in ranks.tolist()], f"{amount(size, 'rank')} of a node")


def _listed(trace: Trace, ranks: NDArray[np.int64], listed: str) -> Domains:
    from offbeat.trace.exports.exports import ranks_of  # importing polars is slow

    of: dict[int, int] = {}
    for number, part in enumerate(listed.split("/")):
        if not part.strip():
            raise BadInput(f"--domains {listed}: a domain has no ranks; write 0-17/18-35, for example")
        for rank in ranks_of(part.strip(), trace, "--domains") or []:
            if rank in of:
                raise BadInput(f"--domains {listed}: rank {rank} is in two domains")
            of[rank] = number
    missing = [rank for rank in ranks.tolist() if rank not in of]
    if missing:
        raise BadInput(f"--domains {listed}: rank {missing[0]} is in no domain")
    return _numbered([of[rank] for rank in ranks.tolist()], "as listed")


def _numbered(keys: Sequence[Hashable], source: str) -> Domains:
    return Domains(of_rank=numbered(keys), source=source)
