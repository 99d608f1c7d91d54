"""The calls of a traced program that are worth measuring: those in which another algorithm can save time.

Another algorithm changes the time after the last arrival of blocking collectives. It changes neither the
waiting for late ranks nor nonblocking calls. The heaviest calls are selected until they cover a stated share
of the time that can change, as :mod:`offbeat.trace.recommendation` ranks them. Calls that share a rule of a
tuning file with selected ones are measured, too: whatever is chosen changes them as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct, structs

from offbeat.base.units import amount
from offbeat.libraries.families.libraries import recognise
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.model.study.schema import EXTENTS
from offbeat.trace.calls.call_bytes import collective_name
from offbeat.trace.calls.call_site_stats import CallSiteStats, file_stem_of
from offbeat.trace.calls.sparsity import sparsity_text
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.recommendation import Candidate, candidates, changeable_s, mean_over_calls, with_arrivals
from offbeat.trace.summary import Summary
from offbeat.tuning.prediction.recorded_calls import size_bytes

LEAST_SHARE = 0.001
"""Calls that take a smaller share of the run time after the last arrival are not worth measuring."""

LEAST_GAIN = 0.005
"""A smaller share of the run time cannot be shown by a trial: then nothing is measured or tried."""

LEAST_SKEW_S = 1e-6
"""The skew of shapes for calls at which hardly any rank is late."""


class SelectedCalls(Struct, frozen=True, kw_only=True, eq=False):
    """Calls of one collective, number of processes and size class, over all call sites.

    ``row`` is the heaviest call site with known arrivals, None without one. ``measured_bytes`` is the size
    at which they are measured, ``datatype`` the largest one of which it is a multiple; ``nodes`` and ``ppn``
    are those of all communicators of the ``layout``, and 0 on a single node. ``share`` is the share of the
    run time that ranks spend in these calls after the last arrival.
    """

    candidate: Candidate
    row: CallSiteStats | None
    measured_bytes: int
    datatype: str
    nodes: int
    ppn: int
    skew_s: float
    share: float
    layout: CommunicatorLayout

    @property
    def collective(self) -> str:
        """The name in studies: ``alltoall``."""
        return collective_name(self.candidate.collective)

    @property
    def name(self) -> str:
        """``MPI_Allreduce at 8 B on 32 processes, 32 communicators at once, stride 1``."""
        return ", ".join(filter(None, (self.candidate.name, self.layout.text)))

    @property
    def stem(self) -> str:
        """The prefix of the names of its pattern files."""
        layout = self.layout
        suffix = f"x{layout.communicators}s{layout.stride}" if layout.communicators > 1 else ""
        return f"{file_stem_of(self.row or self.candidate.rows[0])}-p{layout.p}{suffix}"


class Selected(Struct, frozen=True, kw_only=True, eq=False):
    """The calls to measure, the heaviest first, and what is left out.

    ``tunable_share`` is the share of the run time that ranks spend in blocking collectives after the last
    arrival, ``covered`` the part of it in ``calls``; ``waiting_share`` is the share of waiting for late
    ranks. ``notes`` are sentences on calls that are left out, or that the study cannot represent.
    """

    calls: list[SelectedCalls]
    tunable_share: float
    covered: float
    waiting_share: float
    notes: list[str]


def select_calls(trace: Trace, summary: Summary, share: float) -> Selected:
    """The heaviest calls that together take ``share`` of the time that another algorithm can change."""
    run_s = summary.thread_run_s
    ranked = tunable(summary)
    tunable_s = sum(one.tunable_s for one in ranked)
    calls: list[SelectedCalls] = []
    notes: list[str] = []
    covered_s = 0.0
    known = recognise(trace.headers[0].library)
    sizeless = known[0].sizeless if known else ()
    enough = tunable_s >= LEAST_GAIN * run_s
    for one in _heaviest(ranked, share * tunable_s, run_s, sizeless) if enough else []:
        why_not, selected = _selected(trace, one, run_s)
        if selected is None:
            number = amount(round(sum(row.run_calls for row in one.calls.rows)), "call")
            notes.append(f"not measured: {number} of {one.calls.name}, because {why_not}")
            continue
        covered_s += one.calls.changeable_s
        if text := sparsity_text(one.calls.rows):
            notes.append(
                f"{one.calls.name}: {text} in the program, while the study measures equal blocks of the"
                " mean size"
            )
        calls.append(selected)
    return Selected(
        calls=calls,
        tunable_share=tunable_s / run_s if run_s > 0 else 0.0,
        covered=covered_s / tunable_s if tunable_s > 0 else 0.0,
        waiting_share=summary.waited_s / run_s if run_s > 0 else 0.0,
        notes=notes,
    )


class Tunable(Struct, frozen=True, kw_only=True, eq=False):
    """Calls of one layout whose algorithm can be chosen.

    ``rule`` are the calls of all layouts: a tuning file has one rule for them, so that they are measured with
    the same size. ``tunable_s`` is the time that another algorithm can change, summed over ranks.
    """

    calls: Candidate
    rule: Candidate
    tunable_s: float


def tunable(summary: Summary) -> list[Tunable]:
    """The calls whose algorithm can be chosen, the heaviest first; those on all rows of a process grid and
    those on all its columns are two of them."""
    found = []
    for one in candidates(structs.replace(summary, rows=summary.group_rows)):
        by_layout: dict[CommunicatorLayout | None, list[CallSiteStats]] = {}
        for row in one.rows:
            by_layout.setdefault(row.layout, []).append(row)
        found += [
            Tunable(
                calls=structs.replace(one, rows=sorted(rows, key=lambda row: -changeable_s(row))),
                rule=one,
                tunable_s=sum(map(changeable_s, rows)),
            )
            for rows in by_layout.values()
        ]
    usable = [one for one in found if not one.rule.why_not and one.calls.changeable_s > 0]
    return sorted(usable, key=lambda one: -one.tunable_s)


def _heaviest(
    ranked: Sequence[Tunable], enough_s: float, run_s: float, sizeless: Collection[str]
) -> list[Tunable]:
    """The heaviest calls until they take ``enough_s``, and those that share a rule with one of them. Other
    sizes than theirs only if they are worth measuring: a program may have many."""
    heaviest: list[Tunable] = []
    for one in ranked:
        if one.tunable_s < LEAST_SHARE * run_s or sum(heavy.tunable_s for heavy in heaviest) >= enough_s:
            break
        heaviest.append(one)
    every_size = {
        (one.rule.collective, one.rule.processes)
        for one in heaviest
        if collective_name(one.rule.collective) in sizeless
    }
    return [
        one
        for one in ranked
        if any(one.rule is heavy.rule for heavy in heaviest)
        or ((one.rule.collective, one.rule.processes) in every_size and one.tunable_s >= LEAST_SHARE * run_s)
    ]


def _selected(trace: Trace, tunable_calls: Tunable, run_s: float) -> tuple[str, SelectedCalls | None]:
    """The calls to measure, or why they cannot be measured."""
    one = tunable_calls.calls
    rows = with_arrivals(one.rows)
    layout = one.rows[0].layout or CommunicatorLayout(p=one.processes)
    measured_bytes, datatype = measured_size(tunable_calls.rule)
    if not measured_bytes and collective_name(one.collective) != "barrier":
        return "their messages are empty", None
    nodes, ppn = _placement(trace, layout, rows[0] if rows else one.rows[0])
    if nodes and not ppn:
        return "their nodes have different numbers of processes", None
    skew_s = mean_over_calls(one, "skew")
    return "", SelectedCalls(
        candidate=one,
        row=rows[0] if rows else None,
        measured_bytes=measured_bytes,
        datatype=datatype,
        nodes=nodes,
        ppn=ppn,
        skew_s=0.0 if math.isnan(skew_s) else max(skew_s, LEAST_SKEW_S),
        share=one.changeable_s / run_s,
        layout=layout,
    )


def measured_size(one: Candidate) -> tuple[int, str]:
    """The mean size of a candidate's calls in bytes, weighted with their time, and the datatype for it."""
    rows = [row for row in one.rows if changeable_s(row) > 0] or one.rows
    weights = [max(changeable_s(row), 1e-12) for row in rows]
    size = round(float(np.average([size_bytes(row) for row in rows], weights=weights)))
    if size >= EXTENTS["double"]:
        size -= size % EXTENTS["double"]
    name = next(name for name in ("double", "int", "byte") if size % EXTENTS[name] == 0)
    return size, name


def _placement(trace: Trace, layout: CommunicatorLayout, row: CallSiteStats) -> tuple[int, int]:
    """(nodes, processes per node) of the communicators that make a row's calls at the same time; (0, 0) on
    one node, (nodes, 0) if nodes have different numbers of processes."""
    host_of = {file.header.rank: file.header.host for file in trace.files}
    if len(set(host_of.values())) <= 1:
        return 0, 0
    one = trace.communicators.table[row.communicator_index].members
    members = one if layout.communicators == 1 else range(trace.size)
    counts = counts_of([host_of.get(int(rank), "") for rank in members])
    return len(counts), counts[0] if len(set(counts)) == 1 else 0


def counts_of(hosts: Sequence[str]) -> list[int]:
    """How many processes each host has."""
    return [hosts.count(host) for host in dict.fromkeys(hosts)]
