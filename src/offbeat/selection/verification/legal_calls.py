"""Testing every kind of legal call on a library with its tuning files and without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.base.units import amount
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
from offbeat.measurement.legal_calls.algorithm_checks import (
    DRAWS,
    PROOF_SEED,
    RIGHT,
    Failure,
    Setup,
    calls_to_try,
    trials,
)
from offbeat.measurement.legal_calls.drawn_calls import LegalCall
from offbeat.selection.tuning_files.manifest import TuningFiles, write_file
from offbeat.selection.tuning_files.tuning_plan import Rule

LEGAL_CALLS = "legal-calls.json"
MOST_LISTED_CALLS = 10
"""The maximum number of calls that are printed; the file has all."""


VERIFICATION_SEED = PROOF_SEED + 1
"""The seed of the calls: others than those that the algorithms passed before the export."""


class TriedCall(Struct, frozen=True, kw_only=True):
    """A legal call that fails, and its errors with the tuning files and without: empty if the result was
    right.

    ``kind`` suffices for the failure (:data:`offbeat.model.study.algorithm.KINDS`); ``descriptor`` is the
    command that makes the driver repeat the call.
    """

    call: str
    kind: str
    p: int
    with_files: str
    without: str
    descriptor: str

    @property
    def is_broken(self) -> bool:
        """Whether the files break the call."""
        return self.without == RIGHT and self.with_files != RIGHT


class TriedCalls(Struct, frozen=True, kw_only=True):
    """The legal calls of one run of ``offbeat verify``, with the library's name.

    ``tried`` is their number and ``seed`` that with which they were drawn; ``calls`` are those that fail.
    Calls that fail without the files were not tried with them.
    """

    library: str
    seed: int
    tried: int
    calls: list[TriedCall]

    @property
    def broken_calls(self) -> list[TriedCall]:
        """The calls that the files break."""
        return [one for one in self.calls if one.is_broken]


def try_with_and_without(
    library: str,
    tuning: TuningFiles,
    launches: Launches,
    cases: pl.DataFrame,
    timeout_s: float,
    report: Callable[[str], None] = lambda _: None,
) -> TriedCalls:
    """Test calls of every collective that the files change, on each number of processes that was measured.

    ``cases`` are those of the study (:data:`offbeat.measurement.results.schema.CASES`), which define the
    placement. The communicators have every size at which the rules of the files begin or end, and others.
    """
    number, failures = 0, []
    for p in sorted({rule.measured_p for rule in tuning.rules}):
        rules_for_p = [rule for rule in tuning.rules if rule.measured_p == p]
        row = cases.filter(pl.col("p") == rules_for_p[0].p).row(0, named=True)
        for collective in dict.fromkeys(rule.collective for rule in rules_for_p):
            calls = _calls(collective, p, tuning.rules)
            number += len(calls)
            report(f"trying {amount(len(calls), 'legal call')} of {collective} on p={p}")
            library_alone, library_with_files = (
                Setup(
                    LaunchSpec(
                        p=p,
                        nodes=row["nodes"],
                        ppn=row["ppn"],
                        environment=tuple(sorted(environment.items())),
                        steerable=False,
                    )
                )
                for environment in ({}, tuning.environment_for(p))
            )
            alone = trials(launches, library_alone, calls, timeout_s).as_reference(library_alone)
            with_files = trials(launches, library_with_files, calls, timeout_s, alone).failures
            failures += [_tried_call(one, without=one.outcome) for one in alone.failures]
            failures += [_tried_call(one, with_files=one.outcome) for one in with_files]
    return TriedCalls(library=library, seed=VERIFICATION_SEED, tried=number, calls=failures)


def _tried_call(failure: Failure, with_files: str = RIGHT, without: str = RIGHT) -> TriedCall:
    call = failure.simplest
    return TriedCall(
        call=call.text,
        kind=failure.kind,
        p=call.p,
        with_files=with_files,
        without=without,
        descriptor=call.command.line(),
    )


def _calls(collective: str, p: int, rules: Sequence[Rule]) -> list[LegalCall]:
    """The legal calls of a collective, at sizes at which each of its algorithms is used."""
    collective_rules = [rule for rule in rules if rule.collective == collective]
    sizes = [rule.bytes for rule in collective_rules if rule.measured_p == p]
    ends = [end for rule in collective_rules for end in (rule.p_low, rule.p_high)]
    return calls_to_try(collective, p, sizes, VERIFICATION_SEED, DRAWS, ends)


def write_tried(trial: TriedCalls, directory: Path) -> Path:
    """Write the calls beside the tuning files."""
    text = msgspec.json.format(msgspec.json.encode(trial)).decode()
    return write_file(directory, LEGAL_CALLS, text + "\n")


def summary_lines(trial: TriedCalls) -> list[str]:
    """The results for the terminal."""
    broken_calls = trial.broken_calls
    faulty = [one for one in trial.calls if one.without != RIGHT]
    verb = "is" if trial.tried == 1 else "are"
    right = f"none of {amount(trial.tried, 'legal call')} (seed {trial.seed}) {verb} broken by the files"
    lines = [] if broken_calls else [f"{right[0].upper()}{right[1:]}."]
    lines += [
        f"Broken by the files: {one.call}: {one.with_files}." for one in broken_calls[:MOST_LISTED_CALLS]
    ]
    lines += (
        [f"{len(broken_calls) - MOST_LISTED_CALLS} more are broken; {LEGAL_CALLS} names them."]
        if broken_calls[MOST_LISTED_CALLS:]
        else []
    )
    if faulty:
        lines.append(
            f"{trial.library} itself gets {amount(len(faulty), 'kind')} of legal calls wrong without the"
            f" files: {faulty[0].call}: {faulty[0].without}. {LEGAL_CALLS} has all."
        )
    return lines
