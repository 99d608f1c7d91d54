"""Delays as variants of a trial: which ranks are delayed at which calls, and the proof that they were.

The tracer's preload library makes the delays. ``native/inject/delay_plan.h`` explains its variables, and
``native/inject/inject.h`` the report that it writes for each run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.reading import decode_json, read_file
from offbeat.base.toml.faults import unknown
from offbeat.base.units import amount, format_time, ordinal, parse_time
from offbeat.trace.recording import range_fault
from offbeat.trace.wrapped_functions import MARK, wrapped_functions
from offbeat.tuning.trial.trial import REPORTS
from offbeat.tuning.trial.variant import Variant

NONE = "none"
"""The variant without delays, with which the others are compared."""

MOST_S = 3600.0
"""The longest delay."""

MOST_NAMED = 8
"""The most functions that a message about a function without calls suggests."""

_LARGEST = 2**63 - 1
_RANDOM = re.compile(r"random:(\d{1,9})")


class DelayPlan(Struct, frozen=True, kw_only=True):
    """Delays at the calls of one function, as the options of ``offbeat async inject`` describe them.

    ``every`` has a variant's interval for each variant. ``ranks`` is ``all``, ``each-domain``, ``random:2``
    or ``0-3,8``. ``last`` is 0 without a last call.
    """

    call: str
    delay_s: float
    distribution: str
    when: str
    ranks: str
    every: tuple[int, ...]
    first: int
    last: int
    seed: int

    @property
    def counted_calls(self) -> str:
        """The calls that are counted, for texts."""
        return f"{MARK} with level 2" if self.call == MARK else self.call

    def described(self, every: int) -> str:
        """One variant as a phrase: ``500 µs after every 4th call of MPI_Wait on 1 random rank (seed 1)``."""
        time = format_time(self.delay_s)
        time = f"exponential times with a mean of {time}" if self.distribution == "exponential" else time
        number = "each" if every == 1 else f"every {ordinal(every)}"
        last = f" to call {self.last}" if self.last else ""
        span = f", from call {self.first}{last}" if self.first > 1 or self.last else ""
        return f"{time} {self.when} {number} call of {self.counted_calls} on {self._described_ranks()}{span}"

    def _described_ranks(self) -> str:
        random = _RANDOM.fullmatch(self.ranks)
        if random:
            return f"{amount(int(random[1]), 'random rank')} (seed {self.seed})"
        if self.ranks == "each-domain":
            return f"a random rank of each memory domain (seed {self.seed})"
        return "all ranks" if self.ranks == "all" else f"the ranks {self.ranks}"


# --- options ---


def parse_delay(text: str) -> float:
    """The seconds of ``--delay``. Raises :class:`BadInput` for a time that is not above 0."""
    try:
        delay_s = parse_time(text)
    except BadInput as error:
        raise BadInput(f"--delay: {error}") from None
    if not 1e-9 <= delay_s <= MOST_S:
        raise BadInput(f"--delay {text}: a delay lasts from 1 ns to {format_time(MOST_S)}")
    return delay_s


def parse_every(text: str) -> tuple[int, ...]:
    """The numbers of ``--every``. Raises :class:`BadInput` for anything but different numbers from 1 on."""
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"\d{1,18}", word) and int(word) for word in words):
        raise BadInput(f"--every {text}: write whole numbers from 1 on, such as 20 or 4,20,100")
    numbers = tuple(int(word) for word in words)
    if len(set(numbers)) < len(numbers):
        raise BadInput(f"--every {text}: a number is there twice; each one is a variant of its own")
    return numbers


def check_plan(plan: DelayPlan, p: int | None) -> None:
    """Raise :class:`BadInput` for an unknown function, for ranks that do not exist among ``p`` (None if that
    is not known), and for numbers of calls that cannot be."""
    names = wrapped_functions()
    if plan.call not in names:
        raise BadInput(f"--call: {unknown(plan.call, 'a function whose calls can be delayed', names)}")
    if not 1 <= plan.first <= _LARGEST:
        raise BadInput(f"--first {plan.first}: calls are counted from 1")
    if plan.last and not plan.first <= plan.last <= _LARGEST:
        raise BadInput(f"--last {plan.last} is before --first {plan.first}; 0 is the program's last call")
    for every in plan.every:
        if plan.last and plan.last // every * every < plan.first:
            raise BadInput(
                f"--every {every}: no call from {plan.first} to {plan.last} has a multiple of {every} as its"
                " number"
            )
    _check_ranks(plan.ranks, p)


def _check_ranks(ranks: str, p: int | None) -> None:
    if ranks in ("all", "each-domain"):
        return
    if random := _RANDOM.fullmatch(ranks):
        count = int(random[1])
        if not count or (p is not None and count > p):
            legal = "from 1 on" if p is None else f"from 1 to {p}, the processes that the command starts"
            raise BadInput(f"--ranks {ranks}: write a number of ranks {legal}")
        return
    if fault := range_fault(ranks):
        raise BadInput(f"--ranks {ranks}: write all, each-domain, random:2, or a list: {fault}")
    if p is not None and (rank := max(map(int, re.findall(r"\d+", ranks)))) >= p:
        raise BadInput(f"--ranks {ranks}: there is no rank {rank}; the last of {p} is {p - 1}")


# --- variants ---


class DelayVariant(Variant, frozen=True, kw_only=True):
    """The program with the delays of a plan at every ``every``-th call; 0: calls are counted, none is
    delayed, so that both kinds of runs make the same calls of the preload library.

    ``preload`` are the variables that load this library.
    """

    plan: DelayPlan
    every: int
    preload: Mapping[str, str]

    @property
    def described(self) -> str:
        """The delays as a phrase."""
        return self.plan.described(self.every) if self.every else "no delays"

    def variables(self, p: int | None) -> Mapping[str, str]:
        """The variables of the preload library."""
        plan = self.plan
        return {
            **self.preload,
            "OFFBEAT_TRACE_DIR": "",  # nothing is recorded, even if the user's environment sets it
            "OFFBEAT_INJECT_CALL": plan.call,
            "OFFBEAT_INJECT_NS": str(round(plan.delay_s * 1e9) if self.every else 0),
            "OFFBEAT_INJECT_DISTRIBUTION": plan.distribution,
            "OFFBEAT_INJECT_WHEN": plan.when,
            "OFFBEAT_INJECT_RANKS": plan.ranks,
            "OFFBEAT_INJECT_EVERY": str(self.every or 1),
            "OFFBEAT_INJECT_FIRST": str(plan.first),
            "OFFBEAT_INJECT_LAST": str(plan.last),
            "OFFBEAT_INJECT_SEED": str(plan.seed),
        }

    def run_variables(self, output: Path) -> Mapping[str, str]:
        """The variable that names the run's report.

        Removes the report of a killed run with the same number, which would prove delays of the new one.
        """
        report_path(output).unlink(missing_ok=True)
        return {"OFFBEAT_INJECT_REPORT": str(report_path(output))}

    def effect(self, output: Path) -> Mapping[str, float]:
        """Calls and occasions of the rank with the most, and the number and sum of all delays in s."""
        report = _read_report(report_path(output))
        _check_calls(self.plan, report)
        calls, occasions, delays, delayed_ns = zip(*report.ranks, strict=True)
        if self.every and not sum(delays):
            raise RunFailed(self._why_no_delays(max(calls), max(occasions)))
        return {
            "calls": max(calls),
            "occasions": max(occasions),
            "delays": sum(delays),
            "delayed_s": sum(delayed_ns) * 1e-9,
        }

    def _why_no_delays(self, calls: int, occasions: int) -> str:
        what = f"no process was delayed: no rank made more than {amount(calls, 'call')} of"
        what += f" {self.plan.counted_calls}"
        if not occasions:
            first = -(-self.plan.first // self.every) * self.every
            return f"{what}, and the first delay is at call {first}; give a smaller --every or --first"
        return f"{what}, and the ranks {self.plan.ranks} made none of those that are delayed"


def variants(plan: DelayPlan, preload: Mapping[str, str]) -> list[DelayVariant]:
    """The program without delays, and with those of each of the plan's intervals."""
    names = {NONE: 0} | {f"every {every}": every for every in plan.every}
    return [
        DelayVariant(name=name, plan=plan, every=every, preload=preload, keeps_settings=True)
        for name, every in names.items()
    ]


# --- reports ---


class _Report(Struct, frozen=True):
    functions: dict[str, int] = {}
    ranks: list[tuple[int, int, int, int]] = []
    error: str = ""


def report_path(output: Path) -> Path:
    """The report of a run, by its output file."""
    return (output.parents[1] / REPORTS / output.with_suffix(".json").name).absolute()


def _read_report(path: Path) -> _Report:
    try:
        report = decode_json(read_file(path), _Report)
    except FileNotFoundError:
        raise RunFailed(
            f"no process wrote the report {path}. Likely reasons: the program did not call MPI_Init and"
            " MPI_Finalize of this MPI library (give another one with --mpi); it is linked statically, or"
            " overwrites LD_PRELOAD; or rank 0 cannot write to this folder"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise RunFailed(f"cannot read the report {path}: {error}") from error
    if report.error:
        raise RunFailed(report.error)
    if not report.ranks:
        raise RunFailed(f"the report {path} has no ranks")
    return report


def _check_calls(plan: DelayPlan, report: _Report) -> None:
    """Raise :class:`RunFailed` if no rank called the function, with those that the program calls instead."""
    if any(calls for calls, *_ in report.ranks):
        return
    called = sorted(report.functions.items(), key=lambda one: (-one[1], one[0]))
    names = ", ".join(f"{name} ({amount(calls, 'call')})" for name, calls in called[:MOST_NAMED])
    instead = f"it calls {names}; name one of them with --call" if names else "it calls no other function"
    raise RunFailed(f"the program never calls {plan.counted_calls}; {instead}")
