"""A study that changed after cases were measured: whether its results can be continued, and what remains.

A study can grow by cases, and by blocks: a changed rule of repetitions decides for each measured case whether
further blocks are due. What was measured is never removed and never measured again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from offbeat.base.campaign.directory import OtherSettings, other_settings
from offbeat.base.units import amount
from offbeat.measurement.results import layout
from offbeat.measurement.results.blocks import Blocks
from offbeat.measurement.results.layout import UNFINISHED_CASE, key
from offbeat.measurement.results.read import Results, read_study, read_study_toml
from offbeat.measurement.results.recorded import read_blocks
from offbeat.measurement.results.store import Store
from offbeat.measurement.runs.repetition import judge_blocks
from offbeat.model.pattern import replay_file
from offbeat.model.study.algorithm import MEASURED
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import GROWING, contains
from offbeat.model.study.schema import SIMULATING, Study
from offbeat.model.study.skew_policy import REPLAY
from offbeat.model.study.study_file import HOSTFILE_KEY, LoadedStudy, changed_keys, read_resolved

AUTO = "auto"
"""The value of a study's seed for which a random seed is drawn."""

MAY_CHANGE = ("mpi.prefix", "simulator.executor", "repetitions.hang_after")
"""Keys of a study that may change: check_library checks that the prefix still names the same library, and the
others do not affect what is measured."""

MAY_MOVE = (HOSTFILE_KEY,)
"""Keys of a study that name a file: the path may change if the content stays the same."""

REPETITIONS = "repetitions."
"""Beginning of the keys that say how often a case is measured."""

BLOCKS_KEY = "repetitions.blocks"


def changes(loaded_study: LoadedStudy, old_study: Study, provenance: Mapping[str, Any]) -> list[str]:
    """The keys and files of a study that differ from those of its results, without those that may change."""
    study = loaded_study.study
    if study.seed == AUTO:
        study = msgspec.structs.replace(study, seed=old_study.seed)
    files, digests = provenance.get("files"), loaded_study.file_digests()
    files = files if isinstance(files, dict) else {}
    moved_keys = [key for key in MAY_MOVE if key in files and files[key] == digests.get(key)]
    new_keys = [key for key in changed_keys(old_study, study) if key not in (*MAY_CHANGE, *moved_keys)]
    files_changed = [name for name, digest in digests.items() if files.get(name, digest) != digest]
    return new_keys + [name for name in files_changed if name not in new_keys]


def check_growth(
    loaded_study: LoadedStudy, old_study: Study, differences: Sequence[str], directory: Path
) -> None:
    """Raise :class:`BadInput` unless a changed study can continue the results of ``old_study``: it has all of
    their cases, and what else changed is how often a case is measured."""
    rule = [key for key in differences if key.startswith(REPETITIONS)]
    other_keys = [key for key in differences if key not in rule]
    if not (all(key.startswith(GROWING) for key in other_keys) and contains(loaded_study.study, old_study)):
        where = f" in {loaded_study.path}, or in the options beside it,"
        raise other_settings(directory, layout.RESULTS, other_keys or differences, where)
    is_measured = loaded_study.study.engine not in SIMULATING
    if is_measured and loaded_study.study.repetitions.planned_blocks == 1 and set(rule) - {BLOCKS_KEY}:
        raise OtherSettings(
            f"{directory} holds results of offbeat with other settings ({'; '.join(rule)}), and a study with"
            " a single block for each case does not measure its cases further. Restore the old values in"
            f" {loaded_study.path}, or raise {BLOCKS_KEY} so that the measured cases get further blocks, or"
            " give another directory with --output",
            rule,
        )


def judge_again(loaded_study: LoadedStudy, store: Store) -> str:
    """Decide by the study's rule of repetitions which of the measured cases need further blocks.

    Returns a sentence about what changes for them, empty if there are none. Raises RunFailed if the disk is
    full or fails.
    """
    if loaded_study.study.engine in SIMULATING:
        return ""
    planned_count = loaded_study.study.repetitions.planned_blocks
    is_lower = planned_count < read_resolved(store.study_toml).repetitions.planned_blocks
    earlier_ids, judge, counts = set(store.done), _judge(loaded_study), list[int]()

    def judge_and_count(row: Mapping[str, Any], blocks: Blocks) -> tuple[str, str]:
        counts.append(len(blocks.blocks))
        return judge(row, blocks)

    store.judge_again(judge_and_count)
    further, more = len(earlier_ids - store.done), sum(count > planned_count for count in counts)
    if further:
        need = "needs" if further == 1 else "need"
        return (
            f"[repetitions] has changed: {amount(further, 'finished case')} {need} further blocks. What was"
            " measured is kept, and is not measured again."
        )
    if more and is_lower:
        return (
            f"{amount(more, 'case')} {'has' if more == 1 else 'have'} more than the"
            f" {amount(planned_count, 'block')} of {loaded_study.path}: up to {max(counts)} are measured"
            " already. All of them are kept and count."
        )
    return "[repetitions] has changed, but no finished case needs further blocks." if earlier_ids else ""


def describe_remaining(loaded_study: LoadedStudy, directory: Path, cases: Sequence[Case]) -> list[str]:
    """Lines on what a result directory holds of a study with these cases, and what remains.

    Raises :class:`BadInput` if the directory cannot be continued.
    """
    old_study = read_resolved(read_study_toml(directory / layout.STUDY))
    results = read_study(directory)
    recorded_cases = results.cases
    differences = changes(loaded_study, old_study, layout.read_provenance(directory))
    if differences and recorded_cases.height:
        check_growth(loaded_study, old_study, differences, directory)
    rows = list(recorded_cases.iter_rows(named=True))
    states = Counter(_states(loaded_study, directory, rows, is_changed=bool(differences)))
    present = {row["case"] for row in rows}
    left_out = _left_out(results)
    for case in cases:
        if case.id not in present:
            states["left out by the verdict on the algorithm" if left_out(case) else "not measured"] += 1
    lines = [f"  {amount(number, 'case')}: {state}" for state, number in sorted(states.items())]
    return [f"{directory} holds {len(rows)} of them:", *lines]


def _left_out(results: Results) -> Callable[[Case], bool]:
    """Whether the verdict on the algorithm of a case excludes the case from a study."""
    excluded_keys = {key(one) for one in results.verdicts if one.status not in MEASURED}
    return lambda case: (case.collective, case.algorithm, case.p, case.bytes) in excluded_keys


def _states(
    loaded_study: LoadedStudy, directory: Path, rows: Sequence[Mapping[str, Any]], *, is_changed: bool
) -> list[str]:
    """The state of each case, in words."""
    verdicts = [(row["status"], row["reason"]) for row in rows]
    if is_changed and loaded_study.study.engine not in SIMULATING:
        measured_rows = [row for row in rows if row["status"] != "quarantined"]
        judge, blocks = _judge(loaded_study), read_blocks(directory, measured_rows)
        verdicts = [
            judge(row, blocks[row["case"]]) if row["status"] != "quarantined" else state
            for row, state in zip(rows, verdicts, strict=True)
        ]
    return [_in_words(status, reason) for status, reason in verdicts]


def _in_words(status: str, reason: str) -> str:
    if status == "quarantined":
        return "quarantined; --retry measures them again"
    if status == UNFINISHED_CASE:
        return f"{reason} are measured" if reason else "to be tried again"
    return "finished" if status == "measured" else f"finished, but {status}"


def _judge(loaded_study: LoadedStudy) -> Callable[[Mapping[str, Any], Blocks], tuple[str, str]]:
    """The function that judges the blocks of a case, given its row, by the study's rule of repetitions."""
    paths, calls = loaded_study.pattern_paths(), dict[str, int]()

    def judge(row: Mapping[str, Any], blocks: Blocks) -> tuple[str, str]:
        shape = row["shape"]
        if row["skew_policy"] == REPLAY.key and shape not in calls:
            calls[shape] = replay_file.read(paths[shape], row["p"]).calls
        return judge_blocks(
            blocks, loaded_study.study.repetitions, calls[shape] if row["skew_policy"] == REPLAY.key else 0
        )

    return judge
