"""The collectives and their properties: the rows of ``native/collectives/collectives.def``.

The table is compiled into the simulator's module, so that Python, the simulator and the driver have the same.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from offbeat import _simulator

Blocks = Literal["NO_BLOCK", "ONE_BLOCK", "BLOCK_PER_RANK", "BLOCK_PER_NEIGHBOUR"]


class Collective(Struct, frozen=True):
    """A row of the table, with the words of its columns.

    ``use`` is ``simulated`` (and measured and traced), ``measured`` (and traced), ``checked`` for legal calls
    (and traced) or ``traced``. Legal calls of what is measured are checked, too.
    """

    name: str
    sent: Blocks
    received: Blocks
    result: str
    root: str
    counts: str
    use: str

    @property
    def is_measured(self) -> bool:
        """Whether studies can have it."""
        return self.use in ("simulated", "measured")

    @property
    def has_data(self) -> bool:
        """Whether it has a message size: all but barrier."""
        return self.result != "NO_RESULT"

    @property
    def reduces(self) -> bool:
        """Whether it takes an operation."""
        return self.result.startswith("REDUCE_")

    @property
    def is_rooted(self) -> bool:
        """Whether it has a root."""
        return self.root != "NO_ROOT"

    @property
    def has_uneven_counts(self) -> bool:
        """Whether the call has a count for each rank."""
        return self.counts != "EVEN_COUNTS"

    @property
    def has_uneven_types(self) -> bool:
        """Whether the call has a datatype for each rank, and displacements in bytes."""
        return self.counts == "UNEVEN_TYPES"

    @property
    def has_two_buffers(self) -> bool:
        """Whether it has a send and a receive buffer; then MPI_IN_PLACE is legal."""
        return "NO_BLOCK" not in (self.sent, self.received)

    @property
    def is_of_neighbours(self) -> bool:
        """Whether it exchanges data with the neighbours of a process topology alone."""
        return self.received == "BLOCK_PER_NEIGHBOUR"

    def buffers(self, blocks: Blocks) -> int:
        """The number of its buffers of this length: 0, 1 or 2."""
        return (self.sent, self.received).count(blocks)


PROPERTIES = {row[0]: Collective(*row) for row in _simulator.collectives()}
"""Every collective that the tracer records, by its name."""

COLLECTIVES = tuple(name for name, row in PROPERTIES.items() if row.is_measured)
"""Every collective that offbeat measures, by its MPI name in lower case."""

CHECKED = tuple(name for name, row in PROPERTIES.items() if row.use != "traced")
"""Every collective whose legal calls can be drawn and checked: those that are measured, and others."""

REDUCING = tuple(name for name in COLLECTIVES if PROPERTIES[name].reduces)
"""Measured collectives that take an operation."""

ROOTED = tuple(name for name in COLLECTIVES if PROPERTIES[name].is_rooted)
"""Measured collectives that have a root."""
