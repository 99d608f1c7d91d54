"""The phases of a program, as tables."""

from __future__ import annotations

import numpy as np

from offbeat.base.units import amount, format_size, format_time
from offbeat.programs.description.neighbours import grid_sides, messages
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import NoiseSection, PhaseSection
from offbeat.programs.simulation.steps import communicators_of


def summary(program: Program) -> tuple[str, str, str]:
    """A row of ``offbeat program list``: name, ranks, source."""
    return program.name, f"{program.file.ranks}", program.file.source


def phase_rows(program: Program, alone_s: list[float] | None) -> tuple[list[str], list[list[str]]]:
    """Headings and a row for each phase; ``alone_s`` adds the time of each phase alone."""
    headings = ["phase", "kind", "what a rank does", "iterations"]
    rows = [
        [name, phase.kind, described(phase, program.file.ranks), _often(phase.every)]
        for name, phase in zip(program.phase_names(), program.file.phase, strict=True)
    ]
    if alone_s is not None:
        headings.append("time alone")
        for row, seconds in zip(rows, alone_s, strict=True):
            row.append(format_time(seconds))
    return headings, rows


def _often(every: int) -> str:
    return "all" if every == 1 else f"every {every}"


def described(phase: PhaseSection, p: int) -> str:
    """What a rank does in a phase, as a phrase."""
    if phase.kind == "work":
        return _work(phase)
    if phase.kind == "exchange":
        return _exchange(phase, p)
    size = f" of {format_size(phase.bytes[0])}" if phase.bytes else ""
    layout = communicators_of(phase, p).text
    at_once = f", {layout}" if layout else ""
    return f"{phase.collective}{size} by {phase.family}'s {phase.algorithm}{at_once}"


def _work(phase: PhaseSection) -> str:
    parts = []
    if phase.time:
        parts.append(format_time(phase.time))
    if phase.memory:
        parts.append(f"{format_size(phase.memory)} of memory traffic")
    if phase.flops:
        parts.append(f"{phase.flops:.3g} flop")
    text = ", ".join(parts)
    if phase.weights and min(phase.weights) != max(phase.weights):
        text += f", times {min(phase.weights):g} to {max(phase.weights):g}"
    return text


def _exchange(phase: PhaseSection, p: int) -> str:
    sent = messages(phase, p)
    if not len(sent.bytes):
        return "no messages: it has no neighbours"
    each = np.bincount(sent.source, minlength=p)
    count = f"{each.min()} to {each.max()}" if each.min() != each.max() else f"{each.max()}"
    low, high = int(sent.bytes.min()), int(sent.bytes.max())
    size = format_size(low) if low == high else f"{format_size(low)} to {format_size(high)}"
    where = {"offsets": "by offsets", "list": "as listed"}.get(phase.neighbours, f"on a {phase.neighbours}")
    if phase.neighbours in ("grid", "box"):
        where = f"on a {' × '.join(map(str, grid_sides(phase, p)))} {phase.neighbours}"
    plural = "" if count == "1" else "s"
    return f"{count} {phase.sends} send{plural} of {size} {where}"


def noise_rows(program: Program) -> tuple[list[str], list[list[str]]]:
    """Headings and a row for each noise section."""
    last = program.file.iterations
    rows = [
        [
            f"{noise.when} {noise.phase}",
            _duration(noise),
            _ranks(noise),
            f"{_often(noise.every)}, {noise.first} to {min(noise.last or last, last)}",
        ]
        for noise in program.file.noise
    ]
    return ["delay", "time", "ranks", "iterations"], rows


def _duration(noise: NoiseSection) -> str:
    text = format_time(noise.time)
    return text if noise.distribution == "fixed" else f"{text} on average, exponential"


def _ranks(noise: NoiseSection) -> str:
    if noise.pick == "list":
        return ", ".join(map(str, noise.ranks))
    if noise.pick == "random":
        return f"{noise.count} at random" if noise.count > 1 else "a random one"
    return {"all": "all", "each_domain": "a random one of each memory domain"}[noise.pick]


def facts(program: Program) -> list[tuple[str, str]]:
    """The properties of the whole program: (name, text)."""
    file = program.file
    size = f"{amount(file.ranks, 'rank')}, {amount(file.iterations, 'iteration')}, seed {file.seed}"
    return [("file", program.path), ("source", file.source or "unknown"), ("size", size)]
