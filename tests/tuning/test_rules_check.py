"""``offbeat doctor`` says what is wrong in a rules file, what it forces, and what nothing reaches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from plan_factory import installation
from real_libraries import real_installation
from typer.testing import CliRunner

from offbeat.cli.app import build
from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.tuning_files.openmpi import COLLECTIVES
from offbeat.selection.user_rules.rules_check import check_rules, check_settings, name_of_algorithms

ALGORITHMS = {
    name: [
        Algorithm(collective=name, name=f"way{n}", settings={f"coll_tuned_{name}_algorithm": str(n)})
        for n in (1, 2, 3)
    ]
    for name in COLLECTIVES
}
NAME_OF = name_of_algorithms(ALGORITHMS)
HERE = installation("openmpi", (5, 0, 11))

ODD = """4 collectives
5 # alltoallw
1
0
1
0 1 0 0
3 # alltoall
3
8
2
0 2 0 0
1024 99 0 0
4
1
0 1 0 0
16
2
0 0 0 0
4096 3 0 0
6 # barrier
1
0
2
0 2 0 0
10 3 0 0
6 # barrier again
1
0
1
0 1 0 0
7 rest
"""


def _check(tmp_path: Path, text: str):
    path = tmp_path / "user.rules"
    path.write_text(text)
    return check_rules(path, HERE, NAME_OF)


def test_a_rules_file_is_explained_by_what_it_forces_and_what_nothing_reaches(tmp_path):
    check = _check(tmp_path, ODD)
    assert check.fault == ""
    assert check.forces == [
        "alltoall on 2 to 7 processes: 0 B to 1023 B: way2; 1 KiB and more: algorithm 99",
        "alltoall on 8 to 15 processes: all sizes: way1",
        "alltoall on 16 and more processes: 0 B to 4095 B: the library's decision; 4 KiB and more: way3",
        "barrier on 2 and more processes: all sizes: way1",
    ]
    assert check.wrong == [
        "line 1: characters that are no number are skipped; begin a comment with #",
        "line 12: alltoall has no algorithm 99: calls end with an error",
    ]
    assert [text.split(":")[0] for text in check.unreached_entries] == ["line 2", "line 20", "line 31"]
    assert "Open MPI uses no rules for collective 5" in check.unreached_entries[0]
    assert "replaced by those in line 26" in check.unreached_entries[1]
    assert "is not read: the counts end before" in check.unreached_entries[2]


def test_rules_that_no_message_or_communicator_reaches_are_named(tmp_path):
    text = "2\n6\n1\n0\n2\n0 2 0 0\n10 3 0 0\n7\n3\n4\n1\n0 1 0 0\n9\n1\n0 1 0 0\n8\n1\n0 1 0 0\n"
    assert [str(one) for one in _check(tmp_path, text).unreached_entries] == [
        "line 7: no message of barrier reaches this rule: the library ignores the size",
        "line 13: no communicator reaches the rules of bcast from 9 processes on: a neighbouring entry serves"
        " the same sizes",
    ]


def test_a_broken_file_says_that_the_library_ignores_it(tmp_path):
    check = _check(tmp_path, "1\n3\n1\n2\n3\n0 3 0 0\n1024 2 0 0\n")
    assert check.fault == (
        "line 8: the file ends, and message size 3 of 3 (announced in line 5) is missing; the library"
        " ignores the whole file without a message"
    )
    assert check.forces == []


def _settings(environ: Mapping[str, str]) -> tuple[list, str]:
    checks, sentences = check_settings(HERE, lambda: ALGORITHMS, {"HOME": "/nowhere", **environ})
    return checks, " ".join(sentences)


def test_a_missing_rules_file_and_one_that_is_never_read_are_named():
    filename = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
    checks, sentences = _settings({filename: "/missing.rules"})
    assert "/missing.rules: it cannot be read (No such file or directory)" in checks[0].limits[0]
    assert "the file is never read, because OMPI_MCA_coll_tuned_use_dynamic_rules is not 1" in sentences
    assert f"{filename}=/missing.rules (environment): chooses algorithms for every program" in sentences
    checks, sentences = _settings({filename: "/x", "OMPI_MCA_coll_tuned_use_dynamic_rules": "1"})
    assert "never read" not in sentences


@pytest.mark.parametrize(
    ("content", "expected"), [(None, "No such file"), ("{", "line 1: "), ("{}", "programs abort")]
)
def test_a_tuning_file_of_mpich_must_exist_and_hold_its_trees(content, expected, tmp_path):
    path = tmp_path / "mpich.json"
    if content is not None:
        path.write_text(content)
    environ = {"HOME": "/nowhere", "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(path)}
    (check,), _ = check_settings(real_installation("mpich5"), dict, environ)
    assert expected in check.fault


def test_the_tree_of_a_single_device_of_mpich_need_not_have_all_collectives(tmp_path):
    path = tmp_path / "posix.json"
    path.write_text("{}")
    environ = {"HOME": "/nowhere", "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE": str(path)}
    checks, sentences = check_settings(real_installation("mpich5"), dict, environ)
    assert not checks
    assert len(sentences) == 1 and "measurements leave it out" in sentences[0]


@pytest.mark.parametrize(("algorithm", "status"), [(2, 0), (99, 1)])
def test_a_file_whose_calls_end_with_an_error_ends_the_command_with_status_1(
    algorithm: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "offbeat.measurement.engines.engine_choice.list_algorithms", lambda installation: ALGORITHMS
    )
    path = tmp_path / "user.rules"
    path.write_text(f"1\n3\n1\n0\n1\n0 {algorithm} 0 0\n")
    done = CliRunner().invoke(
        build(), ["doctor", "--mpi", real_installation("openmpi4").name, "--rules", str(path)]
    )
    assert done.exit_code == status, done.output
