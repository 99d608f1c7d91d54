"""A program file from a trace: its messages and collectives, and its work as time on the cores.

A trace has no memory traffic; :mod:`offbeat.programs.description.memory_traffic` adds what was measured
otherwise or is assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.toml.write import round_numbers
from offbeat.base.units import amount, enumeration
from offbeat.model.platform.machine import Platform
from offbeat.model.study.collectives import PROPERTIES, ROOTED
from offbeat.model.study.communicators import CommunicatorLayout, layout_of_all
from offbeat.programs.description.alternatives import fastest_algorithms
from offbeat.programs.description.program_file import Program, from_structure
from offbeat.programs.description.schema import Family, NoiseSection, PhaseSection, ProgramFile, Sends
from offbeat.programs.iterations.iteration_calls import IterationCalls, read_calls
from offbeat.programs.iterations.iterations import MOST_CELLS, Iterations, caller_label, find_iterations
from offbeat.programs.iterations.phases import TracedPhase, TracedPhases, traced_phases
from offbeat.trace.calls.call_bytes import collective_name
from offbeat.trace.calls.communicators import Communicator
from offbeat.trace.files.trace_folder import Progress, Trace
from offbeat.trace.summary_tables import library_name

LEAST_WORK = 0.002
"""Work before a phase that takes less than this share of an iteration is added to that before a later one."""

LEAST_NOISE = 0.001
"""Variation of the work by less than this share of an iteration is left out."""

MOST_LEFT_OUT = 0.05
"""If what the program file cannot express takes more than this share of the iterations, there is no file."""

_SENDS: dict[str, Sends] = {
    "MPI_Send": "blocking",
    "MPI_Ssend": "synchronous",
    "MPI_Issend": "synchronous",
    "MPI_Ssend_init": "synchronous",
    "MPI_Bsend": "buffered",
    "MPI_Ibsend": "buffered",
    "MPI_Bsend_init": "buffered",
}
"""The way of sending by the function; every other function is nonblocking."""


class DerivedProgram(Struct, kw_only=True, eq=False):
    """A program from a trace; ``measured_s`` is the mean time of its iterations in the trace, by
    the ranks that begin and end last.

    ``read`` and ``total`` are the iterations that were read, and all of them; ``notes`` say what the file
    leaves out. Of a very long run, an iteration of the program is several of the trace, as a note says.
    """

    program: Program
    measured_s: float
    read: int
    total: int
    notes: list[str]


def derive_program(
    trace: Trace,
    platform: Platform,
    *,
    way: str = "",
    anchor: str = "",
    most_cells: int = MOST_CELLS,
    on_progress: Progress | None = None,
) -> DerivedProgram:
    """Derive the program of a trace; collectives run by the algorithm that is fastest on the platform.

    For ``way``, ``anchor`` and ``most_cells`` see :func:`find_iterations`. Raises :class:`BadInput` for a
    trace that lacks what a program file needs.
    """
    _check(trace)
    iterations = find_iterations(
        trace, way=way, anchor=anchor, most_cells=most_cells, on_progress=on_progress
    )
    iterations = _complete(trace, iterations)
    calls = read_calls(trace, iterations)
    found = traced_phases(calls)
    edges_ns = iterations.edges_ns[:, calls.first : calls.first + calls.rows + 1]
    measured_s = float(edges_ns[:, -1].max() - edges_ns[:, 0].max()) / calls.rows / 1e9
    builder = _Builder(trace, platform, calls, found, measured_s)
    phases, noise = builder.phases(), builder.noise()
    if not phases:
        raise BadInput(f"{trace.directory}: the iterations have no messages and no work")
    return DerivedProgram(
        program=from_structure(round_numbers(_file(trace, iterations, phases, noise)), trace.directory),
        measured_s=measured_s,
        read=calls.rows,
        total=iterations.rows,
        notes=[*iterations.notes, *_several_in_one(iterations), *builder.notes],
    )


def _file(
    trace: Trace, iterations: Iterations, phases: list[PhaseSection], noise: list[NoiseSection]
) -> ProgramFile:
    header = trace.headers[0]
    return ProgramFile(
        name=f"{Path(header.program).stem or 'program'} (from a trace)",
        source=f"a trace of {library_name(header.library)}",
        ranks=len(iterations.ranks),
        iterations=iterations.rows,
        phase=phases,
        noise=noise,
    )


def _check(trace: Trace) -> None:
    if not trace.has_messages:
        raise BadInput(
            f"{trace.directory}: point-to-point calls were not recorded, so that the messages of an iteration"
            " are not known; record them with 'offbeat trace run --messages'"
        )
    if any(header.sampling for header in trace.headers):
        raise BadInput(
            f"{trace.directory}: the trace was sampled, so that calls are missing in its iterations; record"
            " all calls"
        )


def _complete(trace: Trace, iterations: Iterations) -> Iterations:
    """The iterations of all ranks. Raises :class:`BadInput` if there are none, or a rank is missing."""
    if not iterations.rows:
        raise BadInput(f"{trace.directory}: {iterations.notes[-1]}")
    if len(iterations.ranks) < trace.size:
        raise BadInput(
            f"{trace.directory}: the trace has the files of {len(iterations.ranks)} of"
            f" {amount(trace.size, 'rank')}; a program needs all of them"
        )
    complete, places = iterations.complete()
    if len(places) < trace.size:
        raise BadInput(
            f"{trace.directory}: a program needs the same iterations of all ranks, but"
            f" {'; '.join(iterations.notes)}; record a run that ends normally, or name the call site that"
            " begins iterations with --anchor"
        )
    return complete


def _several_in_one(iterations: Iterations) -> list[str]:
    if iterations.each == 1:
        return []
    return [f"an iteration of the program is {iterations.each} of the trace"]


class _Builder:
    """Writes the phases of a program file."""

    def __init__(
        self,
        trace: Trace,
        platform: Platform,
        calls: IterationCalls,
        found: TracedPhases,
        measured_s: float,
    ) -> None:
        self._trace, self._platform, self._calls, self._found = trace, platform, calls, found
        self._measured_s = measured_s
        self._p = len(calls.rest_ns)
        self._numbers: Counter[str] = Counter()
        self._sites: dict[str, list[str]] = {}
        self.notes: list[str] = []
        self._work_s, self._slots = self._merged_work()

    def phases(self) -> list[PhaseSection]:
        """All phases in their order; work and exchanges are numbered."""
        phases: list[PhaseSection] = []
        left_out: Counter[str] = Counter()
        for index, phase in enumerate(self._found.phases):
            if index in self._slots:
                phases.append(self._work(index))
            if len(rows := self._rows(phase)):
                phases.append(self._exchange(phase, rows))
            for numbers, layout in self._together(phase.collectives):
                section = self._collective(numbers[0], layout, phase.every)
                if isinstance(section, str):
                    left_out[section] += sum(map(self._spent_ns, numbers))
                else:
                    phases.append(section)
        if len(self._found.phases) in self._slots:
            phases.append(self._work(len(self._found.phases)))
        self._check_left_out(left_out)
        self._note_irregular()
        self.notes += [f"{enumeration(names)}: {site}" for site, names in self._sites.items()]
        return phases

    def noise(self) -> list[NoiseSection]:
        """The variation of the longest work, as exponential delays of all ranks."""
        if not self._slots:
            return []
        slot = max(self._slots, key=lambda one: float(np.nanmean(self._work_s[one])))
        delay_s = self._variation_s(slot)
        if delay_s < LEAST_NOISE * self._measured_s:
            return []
        return [
            NoiseSection(
                phase=self._work_name(slot),
                when="after",
                time=delay_s,
                distribution="exponential",
                pick="all",
            )
        ]

    def _merged_work(self) -> tuple[NDArray[np.float64], list[int]]:
        """The work, (slots, rows, p), and the slots with enough of it; the others are added to later ones."""
        work_s = self._found.work_s.copy()
        enough = LEAST_WORK * self._measured_s
        is_enough = [bool(np.nanmean(one) >= enough) if np.isfinite(one).any() else False for one in work_s]
        slots = [index for index, holds in enumerate(is_enough) if holds]
        for index, holds in enumerate(is_enough):
            if not holds and slots:
                target = next((slot for slot in slots if slot > index), slots[0])
                work_s[target] += work_s[index]
        return work_s, slots

    def _variation_s(self, slot: int) -> float:
        """By how much the work of a rank exceeds its usual least on average: the median over ranks."""
        work_s = self._work_s[slot]
        return float(np.nanmedian(np.nanmean(work_s, axis=0) - np.nanpercentile(work_s, 10, axis=0)))

    def _work_name(self, slot: int) -> str:
        return f"work {self._slots.index(slot) + 1}"

    def _work(self, slot: int) -> PhaseSection:
        """The work before a phase; without the part that :meth:`noise` adds."""
        of_rank = np.nanmean(self._work_s[slot], axis=0)
        of_rank = np.where(np.isfinite(of_rank), of_rank, np.nanmean(of_rank))
        mean_s = float(of_rank.mean())
        noise = {one.phase: one.time for one in self.noise()}
        base_s = max(mean_s - noise.get(self._work_name(slot), 0.0), 0.1 * mean_s)
        weights = [float(f"{weight:.4g}") for weight in (of_rank / mean_s).tolist()]
        is_even = max(weights) - min(weights) < 0.001
        return PhaseSection(
            kind="work", name=self._work_name(slot), time=base_s, weights=[] if is_even else weights
        )

    def _rows(self, phase: TracedPhase) -> NDArray[np.int64]:
        """The messages between different ranks: sender, receiver, bytes and function, (n, 4)."""
        sent = self._calls.messages.select(phase.messages)
        place = self._calls.bursts.place
        rows = np.stack([place[sent.sent], place[sent.received], sent.bytes, sent.issued_by], axis=1)
        is_own = rows[:, 0] == rows[:, 1]
        if is_own.any():
            self.notes.append(f"{amount(int(is_own.sum()), 'message')} of ranks to themselves: left out")
        return rows[~is_own]

    def _exchange(self, phase: TracedPhase, rows: NDArray[np.int64]) -> PhaseSection:
        functions = Counter(self._trace.functions[number].name for number in rows[:, 3].tolist())
        section = PhaseSection(
            kind="exchange",
            neighbours="list",
            messages=rows[:, :3].tolist(),
            sends=_SENDS.get(functions.most_common(1)[0][0], "nonblocking"),
            every=phase.every,
        )
        return _by_offsets(section, self._p)

    def _together(self, numbers: Sequence[int]) -> Iterator[tuple[list[int], CommunicatorLayout | None]]:
        """The calls of a phase, each alone, or those that together are one collective on communicators into
        which all ranks are divided, with their layout; that of rank 0 comes first."""
        alike: dict[tuple[str, int, int], list[int]] = {}
        for number in numbers:
            call, communicator = self._calls.collectives[number], self._communicator(number)
            alike.setdefault((call.name, call.bytes, communicator.size), []).append(number)
        for group in alike.values():
            known = [self._communicator(number) for number in group]
            layout = None
            if not any(one.is_inter for one in known):
                layout = layout_of_all([one.members for one in known], self._p)
            if layout is None:
                yield from (([number], None) for number in group)
            else:
                yield sorted(group, key=lambda number: int(self._communicator(number).members[0])), layout

    def _communicator(self, number: int) -> Communicator:
        return self._trace.communicators.table[self._calls.collectives[number].communicator]

    def _collective(self, number: int, layout: CommunicatorLayout | None, every: int) -> PhaseSection | str:
        """A collective of all ranks, or of all communicators of a layout; of another one what it is, for a
        sentence."""
        call = self._calls.collectives[number]
        name = collective_name(call.name)
        communicator = self._communicator(number)
        if layout is None and (communicator.size != self._p or communicator.is_inter):
            return f"{call.name} on communicators of {amount(communicator.size, 'rank')}"
        if name not in PROPERTIES:
            return call.name
        family: Family = "openmpi" if "Open MPI" in self._trace.headers[0].library else "mpich"
        self._numbers[name] += 1
        section = PhaseSection(
            kind="collective",
            name=f"{name} {self._numbers[name]}",
            collective=name,
            bytes=[] if name == "barrier" else [call.bytes],
            family=family,
            root=self._root(number, in_world=layout is None) if name in ROOTED else 0,
            communicators=layout.communicators if layout else 1,
            stride=layout.stride if layout else 1,
            every=every,
        )
        fastest = fastest_algorithms(section, self._p, self._platform)
        if not fastest:
            return call.name
        self._sites.setdefault(self._site(number), []).append(section.name)
        return structs.replace(section, algorithm=fastest[0].name)

    def _site(self, number: int) -> str:
        """The call site of a collective."""
        bursts = self._calls.bursts
        return caller_label(self._trace, int(bursts.caller[(bursts.collective == number).argmax()]))

    def _root(self, number: int, *, in_world: bool) -> int:
        """The rank of the root in the world or in its communicator, from the record of the first rank."""
        call = self._calls.collectives[number]
        file = self._trace.files[0]
        ids = self._trace.communicators.index_of_ids(file)
        for pages in file.lanes.values():
            for part in np.array_split(pages, max(len(pages) // 64, 1)):
                records = file.records(part)
                known = np.minimum(records["communicator"], len(ids) - 1)
                is_call = (ids[known] == call.communicator) & (records["sequence"] == call.sequence)
                if is_call.any():
                    root = int(records["root"][is_call][0])
                    if not in_world:
                        return max(root, 0)
                    members = self._trace.communicators.table[call.communicator].members
                    return max(int(members[root]), 0) if 0 <= root < len(members) else 0
        return 0

    def _spent_ns(self, number: int) -> int:
        """The time of a collective, summed over ranks."""
        bursts = self._calls.bursts
        return int(bursts.spent_ns[bursts.collective == number].sum())

    def _check_left_out(self, left_out: Counter[str]) -> None:
        share = sum(left_out.values()) / 1e9 / self._p / self._measured_s
        if not left_out:
            return
        what = enumeration(list(left_out))
        if share > MOST_LEFT_OUT:
            raise BadInput(
                f"{self._trace.directory}: {100 * share:.0f}% of an iteration are spent in what a program"
                f" file cannot express: {what}"
            )
        self.notes.append(f"a program file cannot express {what}: left out ({100 * share:.1f}% of the time)")

    def _note_irregular(self) -> None:
        share = 1 - float(self._found.is_regular.mean())
        if share > 0.01:
            self.notes.append(
                f"{100 * share:.0f}% of the iterations of ranks have other phases, or another order of them:"
                " left out"
            )
        lost = self._calls.lost / max(len(self._calls.messages) + self._calls.lost, 1)
        if lost > 0.01:
            self.notes.append(
                f"{100 * lost:.0f}% of the messages end outside of the iterations that were read: left out"
            )


def _by_offsets(phase: PhaseSection, p: int) -> PhaseSection:
    """The exchange by offsets, if all ranks send messages of one size to ranks at the same offsets."""
    source, target, size = np.array(phase.messages, np.int64).T
    each = len(source) // p
    if len(source) % p or len(np.unique(size)) > 1 or (source != np.repeat(np.arange(p), each)).any():
        return phase
    offsets = ((target - source) % p).reshape(p, each)
    if (np.sort(offsets, axis=1) != np.sort(offsets[0])).any():
        return phase
    usual_order = [int(one) if one <= p // 2 else int(one) - p for one in offsets[p // 2]]
    return structs.replace(
        phase, neighbours="offsets", offsets=usual_order, messages=[], bytes=[int(size[0])]
    )
