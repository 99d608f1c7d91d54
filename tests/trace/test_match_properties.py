"""The calls of any trace are those that a plain reading of all records at once finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_factory as factory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offbeat.trace.calls.call_matching import Matcher
from offbeat.trace.calls.call_times import BLOCKING, NONBLOCKING, analyse_calls
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace

WORLD, HALF = 1, 3


@dataclass
class Plain:
    """A call, determined record by record."""

    arrivals: dict[int, int] = field(default_factory=dict)
    exits: dict[int, int] = field(default_factory=dict)
    moments: list[tuple[int, int, bool]] = field(default_factory=list)  # enter, exit, may be waiting

    def row(self, kind: int, p: int) -> tuple[int, ...]:
        first, last = min(self.arrivals.values()), max(self.arrivals.values())
        spent = sum(leave - enter for enter, leave, _ in self.moments)
        waited = sum(max(min(last, leave) - enter, 0) for enter, leave, may_wait in self.moments if may_wait)
        is_timed = len(self.exits) == len(self.arrivals)
        end = max(self.exits.values()) if is_timed else -1
        return kind, first, last, end, len(self.arrivals) == p, spent, waited, sum(self.arrivals.values())


def made_trace(folder: Path, p: int, rounds: int, seed: int) -> tuple[Path, list[tuple[int, ...]]]:
    """A random trace and its calls: blocking and nonblocking, on two communicators; some ranks stop early."""
    rng = np.random.default_rng(seed)
    ranks = factory.files(p)
    expected: dict[tuple[int, int], tuple[int, Plain]] = {}
    members = list(range(p))[::-1][: max(p // 2, 1)]
    stops = rng.integers(rounds // 2, rounds + 1, p) if seed % 3 == 0 else np.full(p, rounds)
    kinds = rng.integers(0, 3, rounds)
    for one in ranks:
        sequences = {WORLD: 0, HALF: 0}
        if one.rank in members:
            one.definitions.append(factory.communicator(HALF, members, one.rank, ordinal=1, parent=1))
        at = 1000
        for kind in kinds[: stops[one.rank]].tolist():
            communicator = HALF if kind == 2 else WORLD
            if communicator == HALF and one.rank not in members:
                continue
            number = sequences[communicator]
            sequences[communicator] += 1
            call = expected.setdefault(
                (communicator, number), (BLOCKING if kind != 1 else NONBLOCKING, Plain())
            )
            at = _add(one, call[1], kind == 1, communicator, number, at, rng)
    sizes = {WORLD: p, HALF: len(members)}
    rows = [call.row(kind, sizes[key[0]]) for key, (kind, call) in expected.items()]
    return factory.write(folder, ranks), sorted(rows)


def _add(
    one: factory.MadeFile, call: Plain, later: bool, communicator: int, number: int, at: int, rng: Any
) -> int:
    """One rank's part of a call; when the rank goes on."""
    begin = at + int(rng.integers(1, 50_000))
    end = begin + int(rng.integers(0, 30_000))
    chosen: dict[str, Any] = {"communicator": communicator, "sequence": number}
    call.arrivals[one.rank] = begin
    if not later:
        one.call(begin, end, **chosen)
        call.exits[one.rank] = end
        call.moments.append((begin, end, True))
        return end
    chosen["function"] = "MPI_Iallreduce"
    one.call(begin, end, flags=form.ISSUE, **chosen)
    wait, done = end + 100, end + 100 + int(rng.integers(0, 30_000))
    one.call(wait, done, flags=form.COMPLETION | 1 << form.BY_SHIFT, **chosen)
    call.exits[one.rank] = done
    call.moments += [(begin, end, False), (wait, done, True)]
    return done


def found_in(folder: Path, most_records: int) -> list[tuple[int, ...]]:
    rows = []
    for matched in Matcher(open_trace(folder), most_records=most_records).batches():
        analysed = analyse_calls(matched)
        arrivals = np.bincount(
            analysed.arrival_call, weights=analysed.arrival_delay_ns, minlength=len(analysed)
        )
        for place in range(len(analysed)):
            first = int(analysed.first_ns[place])
            rows.append(
                (
                    int(analysed.kind[place]),
                    first,
                    int(analysed.last_ns[place]),
                    int(analysed.end_ns[place]) if analysed.has_end[place] else -1,
                    bool(analysed.is_complete[place]),
                    int(analysed.spent_ns[place]),
                    int(analysed.waited_ns[place]),
                    int(arrivals[place]) + first * int(analysed.arrivals[place]),
                )
            )
    return sorted(rows)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(p=st.integers(1, 6), rounds=st.integers(1, 200), seed=st.integers(0, 2**31))
@pytest.mark.parametrize("most_records", [1, 2_000_000])
def test_calls_are_those_of_a_plain_reading(
    tmp_path_factory: pytest.TempPathFactory, most_records: int, p: int, rounds: int, seed: int
) -> None:
    folder, expected = made_trace(tmp_path_factory.mktemp("t") / "t", p, rounds, seed)
    assert found_in(folder, most_records) == expected


def test_calls_over_many_pages_and_windows_are_those_of_a_plain_reading(tmp_path: Path) -> None:
    folder, expected = made_trace(tmp_path / "t", 5, 12_000, 7)
    assert found_in(folder, 2_000_000) == expected
    assert found_in(folder, 1) == expected
