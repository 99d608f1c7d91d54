"""Testing every kind of legal call on a library with its tuning files and without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.engines.launches import Launches, LaunchSpec
from offbeat.engines.legal_calls import LegalCall, few_sizes, legal_calls
from offbeat.engines.legal_checks import NOT_TRIED, RIGHT, try_calls
from offbeat.tuning.files import TuningFiles, write_file
from offbeat.tuning.plan import Rule
from offbeat.units import counted

LEGAL_CALLS = "legal-calls.json"
SHOWN = 10
"""The maximum number of calls that are printed; the file has all."""


class TriedCall(Struct, frozen=True, kw_only=True):
    """A legal call, and its errors with the tuning files and without: empty if the result was right."""

    call: str
    kinds: tuple[str, ...]
    p: int
    with_files: str
    without: str

    @property
    def is_broken(self) -> bool:
        """Whether the files break the call."""
        return self.without == RIGHT and self.with_files != RIGHT

    @property
    def is_faulty_library(self) -> bool:
        """Whether the library itself gets the call wrong."""
        return self.without != RIGHT and not self.without.startswith(NOT_TRIED)


class TriedCalls(Struct, frozen=True, kw_only=True):
    """All legal calls of one run of ``offbeat verify``, with the library's name."""

    library: str
    calls: list[TriedCall]

    @property
    def broken(self) -> list[TriedCall]:
        """The calls that the files break."""
        return [one for one in self.calls if one.is_broken]


def try_with_and_without(
    tuning: TuningFiles,
    launches: Launches,
    cases: pl.DataFrame,
    timeout_s: float,
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[TriedCall]:
    """Test the calls of every collective that the files change, on each number of processes that was
    measured.

    ``cases`` are those of the study (:data:`offbeat.results.schema.CASES`), which define placement, operation
    and datatype. The communicators have every size at which the rules of the files begin or end, and others.
    """
    for p in sorted({rule.measured_p for rule in tuning.rules}):
        own = [rule for rule in tuning.rules if rule.measured_p == p]
        calls: list[LegalCall] = []
        for collective in dict.fromkeys(rule.collective for rule in own):
            calls += _calls(collective, p, tuning.rules, cases)
        row = cases.filter(pl.col("p") == own[0].p).row(0, named=True)
        outcomes = []
        for environment, with_or_without in (({}, "without"), (tuning.environment_for(p), "with")):
            report(f"trying {counted(len(calls), 'legal call')} on p={p} {with_or_without} the files")
            where = LaunchSpec(
                p=p,
                nodes=row["nodes"],
                ppn=row["ppn"],
                environment=tuple(sorted(environment.items())),
                steerable=False,
            )
            outcomes.append(try_calls(launches, where, [], calls, timeout_s))
        for call, without, with_files in zip(calls, *outcomes, strict=True):
            yield TriedCall(
                call=call.text, kinds=call.kinds, p=call.p, with_files=with_files, without=without
            )


def _calls(collective: str, p: int, rules: Sequence[Rule], cases: pl.DataFrame) -> list[LegalCall]:
    """The legal calls of a collective, at sizes at which each of its algorithms is used."""
    collective_rules = [rule for rule in rules if rule.collective == collective]
    own = [rule for rule in collective_rules if rule.measured_p == p]
    size_of_algorithm = {rule.algorithm.name: rule.bytes for rule in own}
    sizes = [
        *few_sizes([rule.bytes for rule in own]),
        *size_of_algorithm.values(),
    ]
    row = cases.filter(pl.col("collective") == collective).row(0, named=True)
    ends = [end for rule in collective_rules for end in (rule.p_low, rule.p_high)]
    return legal_calls(collective, p, list(dict.fromkeys(sizes)), row["datatype"], row["op"], ends)


def write_tried(tried: TriedCalls, directory: Path) -> Path:
    """Write the calls beside the tuning files."""
    text = msgspec.json.format(msgspec.json.encode(tried)).decode()
    return write_file(directory, LEGAL_CALLS, text + "\n")


def summary_lines(tried: TriedCalls) -> list[str]:
    """The results for the terminal."""
    broken = tried.broken
    faulty = [one for one in tried.calls if one.is_faulty_library]
    right = sum(one.with_files == RIGHT for one in tried.calls)
    lines = [f"{right} of {counted(len(tried.calls), 'legal call')} are right with the files."]
    lines += [f"Broken by the files: {one.call}: {one.with_files}." for one in broken[:SHOWN]]
    lines += [f"{len(broken) - SHOWN} more are broken; {LEGAL_CALLS} names them."] if broken[SHOWN:] else []
    if faulty:
        lines.append(
            f"{tried.library} itself gets {counted(len(faulty), 'legal call')} wrong without the files as"
            f" well: {faulty[0].call}: {faulty[0].without}."
        )
    return lines
