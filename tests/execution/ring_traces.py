"""Traces of a made-up program on a ring of ranks, whose iterations, waiting and delays are known exactly.

In each iteration a rank computes, exchanges a message with both neighbours (MPI_Irecv, MPI_Isend,
MPI_Waitall), and in every k-th calls an allreduce. Before the first and after the last iteration it calls a
broadcast and, at other call sites, the same functions as inside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import trace_files as factory
from numpy.typing import NDArray

from offbeat.trace.files import format as form

US = 1000
SETUP_NS = 5000 * US
"""When the first iteration begins."""

POST_NS, TRANSFER_NS, SUM_NS = 1 * US, 40 * US, 10 * US
"""The time of MPI_Irecv or MPI_Isend; of a message after both partners are ready; of an allreduce after the
last process arrived."""

WAITALL = form.COMPLETION | 2 << form.BY_SHIFT


class Ring:
    """What happened: times in ns (iterations, p), begins and ends of iterations, and waiting."""

    def __init__(self, computed_ns: NDArray[np.int64], allreduce_every: int = 0) -> None:
        self.computed_ns = computed_ns
        self.iterations, self.p = computed_ns.shape
        self.allreduce_every = allreduce_every
        shape = computed_ns.shape
        self.begin_ns, self.wait_ns, self.waited_ns = (np.zeros(shape, np.int64) for _ in range(3))
        self.end_ns, self.sum_ns, self.exit_ns = (np.zeros(shape, np.int64) for _ in range(3))
        now = np.full(self.p, SETUP_NS)
        for i in range(self.iterations):
            self.begin_ns[i] = now
            posted = now + computed_ns[i]  # the receives are posted first, then the messages are sent
            wait = posted + 4 * POST_NS
            # The send to the left neighbour is the third post, that to the right one the fourth.
            latest = np.maximum(np.roll(posted + 3 * POST_NS, 1), np.roll(posted + 2 * POST_NS, -1))
            self.wait_ns[i], self.waited_ns[i] = wait, np.maximum(latest - wait, 0)
            now = np.maximum(wait, latest) + TRANSFER_NS
            self.exit_ns[i] = now
            if self.has_sum(i):
                self.sum_ns[i] = now.max() - now
                now = np.full(self.p, now.max() + SUM_NS)
            self.end_ns[i] = now

    def has_sum(self, i: int) -> bool:
        return bool(self.allreduce_every) and (i + 1) % self.allreduce_every == 0

    def write(self, folder: Path, *, marks: bool = True, setup: int = 3, **header: Any) -> Path:
        """Write the trace, with this number of setup allreduces at a site of their own."""
        ranks = factory.files(self.p)
        for one in ranks:
            one.definitions += [factory.function(name) for name in ("MPI_Isend", "MPI_Irecv", "MPI_Waitall")]
            one.definitions.append(factory.function("MPI_Pcontrol"))
            one.header = {"ended_ns": int(self.end_ns.max()) + 10**6, "has_messages": 1} | header
            one.message_lanes[0] = self._messages(one.rank, marks=marks)
            one.lanes[0] = self._records(one.rank, setup)
        return factory.write(folder, ranks)

    def _messages(self, rank: int, *, marks: bool) -> NDArray[Any]:
        rows = np.zeros((self.iterations, 9), form.MESSAGE)
        posted = (self.begin_ns + self.computed_ns)[:, rank]
        left, right = (rank - 1) % self.p, (rank + 1) % self.p
        request = 1 + 4 * np.arange(self.iterations)
        rows["communicator"], rows["bytes"] = 1, 1024
        rows["enter_ns"][:, 0] = self.begin_ns[:, rank]
        rows["exit_ns"][:, 0] = rows["enter_ns"][:, 0] + 1
        for place, (kind, peer, tag) in enumerate(
            ((form.RECEIVE, left, 1), (form.RECEIVE, right, 2), (form.SEND, left, 2), (form.SEND, right, 1))
        ):
            is_receive = kind == form.RECEIVE
            for column in (1 + place, 5 + place):
                rows["kind"][:, column], rows["peer"][:, column], rows["tag"][:, column] = kind, peer, tag
                rows["function"][:, column] = 105 if is_receive else 102
                rows["request"][:, column] = request + place
            rows["flags"][:, 1 + place], rows["flags"][:, 5 + place] = form.ISSUE, WAITALL
            rows["enter_ns"][:, 1 + place] = posted + place * POST_NS
            rows["exit_ns"][:, 1 + place] = posted + (place + 1) * POST_NS
            rows["enter_ns"][:, 5 + place] = self.wait_ns[:, rank]
            rows["exit_ns"][:, 5 + place] = self.exit_ns[:, rank]
            rows["address"][:, 1 + place] = factory.CODE + (0x20 if is_receive else 0x30)
            rows["address"][:, 5 + place] = factory.CODE + 0x40
        rows["kind"][:, 0], rows["tag"][:, 0], rows["function"][:, 0] = form.MARK, 2, 120
        rows["address"][:, 0], rows["communicator"][:, 0] = factory.CODE + 0x10, 0
        return rows[:, 0 if marks else 1 :].reshape(-1)

    def _records(self, rank: int, setup: int) -> NDArray[Any]:
        sums = [i for i in range(self.iterations) if self.has_sum(i)]
        rows = np.zeros(setup + len(sums) + 2, form.RECORD)
        rows["communicator"], rows["bytes"], rows["root"], rows["function"] = 1, 8, -1, 1
        rows["sequence"] = np.arange(len(rows))
        at = 1000 * US * np.arange(1, setup + 1)  # before the first iteration
        rows["enter_ns"][:setup], rows["exit_ns"][:setup] = at, at + 10 * US
        rows["address"][:setup] = factory.CODE + 0x50
        within = slice(setup, setup + len(sums))
        rows["enter_ns"][within] = self.exit_ns[sums, rank]
        rows["exit_ns"][within] = self.end_ns[sums, rank]
        rows["address"][within] = factory.CODE + 0x60
        end = int(self.end_ns.max())
        rows["enter_ns"][-2:] = [end + 100 * US, end + 200 * US]
        rows["exit_ns"][-2:] = rows["enter_ns"][-2:] + 20 * US
        rows["function"][-2:] = 6
        rows["address"][-2:] = [factory.CODE + 0x70, factory.CODE + 0x80]
        return rows


def computing(
    iterations: int, p: int, us: float = 500, noise_us: float = 0, seed: int = 1
) -> NDArray[np.int64]:
    """The same computation everywhere, with noise."""
    random = np.random.default_rng(seed)
    return np.round((us + noise_us * random.exponential(1.0, (iterations, p))) * US).astype(np.int64)
