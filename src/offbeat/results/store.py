"""The writer of a result directory.

A block of a case counts once a line of that case in ``cases.jsonl`` counts it, and that line is written, and
on disk, only after the block's samples are. The last line of a case counts: it describes all of its blocks. A
process that is killed at any moment leaves a directory that opens and reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
import polars as pl

from offbeat.errors import RunFailed, SignalExit
from offbeat.results import layout
from offbeat.results import samples as samples_on_disk
from offbeat.results.append import AppendFile, encode_lines
from offbeat.results.blocks import Block, Blocks
from offbeat.results.checksum import sealed_document
from offbeat.results.layout import UNFINISHED_CASE
from offbeat.results.lock import Lock
from offbeat.results.mend import mend_cases, mend_lines
from offbeat.results.parts import committed_rows
from offbeat.results.plan import Plan, plan_of
from offbeat.results.read import key, read_study_toml
from offbeat.results.recorded import SAMPLES_KEY, LeftOut, committed, most_rows, stated_sums, sums_text
from offbeat.results.repetitions import Samples
from offbeat.results.row_checksums import added
from offbeat.results.schema import CASES, SCHEMA_VERSION
from offbeat.study.algorithm import Algorithm, Verdict
from offbeat.study.case import Case

FACTS = ("engine", "library", "pattern_kind", "skew_s", "status", "proof")
"""Columns of CASES that neither the case nor its samples tell: whoever appends a case must."""

OPTIONAL_FACTS = ("reason", "evidence", "source", "overshoot_s", "clock_bound_s")
"""Facts with a default: the samples' failure, nothing, nothing, and the samples' own bounds."""


class Store:
    """A result directory, open for writing. Only one process has it open at a time; a context manager.

    ``study_toml`` is the study that the results belong to, ``provenance`` where and how they were made,
    ``logs`` the folder for what launched programs print, ``done`` the ids of the finished cases.
    """

    def __init__(self, directory: Path, lock: Lock) -> None:
        """Use :meth:`create` or :meth:`open`. Mends what a killed writer left."""
        self.directory = directory
        self.provenance = layout.read_provenance(directory)
        self.study_toml = read_study_toml(directory / layout.STUDY)
        self.logs = directory / layout.LOGS
        self._lock = lock
        self._stream: AppendFile | None = None
        for folder in (layout.REPETITIONS, layout.RANKS, layout.SAMPLES, layout.LOGS):
            (directory / folder).mkdir(exist_ok=True)
        self.damaged: list[LeftOut] = []
        self._algorithms = self._read(layout.ALGORITHMS, Algorithm)
        forgotten = bool(self.damaged)
        self._verdicts = self._read(layout.VERDICTS, Verdict)
        if forgotten:
            self._judge_again()
        self.done = self._recover_cases()
        self._cases = AppendFile(directory / layout.CASES)

    @classmethod
    def create(cls, directory: Path, *, study_toml: str, provenance: Mapping[str, object]) -> Self:
        """Make a new result directory for a study.

        Raises BadInput if the directory cannot be written, holds results already, or holds anything else;
        RunFailed if another process is making it.
        """
        directory = Path(directory)
        layout.make_directory(directory)
        with _keeping(Lock(directory), directory) as lock:
            layout.make_directory(directory)  # it may have become another run's before the lock was taken
            marked = {"schema_version": SCHEMA_VERSION} | dict(provenance)
            layout.write_whole(directory / layout.STUDY, study_toml.encode())
            layout.write_whole(directory / layout.PROVENANCE, sealed_document(marked))
            return cls(directory, lock)

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open a result directory to go on with its study.

        Raises BadInput if it does not exist, is not one of ours, is of another schema version, is damaged
        or cannot be written; RunFailed if another process writes to it.
        """
        directory = Path(directory)
        layout.read_provenance(directory)
        with _keeping(Lock(directory), directory) as lock:
            return cls(directory, lock)

    @property
    def algorithms(self) -> list[Algorithm]:
        """Every algorithm noted so far."""
        return list(self._algorithms.values())

    @property
    def verdicts(self) -> list[Verdict]:
        """Every verdict noted so far; the latest where there are several of one algorithm, p and size."""
        return list(self._verdicts.values())

    def verdict(self, collective: str, algorithm: str, p: int, bytes: int) -> Verdict | None:
        """What was found out about an algorithm at this p and message size in bytes, or None."""
        return self._verdicts.get((collective, algorithm, p, bytes))

    def add_algorithms(self, algorithms: Iterable[Algorithm]) -> None:
        """Note algorithms; those noted already are skipped. Raises RunFailed if they cannot be written."""
        self._note(layout.ALGORITHMS, self._algorithms, algorithms)

    def add_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        """Note verdicts; later ones replace earlier ones. Raises RunFailed if they cannot be written."""
        self._note(layout.VERDICTS, self._verdicts, verdicts)

    def set_total(self, cases: int) -> None:
        """Note how many cases there are where nothing says which ones are missing (imports); raises
        RunFailed."""
        self._write(layout.PLAN, msgspec.to_builtins(Plan(total=cases)))

    def set_plan(self, cases: Iterable[Case]) -> None:
        """Note every case of the whole study, so that an unfinished one is known as such.

        Raises RunFailed.
        """
        self._write(layout.PLAN, msgspec.to_builtins(plan_of(cases)))

    def update_provenance(self, facts: Mapping[str, object]) -> None:
        """Add facts that were not known at the start to the provenance, or replace some; raises RunFailed."""
        self.provenance = self.provenance | dict(facts)
        self._write(layout.PROVENANCE, self.provenance)

    def append(self, case: Case, facts: Mapping[str, object], samples: Samples) -> None:
        """Note a block of a case. When this returns, it is on disk; if it raises, it is as if never called.

        ``facts`` has the columns of CASES that case and samples do not tell: those of FACTS, and any of
        OPTIONAL_FACTS. The status ``unfinished`` says that more blocks will follow. Raises RunFailed if the
        disk is full or fails, ValueError for a case that is finished, for missing or unknown facts, and for
        samples that do not fit the case.
        """
        self.append_all([(case, facts, samples)])

    def append_all(self, cases: Sequence[tuple[Case, Mapping[str, object], Samples]]) -> None:
        """Note blocks, each with facts and samples as :meth:`append` takes them: all or none of them.

        Waits for the disk once, however many they are.
        """
        for case, _, samples in cases:
            _check_samples(case, samples)
        before = [self.blocks_of(case) for case, _, _ in cases]
        joined = [blocks.joined(entry[2]) for blocks, entry in zip(before, cases, strict=True)]
        rows = [
            _describe(case, facts, samples, blocks) | blocks.measures()
            for (case, facts, samples), blocks in zip(cases, joined, strict=True)
        ]
        batches = samples_on_disk.encode(
            [(entry[0].id, blocks.tried, entry[2]) for blocks, entry in zip(before, cases, strict=True)]
        )
        self.append_rows(rows, batches)
        for row, blocks in zip(rows, joined, strict=True):
            if row["status"] == UNFINISHED_CASE:
                self._unfinished[str(row["case"])] = blocks

    def append_rows(self, rows: Sequence[Mapping[str, object]], batches: bytes) -> None:
        """Note finished cases as rows of CASES, with the record batches of their samples: all or none."""
        if not rows:
            return
        for row in rows:
            if row["case"] in self.done:
                raise ValueError(f"case {row['case']} is there already")
            if row.keys() != CASES.keys():
                raise ValueError(f"a case needs exactly the columns of CASES, not {sorted(row)}")
        sums = samples_on_disk.checksums_of(batches)
        sums = {str(row["case"]): self._sums_with(str(row["case"]), sums) for row in rows}
        lines = [
            {name: row[name] for name in CASES} | {SAMPLES_KEY: sums_text(*sums[str(row["case"])])}
            for row in rows
        ]
        stream = self._open_stream()
        start = stream.end
        try:
            if batches:
                stream.append(batches)
            self._cases.append(encode_lines(lines))
        except BaseException:
            stream.rewind(start)
            raise
        self._committed |= committed(rows)
        for row in rows:
            case = str(row["case"])
            self._blocks[case] = int(str(row["blocks"]))
            self._sums[case] = sums[case]
            if row["status"] != UNFINISHED_CASE:
                self.done.add(case)
                self._unfinished.pop(case, None)
                self._sums.pop(case)

    def _sums_with(self, case: str, more: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """The checksums of a case's rows, of its blocks so far and of those in ``more``."""
        before, now = self._sums.get(case, (0, 0)), more.get(case, (0, 0))
        return added({case: before[0]}, {case: now[0]})[case], added({case: before[1]}, {case: now[1]})[case]

    @property
    def has_cases(self) -> bool:
        """Whether anything of any case has been measured."""
        return bool(self._blocks)

    def block_count(self, case: Case) -> int:
        """How many blocks of a case count."""
        return self._blocks.get(case.id, 0)

    def blocks_of(self, case: Case) -> Blocks:
        """The blocks that were measured of a case that is not finished."""
        return self._unfinished.get(case.id, Blocks())

    def close(self) -> None:
        """Turn this session's samples into Parquet and give the directory free.

        Raises RunFailed if there is no room for the Parquet files; the samples then stay as they are,
        readable.
        """
        try:
            if self._stream is not None:
                self._stream.close()
                self._stream = None
                samples_on_disk.convert_streams(self.directory, self._committed)
        finally:
            self._cases.close()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, SignalExit):
            error.report_measurements(self.has_cases)
        try:
            self.close()
        except RunFailed:
            if error is None:  # else the first failure is the one to report; the next run converts
                raise

    def _open_stream(self) -> AppendFile:
        if self._stream is None:
            path = samples_on_disk.stream_path(self.directory, samples_on_disk.next_number(self.directory))
            stream = AppendFile(path, end=0)
            try:
                layout.sync_directory(path.parent)
            except OSError as error:
                raise layout.disk_failure(path, error) from error
            self._stream = stream
        return self._stream

    def _recover_cases(self) -> set[str]:
        """The ids of the cases that count, once everything that does not count is gone."""
        rows, damaged = mend_cases(self.directory)
        self.damaged += damaged
        self._blocks = {row["case"]: row["blocks"] for row in rows}
        self._committed = committed(rows)
        begun = [row for row in rows if row["status"] == UNFINISHED_CASE]
        self._sums = {row["case"]: stated_sums(row) for row in begun}
        self._unfinished = self._read_blocks(begun) if begun else {}
        return {row["case"] for row in rows if row["status"] != UNFINISHED_CASE}

    def _read_blocks(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Blocks]:
        """The blocks of unfinished cases, from their lines and the repetitions on disk."""
        damage: list[samples_on_disk.Damage] = []
        repetitions = samples_on_disk.read_repetitions(self.directory, most_rows(rows), damage)
        known = committed_rows(repetitions, committed(rows)).sort("repetition")
        by_case = known.partition_by("case", as_dict=True)
        return {
            row["case"]: Blocks(
                tuple(
                    _read_block(by_case.get((row["case"],), known.clear()), number)
                    for number in range(row["blocks"])
                ),
                overshoot_s=row["overshoot_s"] or 0.0,
                clock_bound_s=row["clock_bound_s"] or 0.0,
            )
            for row in rows
        }

    def _read(self, name: str, kind: Any) -> dict[tuple[object, ...], Any]:
        items, damaged = mend_lines(self.directory, name, kind)
        self.damaged += damaged
        return {key(item): item for item in items}

    def _judge_again(self) -> None:
        """Forget the verdicts on algorithms whose own lines were damaged: proving notes both anew."""
        known = {(one.collective, one.name) for one in self._algorithms.values()}
        kept = {at: one for at, one in self._verdicts.items() if (one.collective, one.algorithm) in known}
        if len(kept) < len(self._verdicts):
            layout.write_whole(self.directory / layout.VERDICTS, encode_lines(list(kept.values())))
            self._verdicts = kept

    def _note(self, name: str, known: dict[tuple[object, ...], Any], items: Iterable[Any]) -> None:
        new = [item for item in items if known.get(key(item)) != item]
        if not new:
            return
        file = AppendFile(self.directory / name)
        try:
            file.append(encode_lines(new))
        finally:
            file.close()
        known.update((key(item), item) for item in new)

    def _write(self, name: str, content: Mapping[str, object]) -> None:
        try:
            layout.write_whole(self.directory / name, sealed_document(content))
        except OSError as error:
            raise layout.disk_failure(self.directory / name, error) from error


@contextmanager
def _keeping(lock: Lock, directory: Path) -> Iterator[Lock]:
    """Give the lock back if what follows fails; a refusal of the system becomes BadInput."""
    try:
        yield lock
    except OSError as error:
        lock.release()
        raise layout.unwritable(directory, error) from error
    except BaseException:
        lock.release()
        raise


def _check_samples(case: Case, samples: Samples) -> None:
    """Raise ValueError unless the samples are of this case's p and finite wherever they are valid."""
    repetitions = len(samples.valid)
    shape = (repetitions, case.p)
    if repetitions and (samples.arrivals_s.shape != shape or samples.exits_s.shape != shape):
        raise ValueError(
            f"arrivals {samples.arrivals_s.shape} and exits {samples.exits_s.shape} should both be {shape}"
        )
    valid = samples.valid
    if repetitions and not np.isfinite(samples.arrivals_s[valid] + samples.exits_s[valid]).all():
        raise ValueError("a valid repetition has times that are not finite")


def _describe(case: Case, facts: Mapping[str, object], samples: Samples, blocks: Blocks) -> dict[str, object]:
    """The columns of CASES that say what was measured, and how that went."""
    missing, unknown = set(FACTS) - set(facts), set(facts) - set(FACTS) - set(OPTIONAL_FACTS)
    if missing or unknown:
        raise ValueError(f"facts of a case: missing {sorted(missing)}, unknown {sorted(unknown)}")
    defaults = {
        "reason": samples.failure,
        "evidence": "",
        "source": "",
        "overshoot_s": blocks.overshoot_s,
        "clock_bound_s": blocks.clock_bound_s,
    }
    return {"case": case.id} | msgspec.structs.asdict(case) | defaults | dict(facts)


def _read_block(repetitions: pl.DataFrame, number: int) -> Block:
    """One block of a case from the case's repetitions."""
    of_block = repetitions.filter(pl.col("block") == number)
    valid = of_block.filter("valid")
    return Block(
        last_delay_s=valid["last_delay_s"].to_numpy(),
        total_delay_s=valid["total_delay_s"].to_numpy(),
        invalid=of_block.height - valid.height,
        calls=None if valid["call"].null_count() else valid["call"].to_numpy(),
    )
