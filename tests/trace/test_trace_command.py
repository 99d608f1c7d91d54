"""``offbeat trace``: the output and files of its commands, and how a program is launched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_factory as factory
from captured_command import invoke
from trace_run_without_mpi import STARTS, run_verb, started
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli.trace import app
from offbeat.libraries.installations.installation import Installation
from offbeat.model.pattern import pattern_file, replay_file
from offbeat.trace.files import format as form
from offbeat.trace.recording import check, find_installation, prepare, tracer_library

REPOSITORY = Path(__file__).resolve().parents[2]


def run(*arguments: object) -> Result:
    return invoke(app, *arguments, columns=180)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return factory.pattern_trace(
        tmp_path / "t", [[0, 10, 30, 0]] * 5, function="MPI_Alltoall", bytes=32768, operation_us=70
    )


def test_the_summary_says_where_time_goes_and_what_to_tune(trace: Path) -> None:
    text = run("summary", trace).stdout
    assert "4 processes on node0" in text
    assert re.search(r"app\+0x1010\s+MPI_Alltoall\s+MPI_COMM_WORLD\s+4\s+32 KiB\s+5\s", text)
    assert re.search(r"100 µs\s+70 µs\s+30 µs", text)
    assert "2: 30 µs (100%)" in text
    assert "Tune MPI_Alltoall at 32 KiB on 4 processes first" in text


def test_names_of_communicators_are_shown_as_they_are(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.definitions.append(factory.name(1, "[bold]grid[/x]"))
        one.call(1000, 2000)
    assert " [bold]grid[/x] " in run("summary", factory.write(tmp_path / "t", ranks)).stdout


def test_on_a_narrow_terminal_no_number_and_no_function_is_cut(trace: Path) -> None:
    text = CliRunner().invoke(app, ["summary", str(trace)], env={"COLUMNS": "80"}).stdout
    tables = [line for line in text.splitlines() if re.match(r"[#1] ", line)]
    assert max(map(len, tables)) <= 80
    assert re.search(r"1  app\+0x1010  MPI_Alltoall  4  32 KiB      5 ", text)
    assert re.search(r"#\s+size\s+d\*.* skew 5%  skew 50%  skew 95%\n", text)
    assert re.search(r"1  32 KiB  100 µs  70 µs\s+30 µs(\s+29 µs){3}\n", text)


def test_the_summary_as_json_has_every_number(trace: Path, tmp_path: Path) -> None:
    run("summary", trace, "--json", tmp_path / "out.json")
    answer = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert answer["records"] == 20
    (row,) = answer["rows"]
    assert row["delays_s"] == pytest.approx([0, 1e-5, 3e-5, 0])
    assert row["last_delay"]["mean_s"] == pytest.approx(7e-5)


def test_the_summary_draws_the_mean_delay_of_each_rank(trace: Path, tmp_path: Path) -> None:
    run("summary", trace, "--pictures", tmp_path / "pictures")
    names = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert names == [f"1-alltoall-32KiB-delay.{kind}" for kind in ("pdf", "png", "svg")]
    assert all((tmp_path / "pictures" / name).stat().st_size > 1000 for name in names)


def test_a_pattern_goes_to_standard_output_and_to_a_file(trace: Path, tmp_path: Path) -> None:
    text = run("pattern", trace).stdout
    (tmp_path / "mine.txt").write_text(text, encoding="utf-8")
    assert pattern_file.read(tmp_path / "mine.txt", 4).delays_s == pytest.approx([0, 1e-5, 3e-5, 0])
    run("pattern", trace, "--call", 3, "--p", 8, "--output", tmp_path / "call.txt")
    pattern = pattern_file.read(tmp_path / "call.txt", 8)
    assert pattern.skew_s == pytest.approx(3e-5)
    assert pattern.header["scaled_from"] == "p = 4"


def test_clusters_are_files_in_a_folder(trace: Path, tmp_path: Path) -> None:
    done = run("pattern", trace, "--what", "clusters", "--output", tmp_path / "found")
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["alltoall-32KiB-typical.txt"]
    assert "100.0% of the calls" in done.stderr


def test_every_call_becomes_a_replay_file(trace: Path, tmp_path: Path) -> None:
    text = run("pattern", trace, "--what", "calls").stdout
    (tmp_path / "all.replay").write_text(text, encoding="utf-8")
    assert replay_file.read(tmp_path / "all.replay", 4).delays_s == pytest.approx(
        np.array([[0, 1e-5, 3e-5, 0]] * 5)
    )
    done = run(
        "pattern", trace, "--what", "calls", "--most", 2, "--p", 8, "--output", tmp_path / "two.replay"
    )
    assert "2 calls, median skew 30 µs" in done.stderr
    replay = replay_file.read(tmp_path / "two.replay", 8)
    assert (replay.calls, replay.header["replay"]) == (2, "2 of 5 calls, evenly chosen")


def test_exports_go_beside_the_trace(trace: Path) -> None:
    run("export", trace, "--to", "csv", "--ranks", "1-2")
    lines = trace.with_name("t.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["summary", "nowhere"], "the trace nowhere cannot be read"),
        (["export", "TRACE", "--to", "xml"], "the formats are perfetto, otf2, parquet, csv"),
        (["export", "TRACE", "--to", "csv", "--ranks", "x"], "give numbers and ranges"),
        (["export", "TRACE", "--to", "csv", "--ranks", "7"], "none of these ranks"),
        (["pattern", "TRACE", "--what", "mode"], "give mean, median, clusters or calls"),
        (["pattern", "TRACE", "--most", "3"], "--most limits the calls of a replay"),
        (["pattern", "TRACE", "--collective", "bcast"], "no such calls; there are: MPI_Alltoall of 32 KiB"),
        (["pattern", "TRACE", "--size", "5x"], "--size: "),
        (["pattern", "TRACE", "--call", "5"], "there is no call 5"),
    ],
    ids=lambda value: " ".join(value[:1] + value[2:]) if isinstance(value, list) else "",
)
def test_invalid_arguments_of_trace_commands_are_refused(
    trace: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        run(*(str(trace) if word == "TRACE" else word for word in arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["export", "TRACE", "--to", "csv", "-o", "/dev/full"],
        ["export", "TRACE", "--to", "parquet", "-o", "/dev/full"],
        ["export", "TRACE", "--to", "perfetto", "-o", "/dev/full"],
        ["summary", "TRACE", "--json", "/dev/full"],
        ["report", "TRACE", "-o", "/dev/full"],
        ["pattern", "TRACE", "-o", "/dev/full"],
    ],
    ids=lambda arguments: arguments[0] + arguments[3].strip("-"),
)
def test_a_full_disk_is_a_sentence(trace: Path, arguments: list[str]) -> None:
    with pytest.raises(
        RunFailed, match=r"cannot write .*/dev/full: No space left on device; free space there"
    ):
        run(*(str(trace) if word == "TRACE" else word for word in arguments))


def test_a_program_with_nonblocking_collectives_alone_has_rows_and_patterns(tmp_path: Path) -> None:
    ranks = factory.files(3)
    for one in ranks:
        for number in range(4):
            begin = 100_000 * (number + 1)
            chosen: dict[str, Any] = {"function": "MPI_Iallreduce", "sequence": number}
            one.call(begin + 1000 * one.rank, begin + 1000 * one.rank + 100, flags=form.ISSUE, **chosen)
            one.call(begin + 50_000, begin + 60_000, flags=form.COMPLETION | 1 << form.BY_SHIFT, **chosen)
    folder = factory.write(tmp_path / "t", ranks)
    text = run("summary", folder).stdout
    assert re.search(r"MPI_Iallreduce\s+MPI_COMM_WORLD\s+3\s+8 B\s+4\s", text)
    assert "has no blocking collective" in text
    run("pattern", folder, "--collective", "allreduce", "-o", tmp_path / "late.txt")
    assert pattern_file.read(tmp_path / "late.txt", 3).delays_s == pytest.approx([0, 1e-6, 2e-6])


def test_a_program_without_calls_has_a_summary_and_no_pattern(tmp_path: Path) -> None:
    folder = factory.write(tmp_path / "t", factory.files(2))
    assert "There is nothing to tune" in run("summary", folder).stdout
    with pytest.raises(BadInput, match="has no calls on two or more traced ranks"):
        run("pattern", folder)


# --- launching


def installation(family: str) -> Installation:
    return Installation(
        name=family,
        family=family,
        version=(5, 0),
        version_text=family,
        prefix=Path("/mpi"),
        source="PATH",
        library=Path("/mpi/lib/libmpi.so"),
        include=Path("/mpi/include"),
        mpicc=None,
        mpirun=Path("/mpi/bin/mpirun"),
        identity="0",
    )


TRACER = Path("/cache/liboffbeat-trace.so")


def test_open_mpi_forwards_the_variables_to_every_program(tmp_path: Path) -> None:
    arguments = ["mpirun", "-n", "2", "./a", ":", "-n", "1", "./b"]
    started = prepare(arguments, tmp_path / "t", {"EVERY": "3"}, installation("openmpi"), TRACER, {})
    ours = [
        *("-x", "OFFBEAT_TRACE_EVERY=3", "-x", f"OFFBEAT_TRACE_DIR={tmp_path / 't'}"),
        *("-x", f"LD_PRELOAD={TRACER}"),
    ]
    assert started.argv == ["mpirun", *ours, "-n", "2", "./a", ":", *ours, "-n", "1", "./b"]
    assert "LD_PRELOAD" not in started.environment  # the launcher itself is not traced


@pytest.mark.parametrize("family", ["mpich", "intelmpi"])
def test_hydra_forwards_the_variables(tmp_path: Path, family: str) -> None:
    before = {"LD_PRELOAD": "/other.so", "OFFBEAT_TRACE_RANKS": "0-3"}
    started = prepare(["/x/mpiexec", "./a"], tmp_path, {}, installation(family), TRACER, before)
    assert started.argv == [
        *("/x/mpiexec", "-genv", "OFFBEAT_TRACE_RANKS", "0-3", "-genv", "OFFBEAT_TRACE_DIR", str(tmp_path)),
        *("-genv", "LD_PRELOAD", f"{TRACER}:/other.so", "./a"),
    ]
    assert started.environment["LD_PRELOAD"] == "/other.so"


@pytest.mark.parametrize("arguments", [["srun", "-n", "4", "./a"], ["./a"]])
def test_others_have_the_variables_in_their_environment(tmp_path: Path, arguments: list[str]) -> None:
    started = prepare(arguments, tmp_path, {"WINDOW": "2-"}, installation("mpich"), TRACER, {})
    assert started.argv == arguments
    assert started.environment["LD_PRELOAD"] == str(TRACER)
    assert started.environment["OFFBEAT_TRACE_WINDOW"] == "2-"


def test_a_folder_that_holds_a_trace_is_not_written_into(trace: Path) -> None:
    with pytest.raises(BadInput, match="holds a trace already"):
        prepare(["./a"], trace, {}, installation("mpich"), TRACER, {})


def test_the_library_is_that_of_the_launcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\n", encoding="utf-8")
    launcher.chmod(0o755)
    asked: list[str] = []
    monkeypatch.setattr("offbeat.trace.recording.choose", asked.append)
    find_installation("auto", [str(launcher), "./a"])
    find_installation("auto", ["./a"])
    find_installation("mpich", [str(launcher), "./a"])
    assert asked == [str(launcher), "auto", "mpich"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RANKS", "3-1"),
        ("RANKS", "a"),
        ("RANKS", "1,,2"),
        ("EVERY", "0"),
        ("EVERY", "2.5"),
        ("COLLECTIVES", "allreduce,frobnicate"),
        ("COMM_SIZES", "-3"),
        ("WINDOW", "10"),
        ("WINDOW", "10-5"),
        ("BYTES", "10 kB"),
        ("BYTES", "1.5 MB"),
        ("BYTES", "1 parsec"),
        ("SYNC_LEVEL", "2"),
        ("MESSAGES", "yes"),
        ("DEPTH", "17"),
        ("SYNCLEVEL", "5"),
    ],
)
def test_options_that_the_tracer_could_not_read_are_refused(name: str, value: str) -> None:
    with pytest.raises(BadInput, match=f"OFFBEAT_TRACE_{name}"):
        check({f"OFFBEAT_TRACE_{name}": value})


def test_options_that_the_tracer_reads_are_accepted() -> None:
    check(
        {
            "OFFBEAT_TRACE_RANKS": "0-3,8,16-",
            "OFFBEAT_TRACE_EVERY": "10",
            "OFFBEAT_TRACE_COLLECTIVES": "allreduce,Alltoallv,constructors",
            "OFFBEAT_TRACE_COMM_SIZES": "2-",
            "OFFBEAT_TRACE_WINDOW": "2.5-",
            "OFFBEAT_TRACE_BYTES": "100 MB",
            "OFFBEAT_TRACE_SYNC_LEVEL": "3",
            "OFFBEAT_TRACE_DIR": "",
            "PATH": "/bin",
        }
    )


@pytest.mark.parametrize(
    ("script", "status"),
    [("echo out; echo err >&2; exit 7", 7), ("kill -9 $$", -9), ("touch t/rank-000000.trace", 0)],
)
def test_output_and_status_are_those_of_the_program(tmp_path: Path, script: str, status: int) -> None:
    code, out, err = run_verb(tmp_path, "-o", "t", "--", "/bin/sh", "-c", script)
    assert code == status, err
    if status == 7:
        assert out == "out\n"
        assert err.startswith("err\n")
    assert ("no trace was written" in err) == (status != 0)


def test_open_file_descriptors_are_inherited_by_the_program(tmp_path: Path) -> None:
    """As for a shell's ``3<file``, or the file descriptors that make passes on."""
    (tmp_path / "file").write_text("through\n", encoding="utf-8")
    verb = [sys.executable, "-c", STARTS, "run", "-o", "t", "--", "/bin/sh", "-c", "cat <&7"]
    arguments = ["sh", "-c", 'exec "$@" 7<file', "sh", *verb]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "through\n"


@pytest.mark.parametrize(
    ("script", "message"), [("exit 7", "ended with status 7"), ("kill -9 $$", "ended by signal 9")]
)
def test_a_failed_launcher_is_distinguished_from_a_program_without_mpi(
    tmp_path: Path, script: str, message: str
) -> None:
    _, _, err = run_verb(tmp_path, "-o", "t", "--", "/bin/sh", "-c", script)
    assert f"the command {message} before any process recorded" in err
    assert "called MPI_Init" not in err
    assert "not MPI 5, give it with --mpi" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [((), "no process called MPI_Init of MPI 5"), (("--ranks", "9"), "none of the selected ranks (9)")],
)
def test_a_successful_command_without_a_trace_ends_with_status_1(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    code, _, err = run_verb(tmp_path, "-o", "t", *options, "--", "true")
    assert code == 1
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--every", "0", "--", "true"), "--every 0 is invalid"),
        (("--nope", "3", "--", "true"), "No such option: --nope"),
        (("--", "./nothing"), "cannot start ./nothing: there is no such program"),
        (("--", "/etc/passwd"), "cannot start /etc/passwd: it is not executable"),
        (("--", "mpirun", "-x", "LD_PRELOAD=/my.so", "./a"), "sets LD_PRELOAD and thereby removes"),
        (("--", "mpirun", "-genv", "LD_PRELOAD", "/my.so", "./a"), "sets LD_PRELOAD and thereby removes"),
        (("--", "srun", "--export=ALL,LD_PRELOAD=/my.so", "./a"), "sets LD_PRELOAD and thereby removes"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_built(
    tmp_path: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mpirun", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    code, _, err = run_verb(tmp_path, "-o", "t", *words)
    assert code == 2
    assert message in err
    assert not (tmp_path / "built").exists()
    assert not (tmp_path / "t").exists()


def test_two_runs_at_once_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with started(tmp_path, "-o", "t", "--", "/bin/sh", "-c", "echo begun; read go; exit 0") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        code, _, err = run_verb(tmp_path, "-o", "t", "--", "true")
        first.communicate("go\n", timeout=60)
    assert code == 1
    assert "t is being written by process" in err
    assert run_verb(tmp_path, "-o", "t", "--", "touch", "t/rank-000000.trace")[0] == 0


@pytest.mark.parametrize("odd", ["a b", "a:b"])
def test_a_cache_that_ld_preload_cannot_name_is_refused_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    monkeypatch.setenv("OFFBEAT_CACHE", str(tmp_path / odd))
    with pytest.raises(BadInput, match=f"{odd}/native/.* LD_PRELOAD cannot contain a path"):
        tracer_library(installation("mpich"))
    assert not (tmp_path / odd).exists()
