"""The knowledge base as tables: its entries, what each rule rests on, and the conflicts between entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from offbeat.base.terminal_table import FittedTable
from offbeat.base.units import amount
from offbeat.model.study.algorithm import DEFAULT
from offbeat.model.study.case import configuration_key
from offbeat.selection.tuning_files.tuning_plan import TuningPlan
from offbeat.tuning.site.decide import Calls, Decision, Vote, calls_in_words, weighted
from offbeat.tuning.site.entry import Entry
from offbeat.tuning.site.merge import Merged


def entries_table(entries: Iterable[Entry]) -> FittedTable:
    """A row for each entry; the date is that of the measurements."""
    rows = [
        (
            entry.name,
            entry.library_name,
            str(configuration_count(entry)),
            weight_text(entry.weight),
            entry.origin.measured[:10],
            _short_source(entry),
        )
        for entry in entries
    ]
    headings = ("entry", "library", "configurations", "weight", "measured", "program or study")
    return FittedTable(headings, rows, texts=(0, 1, 4, 5))


def weight_text(weight: float) -> str:
    """A weight with about three digits and without an exponent: ``12,000``, ``61.2``."""
    return f"{float(f'{weight:.3g}'):,.12g}"


def configuration_count(entry: Entry) -> int:
    """The number of configurations that an entry measured."""
    return len({configuration_key(one) for one in entry.times})


def source_lines(entry: Entry) -> list[str]:
    """Where an entry comes from: the program's command, the results, the library, and warnings about them."""
    origin, library = entry.origin, entry.library
    lines = [f"Program: {origin.program}"] if origin.program else []
    lines += [
        f"Results: {origin.path} on {origin.host or 'an unknown host'}, measured at {origin.measured}",
        f"Library: {library.get('version_text') or entry.library_name}, {library.get('library', '')}",
        *(f"Variable: {name}={value}" for name, value in sorted(entry.environment.items())),
        *(
            f"Share: {one.share:.1%} of the run time in {calls_in_words((one.collective, one.p, one.bytes))}"
            for one in entry.shares
        ),
        *(f"Warning: {warning}" for warning in origin.warnings),
    ]
    return lines


def _short_source(entry: Entry) -> str:
    """The program's command or the directory of the results, without the folders that they are in."""
    words = entry.origin.program.split() or [entry.origin.path]
    return " ".join(word.rpartition("/")[2] or word for word in words)


def chosen_by(plan: TuningPlan | None) -> dict[Calls, str]:
    """The algorithm of each rule, by its calls."""
    rules = [rule for some in plan.rules.values() for rule in some] if plan is not None else []
    return {(rule.collective, rule.p, rule.bytes): rule.algorithm.name for rule in rules}


def basis_table(merged: Merged, chosen: Mapping[Calls, str]) -> FittedTable:
    """A row for each rule: its algorithm, and the time with it in each entry, relative to the default."""
    rows = []
    for decision in merged.decisions:
        name = chosen.get(decision.calls, DEFAULT)
        if name != DEFAULT:
            rows.append((str(decision), name, _mean(decision, name), _support(decision, name)))
    headings = ("calls", "algorithm", "time against default", "by entry (weight)")
    return FittedTable(headings, rows, texts=(0, 1, 3))


def _mean(decision: Decision, name: str) -> str:
    time = weighted(decision.votes, name)
    return f"{time.ratio - 1:+.1%} ±{time.half_width:.1%}" if time is not None else "–"


def _support(decision: Decision, name: str) -> str:
    return ", ".join(
        f"{vote.entry} {vote.times[name].ratio - 1:+.1%} ({weight_text(vote.weight)})"
        for vote in decision.votes
    )


def kept_table(merged: Merged, chosen: Mapping[Calls, str]) -> FittedTable:
    """A row for calls that are left to the library: their entries, and why the fastest is not used."""
    rows = [
        (str(decision), ", ".join(dict.fromkeys(vote.entry for vote in decision.votes)), _why_kept(decision))
        for decision in merged.decisions
        if chosen.get(decision.calls, DEFAULT) == DEFAULT
    ]
    return FittedTable(("calls", "entries", "why the library decides"), rows, texts=(0, 1, 2))


def _why_kept(decision: Decision) -> str:
    if decision.algorithm != DEFAULT:
        return f"{decision.algorithm} is not exported; 'offbeat site export' says why"
    fastest = _fastest(decision)
    if not fastest:
        return "no algorithm was measured by all entries"
    return f"{fastest}: {decision.refused[fastest]}"


def _fastest(decision: Decision) -> str:
    """The refused algorithm with the smallest weighted time; empty if none has one."""
    times = {name: weighted(decision.votes, name) for name in decision.refused}
    known = {name: time.ratio for name, time in times.items() if time is not None}
    return min(known, key=lambda name: (known[name], name), default="")


def conflicts_table(conflicts: Sequence[Decision], chosen: Mapping[Calls, str]) -> FittedTable:
    """For each conflict, what is used, and a row for each vote: what it alone would get, and the loss of all.

    The loss is the weighted mean time with that choice divided by that with the one which is used, minus 1.
    """
    rows = []
    for decision in conflicts:
        used = chosen.get(decision.calls, DEFAULT)
        headings = [
            str(decision),
            f"→ {used}",
            *[""] * len(decision.votes),
        ]  # a conflict has two votes or more
        for heading, vote, own in zip(headings, decision.votes, decision.own, strict=False):
            weight = weight_text(vote.weight)
            rows.append((heading, _voter(decision, vote), weight, own, *_loss(decision, own, used)))
    headings = ["calls → what is used", "entry", "weight", "alone", "loss for all", "not used because"]
    return FittedTable(headings, rows, texts=(0, 1, 3, 5))


def _voter(decision: Decision, vote: Vote) -> str:
    """The entry of a vote, with its placement and datatype if it has several votes."""
    if sum(other.entry == vote.entry for other in decision.votes) == 1:
        return vote.entry
    cell = vote.configuration
    parts = filter(None, [cell.placement, cell.op, cell.datatype, f"root {cell.root}"])
    return f"{vote.entry} ({', '.join(parts)})"


def _loss(decision: Decision, own: str, used: str) -> tuple[str, str]:
    if own == used:
        return "–", ""
    mine, best = weighted(decision.votes, own), weighted(decision.votes, used)
    loss = f"{mine.ratio / best.ratio - 1:+.1%}" if mine is not None and best is not None else "unknown"
    return loss, decision.refused.get(own, "")


def conflict_summary(merged: Merged) -> str:
    """How many decisions entries agree on."""
    conflicts = len(merged.conflicts)
    several = sum(len({vote.entry for vote in one.votes}) > 1 for one in merged.decisions)
    if not conflicts and not several:
        return "No calls were measured by several entries."
    if not conflicts:
        return f"No conflicts: entries agree in {amount(several, 'configuration')} that several measured."
    return (
        f"{amount(conflicts, 'conflict')}. What is used has the smallest time, as the mean of the entries by"
        " weight, of the algorithms that are slower than the library's default for no entry."
    )
