"""The writer of a result directory.

A block is committed by a line of its case in ``cases.jsonl``, which is written to disk after the samples of
the block. The last line of a case describes all of its blocks. A process that is killed at any moment leaves
a directory that can be opened and read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from offbeat.base.campaign import durable
from offbeat.base.campaign.append_file import AppendFile, encode_lines
from offbeat.base.campaign.checksum import document_with_checksum
from offbeat.base.campaign.directory import LockedDirectory
from offbeat.base.campaign.lock import Lock, locked_while_opening
from offbeat.measurement.results import layout
from offbeat.measurement.results.blocks import Blocks, Samples
from offbeat.measurement.results.layout import UNFINISHED_CASE, DamagedRecord
from offbeat.measurement.results.plan import Plan, plan_of, read_plan
from offbeat.measurement.results.read import key, read_cases, read_study_toml
from offbeat.measurement.results.recorded import SAMPLES_KEY, committed, read_blocks, stated_sums, sums_text
from offbeat.measurement.results.repair import repair_cases, repair_lines
from offbeat.measurement.results.row_checksums import add_checksums
from offbeat.measurement.results.sample_files import FOLDERS, Records, SessionFiles, encode, record_checksums
from offbeat.measurement.results.schema import CASES, SCHEMA_VERSION
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.model.study.case import Case, columns_of

FACTS = ("engine", "library", "pattern_kind", "skew_s", "status", "proof")
"""Columns of CASES that neither the case nor its samples determine; :meth:`Store.append` needs them."""

OPTIONAL_FACTS = ("reason", "evidence", "source", "overshoot_s", "clock_bound_s")
"""Facts with a default: the samples' failure, empty, empty, and the bounds of the samples."""


class _CaseOnDisk(NamedTuple):
    """The committed blocks and repetitions of a case, the checksums of its repetitions and ranks, and its
    status."""

    blocks: int = 0
    repetitions: int = 0
    sums: tuple[int, int] = (0, 0)
    status: str = ""


_EMPTY_CASE = _CaseOnDisk()


class Store(LockedDirectory):
    """A context manager for a result directory that is open for writing, by one process at a time.

    ``study_toml`` is the study of the results, ``provenance`` where and how they were measured, ``logs`` the
    folder for the output of launched programs, ``done`` the ids of the finished cases, ``damaged`` the
    records that were moved to the folder ``damaged``.
    """

    def __init__(self, directory: Path, lock: Lock) -> None:
        """Use :meth:`create` or :meth:`open`. Repairs what a killed writer left."""
        super().__init__(directory, lock)
        self.provenance = layout.read_provenance(directory)
        self.study_toml = read_study_toml(directory / layout.STUDY)
        self.logs = directory / layout.LOGS
        self._samples = SessionFiles(directory)
        for folder in (*FOLDERS, layout.LOGS):
            (directory / folder).mkdir(exist_ok=True)
        self.damaged: list[DamagedRecord] = []
        self._algorithms = self._read(layout.ALGORITHMS, Algorithm)
        self._verdicts = self._read(layout.VERDICTS, Verdict)
        self._drop_orphaned_verdicts()
        self.done = self._recover_cases()
        self._cases = AppendFile(directory / layout.CASES)

    @classmethod
    def create(cls, directory: Path, *, study_toml: str, provenance: Mapping[str, object]) -> Self:
        """Create a result directory for a study.

        Raises BadInput if the directory cannot be written, holds results already, or holds anything else;
        RunFailed if another process is creating it.
        """
        directory = Path(directory)
        layout.make_new_directory(directory)
        with locked_while_opening(directory) as lock:
            layout.make_new_directory(directory)  # another run may have created it before the lock was taken
            document = {"schema_version": SCHEMA_VERSION} | dict(provenance)
            durable.write_durably(directory / layout.STUDY, study_toml.encode())
            durable.write_durably(directory / layout.PROVENANCE, document_with_checksum(document))
            return cls(directory, lock)

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open a result directory to resume its study.

        Raises BadInput if it does not exist, is not a result directory, has another schema version, is
        damaged or cannot be written; RunFailed if another process writes to it.
        """
        directory = Path(directory)
        layout.read_provenance(directory)
        with locked_while_opening(directory) as lock:
            return cls(directory, lock)

    @property
    def algorithms(self) -> list[Algorithm]:
        """All recorded algorithms."""
        return list(self._algorithms.values())

    @property
    def verdicts(self) -> list[Verdict]:
        """All recorded verdicts; the latest for each algorithm, p and size."""
        return list(self._verdicts.values())

    def verdict(self, collective: str, algorithm: str, p: int, bytes: int) -> Verdict | None:
        """The verdict on an algorithm at this p and message size in bytes, or None."""
        return self._verdicts.get((collective, algorithm, p, bytes))

    def add_algorithms(self, algorithms: Iterable[Algorithm]) -> None:
        """Record algorithms; recorded ones are skipped. Raises RunFailed if they cannot be written."""
        self._add_lines(layout.ALGORITHMS, self._algorithms, algorithms)

    def add_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        """Record verdicts; later ones replace earlier ones. Raises RunFailed if they cannot be written."""
        self._add_lines(layout.VERDICTS, self._verdicts, verdicts)

    def set_total(self, cases: int) -> None:
        """Record the number of cases of an import, whose missing cases are unknown; raises RunFailed."""
        self.write(layout.PLAN, document_with_checksum(msgspec.to_builtins(Plan(total=cases))))

    def set_plan(self, cases: Iterable[Case]) -> None:
        """Record all cases of the study, so that an unfinished one is recognised. Raises RunFailed."""
        self.write(layout.PLAN, document_with_checksum(msgspec.to_builtins(plan_of(cases))))

    def replace_study(self, study_toml: str) -> None:
        """Replace the study by one that has all of its cases; raises RunFailed."""
        self.write(layout.STUDY, study_toml.encode())
        self.study_toml = study_toml

    def retry_quarantined(self) -> int:
        """Make the quarantined cases unfinished, and forget the quarantined verdicts, so that the next run
        tries them again; returns their number. Blocks that were measured are kept. Raises RunFailed.
        """
        rows = [row for row in self._rows() if row["status"] == "quarantined"]
        blocks = {case: one.without_failed() for case, one in read_blocks(self.directory, rows).items()}
        again = [
            row | blocks[row["case"]].columns() | {"status": UNFINISHED_CASE, "reason": ""} for row in rows
        ]
        self._write_again(again, blocks)
        kept_verdicts = {at: one for at, one in self._verdicts.items() if one.status != "quarantined"}
        recorded_keys = {(row["collective"], row["algorithm"], row["p"], row["bytes"]) for row in rows}
        count = len(again) + len(self._verdicts.keys() - kept_verdicts.keys() - recorded_keys)
        if len(kept_verdicts) < len(self._verdicts):
            self.write(layout.VERDICTS, encode_lines(list(kept_verdicts.values())))
            self._verdicts = kept_verdicts
        return count

    def judge_again(self, judge: Callable[[Mapping[str, Any], Blocks], tuple[str, str]]) -> None:
        """Change the status and the reason of each case that is not quarantined to what ``judge`` returns
        for its row of CASES and its blocks, which are all kept. Raises RunFailed.
        """
        rows = [row for row in self._rows() if row["status"] != "quarantined"]
        blocks = read_blocks(self.directory, rows)
        verdicts = [(row, judge(row, blocks[row["case"]])) for row in rows]
        again = [
            row | {"status": status, "reason": reason}
            for row, (status, reason) in verdicts
            if (status, reason) != (row["status"], row["reason"])
        ]
        self._write_again(again, blocks)

    def _rows(self) -> list[dict[str, Any]]:
        """The row of CASES of each recorded case."""
        return list(read_cases(self.directory).iter_rows(named=True))

    def _write_again(self, rows: Sequence[dict[str, Any]], blocks: Mapping[str, Blocks]) -> None:
        """Replace the rows of some cases, whose blocks on disk are ``blocks`` now."""
        if not rows:
            return
        lines = [columns_of(row) | {SAMPLES_KEY: sums_text(*self._on_disk[row["case"]].sums)} for row in rows]
        self._cases.append(encode_lines(lines))
        for row in rows:
            case = row["case"]
            self._on_disk[case] = self._on_disk[case]._replace(blocks=row["blocks"], status=row["status"])
            if row["status"] == UNFINISHED_CASE:
                self.done.discard(case)
                self._unfinished[case] = blocks[case]
            else:
                self.done.add(case)
                self._unfinished.pop(case, None)

    def update_provenance(self, facts: Mapping[str, object]) -> None:
        """Add facts to the provenance, or replace some; raises RunFailed."""
        self.provenance = self.provenance | dict(facts)
        self.write(layout.PROVENANCE, document_with_checksum(self.provenance))

    def append(self, case: Case, facts: Mapping[str, object], samples: Samples) -> None:
        """Write a block of a case: it is on disk when this returns; if this raises, nothing has changed.

        ``facts`` has the columns of FACTS and any of OPTIONAL_FACTS. The status ``unfinished`` says that more
        blocks will follow. Raises RunFailed if the disk is full or fails, ValueError for a case that is
        finished, for missing or unknown facts, and for samples that do not fit the case.
        """
        self.append_all([(case, facts, samples)])

    def append_all(self, cases: Sequence[tuple[Case, Mapping[str, object], Samples]]) -> None:
        """Write blocks, each with facts and samples as :meth:`append` takes them: all or none of them.

        The disk is flushed once for all of them.
        """
        rows, blocks_to_encode, unfinished_blocks = [], [], {}
        for case, facts, samples in cases:
            _check_samples(case, samples)
            old_blocks = self.blocks_of(case)
            blocks = old_blocks.with_block(samples)
            rows.append(_describe(case, facts, samples, blocks) | blocks.columns())
            blocks_to_encode.append((case.id, old_blocks.total_repetitions, samples))
            if facts["status"] == UNFINISHED_CASE:
                unfinished_blocks[case.id] = blocks
        self.append_rows(rows, encode(blocks_to_encode))
        self._unfinished |= unfinished_blocks

    def append_rows(self, rows: Sequence[Mapping[str, Any]], records: Records) -> None:
        """Write rows of CASES with the records of their samples: all or none."""
        if not rows:
            return
        for row in rows:
            if row["case"] in self.done:
                raise ValueError(f"case {row['case']} is finished already")
            if row.keys() != CASES.keys():
                raise ValueError(f"a case needs exactly the columns of CASES, not {sorted(row)}")
        sums = record_checksums(records)
        repetitions = committed(rows)
        states = {
            row["case"]: _CaseOnDisk(
                row["blocks"],
                repetitions[row["case"]],
                self._sums_with(row["case"], sums),
                str(row["status"]),
            )
            for row in rows
        }
        lines = [
            columns_of({name: row[name] for name in CASES})
            | {SAMPLES_KEY: sums_text(*states[row["case"]].sums)}
            for row in rows
        ]
        ends = self._samples.ends
        try:
            self._samples.append(records)
            self._cases.append(encode_lines(lines))
        except BaseException:
            self._samples.rewind(ends)
            raise
        self._on_disk |= states
        for row in rows:
            if row["status"] != UNFINISHED_CASE:
                self.done.add(row["case"])
                self._unfinished.pop(row["case"], None)

    def _sums_with(self, case: str, new: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """The checksums of a case's rows: those on disk plus those in ``new``."""
        old_sums, new_sums = self._on_disk.get(case, _EMPTY_CASE).sums, new.get(case, (0, 0))
        repetitions = add_checksums({case: old_sums[0]}, {case: new_sums[0]})[case]
        return repetitions, add_checksums({case: old_sums[1]}, {case: new_sums[1]})[case]

    @property
    def plan_total(self) -> int:
        """The number of cases of the study, as far as a run has planned it; 0 before."""
        return plan.total if (plan := read_plan(self.directory)) else 0

    @property
    def blocks_by_case(self) -> list[int]:
        """The number of blocks of each case that has been begun and is not quarantined."""
        return [one.blocks for one in self._on_disk.values() if one.status != "quarantined"]

    @property
    def statuses(self) -> dict[str, str]:
        """The status of each recorded case, by its id."""
        return {case: state.status for case, state in self._on_disk.items()}

    @property
    def has_records(self) -> bool:
        """Whether any block has been measured."""
        return bool(self._on_disk)

    def block_count(self, case: Case) -> int:
        """The number of committed blocks of a case."""
        return self._on_disk.get(case.id, _EMPTY_CASE).blocks

    def blocks_of(self, case: Case) -> Blocks:
        """The measured blocks of a case that is not finished."""
        return self._unfinished.get(case.id, Blocks())

    def close(self) -> None:
        """Join the records of this session and release the directory.

        Raises RunFailed if the disk is full; the samples then stay in their small records, readable.
        """
        try:
            self._samples.close({case: state.repetitions for case, state in self._on_disk.items()})
        finally:
            self._cases.close()
            super().close()

    def _recover_cases(self) -> set[str]:
        """Remove everything that does not count; returns the ids of the finished cases."""
        rows, damaged_records = repair_cases(self.directory)
        self.damaged += damaged_records
        repetitions = committed(rows)
        self._on_disk = {
            row["case"]: _CaseOnDisk(row["blocks"], repetitions[row["case"]], stated_sums(row), row["status"])
            for row in rows
        }
        unfinished_rows = [row for row in rows if row["status"] == UNFINISHED_CASE]
        self._unfinished = read_blocks(self.directory, unfinished_rows) if unfinished_rows else {}
        return {row["case"] for row in rows if row["status"] != UNFINISHED_CASE}

    def _read(self, name: str, kind: Any) -> dict[tuple[object, ...], Any]:
        items, damaged_records = repair_lines(self.directory, name, kind)
        self.damaged += damaged_records
        return {key(item): item for item in items}

    def _drop_orphaned_verdicts(self) -> None:
        """Drop the verdicts on algorithms whose lines are damaged or lost: both are recorded again."""
        recorded_keys = {(one.collective, one.name) for one in self._algorithms.values()}
        remaining_verdicts = {
            at: one for at, one in self._verdicts.items() if (one.collective, one.algorithm) in recorded_keys
        }
        if len(remaining_verdicts) < len(self._verdicts):
            durable.write_durably(
                self.directory / layout.VERDICTS, encode_lines(list(remaining_verdicts.values()))
            )
            self._verdicts = remaining_verdicts

    def _add_lines(
        self, name: str, items_by_key: dict[tuple[object, ...], Any], items: Iterable[Any]
    ) -> None:
        new = [item for item in items if items_by_key.get(key(item)) != item]
        if not new:
            return
        file = AppendFile(self.directory / name)
        try:
            file.append(encode_lines(new))
        finally:
            file.close()
        items_by_key.update((key(item), item) for item in new)


def _check_samples(case: Case, samples: Samples) -> None:
    """Raise ValueError unless the samples have the processes and partitions of the case, and finite times
    where they are valid."""
    repetitions = len(samples.valid)
    shape = (repetitions, case.processes, case.partitions)[: 2 if case.partitions == 1 else 3]
    if repetitions and (samples.arrivals_s.shape != shape or samples.exits_s.shape != shape):
        raise ValueError(
            f"arrivals {samples.arrivals_s.shape} and exits {samples.exits_s.shape} should both be {shape}"
        )
    valid = samples.valid
    if repetitions and not np.isfinite(samples.arrivals_s[valid] + samples.exits_s[valid]).all():
        raise ValueError("a valid repetition has times that are not finite")


def _describe(case: Case, facts: Mapping[str, object], samples: Samples, blocks: Blocks) -> dict[str, object]:
    """The columns of CASES that describe a case and its outcome, without the delays."""
    missing_facts, unknown = set(FACTS) - set(facts), set(facts) - set(FACTS) - set(OPTIONAL_FACTS)
    if missing_facts or unknown:
        raise ValueError(f"facts of a case: missing {sorted(missing_facts)}, unknown {sorted(unknown)}")
    defaults = {
        "reason": samples.failure,
        "evidence": "",
        "source": "",
        "overshoot_s": blocks.overshoot_s,
        "clock_bound_s": blocks.clock_bound_s,
    }
    return {"case": case.id} | msgspec.structs.asdict(case) | defaults | dict(facts)
