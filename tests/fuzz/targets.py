"""Every file that offbeat reads: how a valid one is created, and the function that reads it."""

from __future__ import annotations

import io
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from offbeat.measurement.results.store import Store

CORPUS = Path(__file__).parent / "corpus"


class Target(NamedTuple):
    """``make`` writes valid files into a folder; ``use`` reads them after the damage."""

    make: Callable[[Path], None]
    use: Callable[[Path], object]


def _copy(name: str) -> Callable[[Path], None]:
    return lambda folder: shutil.copy(CORPUS / name, folder / name) and None


def _study(folder: Path) -> None:
    from offbeat.model.study.case_expansion import groups, pattern_rows
    from offbeat.model.study.study_file import load, resolved_toml

    loaded = load(folder / "study.toml")
    groups(loaded.study)
    pattern_rows(loaded.study, groups(loaded.study)[0])
    resolved_toml(loaded.study)


def _platform(folder: Path) -> None:
    from offbeat.model.platform.machine import load

    load(folder / "platform.toml").node_of_rank(8)


def _pattern(folder: Path) -> None:
    from offbeat.model.pattern import pattern_file

    pattern_file.read(folder / "pattern.txt")


def _partitions(folder: Path) -> None:
    from offbeat.model.pattern import pattern_file

    pattern_file.read(folder / "partitions.txt", partitions=None)


def _replay(folder: Path) -> None:
    from offbeat.model.pattern import replay_file

    replay_file.read(folder / "calls.replay")


def _table(folder: Path) -> None:
    from offbeat.measurement.results.import_csv import import_csv

    shutil.rmtree(folder / "out", ignore_errors=True)
    import_csv(folder / "table.csv", folder / "out")


def _make_results(folder: Path) -> None:
    from offbeat.measurement.results.blocks import Samples
    from offbeat.measurement.results.store import Store
    from offbeat.model.study.case import Case

    facts = {"engine": "mpi", "library": "L", "pattern_kind": "shape", "skew_s": 1e-5, "status": "measured"}
    draw = np.random.default_rng(1)
    cases = [
        Case(collective="reduce", algorithm=name, bytes=8, pattern=pattern, shape=pattern, skew_policy="none",
             skew_factor=1.0, p=3, nodes=0, ppn=0, op="sum", datatype="double")
        for name in ("a", "b", "default")
        for pattern in ("no_delay", "ascending")
    ]  # fmt: skip
    study = (CORPUS / "study.toml").read_text()
    for number in range(2):  # one session as Parquet, one as the stream of a killed run
        make = Store.open if number else Store.create
        store = make(folder, **({} if number else {"study_toml": study, "provenance": {"library": "L"}}))
        store.set_plan(cases)
        _record_proofs(store)
        for case in cases[3 * number : 3 * number + 3]:
            arrivals = draw.random((8, 3)) * 1e-5
            exits = arrivals.max(axis=1, keepdims=True) + draw.random((8, 3)) * 1e-5
            samples = Samples(arrivals_s=arrivals, exits_s=exits, valid=np.ones(8, dtype=bool))
            store.append(case, facts | {"proof": "proved"}, samples)
        if number:
            store._lock.release()
        else:
            store.close()


def _record_proofs(store: Store) -> None:
    from offbeat.model.study.algorithm import Algorithm, Verdict

    for name in ("a", "b", "default"):
        store.add_algorithms([Algorithm(collective="reduce", name=name, settings={"x": "1"})])
        verdict = Verdict(collective="reduce", algorithm=name, p=3, bytes=8, status="proved", evidence="f")
        store.add_verdicts([verdict])


def _results(folder: Path) -> None:
    from offbeat.base.json_document import encode_document
    from offbeat.measurement.results.read import read_study
    from offbeat.measurement.results.status import read_status
    from offbeat.measurement.results.store import Store
    from offbeat.selection.choices.choose import select
    from offbeat.selection.choices.document import selection_document

    read_status(folder)
    results = read_study(folder)
    results.ranks()
    encode_document(selection_document(select(results, bootstrap=20)))
    with Store.open(folder) as store:
        _record_proofs(store)  # a resumed study repeats the proofs that are lost
    assert not read_study(folder).notes, "resuming repairs damaged results"


def _make_trace(folder: Path) -> None:
    from trace_factory import files, form, write

    ranks = files(3)
    for one in ranks:
        for sequence in range(3):
            begin = 1000 * (sequence + 1)
            one.call(begin + 5 * one.rank, begin + 50, sequence=sequence)
            one.message(begin + 60, begin + 70, peer=(one.rank + 1) % 3, tag=sequence)
            receive = {"kind": form.RECEIVE, "function": "MPI_Irecv", "request": sequence + 1}
            wildcard = {"peer": form.UNKNOWN, "tag": sequence, "flags": form.ISSUE | form.ANY_SOURCE}
            one.message(begin + 80, begin + 90, **receive, **wildcard)
            status = {"peer": (one.rank + 2) % 3, "tag": sequence, "flags": form.COMPLETION}
            one.message(begin + 100, begin + 110, **receive, **status)
            nothing = {"communicator": 0, "peer": -1, "tag": 2, "partition": 3}  # an iteration begins
            for place, kind in enumerate((form.REQUESTS, form.POLL, form.MARK)):
                one.message(begin + 120 + 10 * place, begin + 125 + 10 * place, kind=kind, **nothing)
    write(folder, ranks)


def _trace(folder: Path) -> None:
    from offbeat.base.json_document import encode_document
    from offbeat.programs.iterations.document import report_document
    from offbeat.programs.iterations.report import analyse
    from offbeat.programs.iterations.summary import sentences, tables
    from offbeat.trace.document import summary_document
    from offbeat.trace.files.record_table import message_pieces
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.messages.message_stats import MessageSums
    from offbeat.trace.summary import summarise

    trace = open_trace(folder)
    encode_document(summary_document(summarise(trace)))
    list(message_pieces(trace))
    MessageSums(trace).rows(1.0)
    for way in ("", "sites"):
        report = analyse(trace, way=way)
        encode_document(report_document(report))
        tables(report), sentences(report)


def _make_tuning(folder: Path) -> None:
    import msgspec

    from offbeat.model.study.algorithm import Algorithm
    from offbeat.selection.tuning_files.manifest import SCHEMA_VERSION, Manifest, TuningFiles
    from offbeat.selection.tuning_files.tuning_plan import Rule

    algorithm = Algorithm(collective="reduce", name="a", settings={"coll_tuned_reduce_algorithm": "1"})
    sizes = {"p": 3, "bytes": 8, "p_low": 3, "p_high": 3, "bytes_low": 8, "bytes_high": 8}
    rule = Rule(collective="reduce", algorithm=algorithm, **sizes)
    files = TuningFiles(
        files=[folder / "x"], environment={"A": "1"}, launch_options=[], usage=[], notes=[], rules=[rule]
    )
    manifest = Manifest(schema_version=SCHEMA_VERSION, rule="average", library="L", mpirun="/m", tuning=files)
    (folder / "tuning.json").write_bytes(msgspec.json.encode(manifest, enc_hook=str))


def _tuning(folder: Path) -> None:
    from offbeat.selection.tuning_files.manifest import read_manifest
    from offbeat.selection.verification.proofs import read_proofs

    read_manifest(folder).tuning.environment_for(3)
    shutil.copy(folder / "tuning.json", folder / "proofs.json")
    read_proofs(folder)


def _make_site(folder: Path) -> None:
    from offbeat.tuning.site.add import add
    from offbeat.tuning.site.entry import (
        AlgorithmFact,
        Entry,
        LaunchFact,
        Origin,
        TimeFact,
        VerdictFact,
        in_order,
    )

    case = {"collective": "reduce", "bytes": 8, "pattern": "no_delay", "shape": "no_delay", "op": "sum",
            "skew_policy": "none", "skew_factor": 0.0, "p": 3, "nodes": 0, "ppn": 0}  # fmt: skip
    for name, fast in (("chemistry", "a"), ("weather", "b")):
        times = [
            TimeFact(
                algorithm=one, last_delay_s=s, last_delay_low_s=s * 0.9, last_delay_high_s=s * 1.1, **case
            )
            for one in ("a", "b", "default")
            for s in [1e-6 if one == fast else 2e-6 if one != "default" else 4e-6]
        ]
        origin = Origin(name=name, program="", host="h", path="/r", measured="2026", offbeat_version="0",
                        study=name, repetitions=9)  # fmt: skip
        forced = {"coll_tuned_reduce_algorithm": "1"}
        entry = Entry(
            origin=origin,
            weight=2.0,
            library={"family": "openmpi", "version": [5, 0, 11], "name": "openmpi-5.0.11"},
            launch=LaunchFact(mpi={"environment": {"A": "1"}}, hang_after_s=60.0),
            algorithms=[AlgorithmFact(collective="reduce", name=one, settings=forced) for one in ("a", "b")],
            verdicts=[VerdictFact(collective="reduce", algorithm="a", p=3, bytes=8, status="proved")],
            times=times,
        )
        add(folder, in_order(entry))


def _site(folder: Path) -> None:
    from rich.console import Console

    from offbeat.tuning.site.directory import read_site
    from offbeat.tuning.site.merge import merge, plan
    from offbeat.tuning.site.tables import (
        basis_table,
        chosen_by,
        conflicts_table,
        entries_table,
        source_lines,
    )

    site = read_site(folder)
    console = Console(file=io.StringIO(), width=80)
    console.print(entries_table(site.entries))
    for entry in site.entries:
        source_lines(entry)
    merged = merge(site, "openmpi-5.0.11")
    chosen = chosen_by(plan(merged))
    console.print(basis_table(merged, chosen))
    console.print(conflicts_table(merged.conflicts, chosen))


def _make_run(folder: Path) -> None:
    import numpy as np

    from offbeat.programs.execution.times import HEADER, ITERATION, MAGIC, RunFacts, write_facts

    text = '[[phase]]\nkind = "work"\ntime = "1 us"\n'
    facts = {"path": "program.toml", "seed": 1, "library": "an MPI library", "notes": ["a note"]}
    write_facts(RunFacts(program=text, ranks=2, iterations=3, **facts), folder)
    for rank in range(2):
        header, iterations = np.zeros(1, HEADER), np.zeros(3, ITERATION)
        values = {"magic": MAGIC, "host": b"n0", "rank": rank, "ranks": 2, "phases": 1, "alone": 2}
        for name, value in (values | {"iterations": 3, "end_local": 90, "end_global": 91}).items():
            header[name] = value
        iterations["end"], iterations["communication"] = [20, 40, 60], [1, 2, 3]
        alone = np.array([7, 8], np.int64)
        (folder / f"rank-{rank}.times").write_bytes(header.tobytes() + alone.tobytes() + iterations.tobytes())


def _run(folder: Path) -> None:
    from offbeat.programs.execution.times import read
    from offbeat.programs.simulation.summary import sentences, summarise

    measured = read(folder)
    sentences(summarise(measured, measured.composite, None))


TARGETS = {
    "study": Target(_copy("study.toml"), _study),
    "platform": Target(_copy("platform.toml"), _platform),
    "pattern": Target(_copy("pattern.txt"), _pattern),
    "partitions": Target(_copy("partitions.txt"), _partitions),
    "replay": Target(_copy("calls.replay"), _replay),
    "csv": Target(_copy("table.csv"), _table),
    "results": Target(_make_results, _results),
    "trace": Target(_make_trace, _trace),
    "tuning": Target(_make_tuning, _tuning),
    "site": Target(_make_site, _site),
    "run": Target(_make_run, _run),
}


def files_of(folder: Path) -> list[Path]:
    """The files of a target that can be damaged, in a fixed order."""
    left_alone = {"offbeat.lock"}
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in left_alone)


def pick(folder: Path, chance: random.Random) -> Path:
    """One of them."""
    return chance.choice(files_of(folder))
