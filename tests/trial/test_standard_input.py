"""What a command reads from standard input reaches every run of its program, from the first byte."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import fake_mpirun
import pytest

RUNS = """
import sys
from pathlib import Path
from offbeat.cli.process import reporting_errors
from offbeat.tuning.trial import standard_input
from offbeat.tuning.trial.trial import Command, run

standard_input.IDLE_S, standard_input.WAIT_S = 0.5, 2.0
with reporting_errors():
    kept = standard_input.kept_standard_input()
    command = Command(argv=["cat"], installation=None, standard_input=kept)
    for number in range(3):
        status, _ = run(command, {}, Path(sys.argv[1]) / str(number), keeps_settings=True)
        assert status == 0
    print("digest", kept.digest or "none")
"""


def runs(
    folder: Path, source: object, limit: str = ""
) -> tuple[list[bytes], subprocess.CompletedProcess[str]]:
    """What three runs of ``cat`` printed, and the process that ran them with a standard input."""
    done = subprocess.run(
        [sys.executable, "-c", RUNS, str(folder)],
        stdin=source,  # type: ignore[call-overload]
        capture_output=True,
        text=True,
        env=os.environ | {"OFFBEAT_READ_LIMIT": limit},
        timeout=60,
    )
    return [path.read_bytes() for path in sorted(folder.glob("[0-9]"))], done


@pytest.mark.parametrize("size", [1, 70_000, 5_000_000])
@pytest.mark.parametrize("kind", ["file", "file from its middle", "pipe"])
def test_every_run_reads_all_of_the_standard_input(tmp_path: Path, size: int, kind: str) -> None:
    content = os.urandom(size)
    (tmp_path / "input").write_bytes(content)
    with (tmp_path / "input").open("rb") as file:
        if kind == "file from its middle":
            os.lseek(file.fileno(), size // 2, os.SEEK_SET)
            content = content[size // 2 :]
        if kind == "pipe":
            with subprocess.Popen(["cat", tmp_path / "input"], stdout=subprocess.PIPE) as cat:
                printed, done = runs(tmp_path, cat.stdout)
        else:
            printed, done = runs(tmp_path, file)
    assert printed == [content] * 3, done.stderr


def test_nothing_is_read_from_a_terminal(tmp_path: Path) -> None:
    terminal, ours = pty.openpty()
    os.write(terminal, b"typed ahead\n")
    printed, done = runs(tmp_path, ours)
    assert (printed, done.stdout) == ([b""] * 3, "digest none\n")
    assert os.read(ours, 100) == b"typed ahead\n"


@pytest.mark.parametrize(
    ("writer", "limit", "words"),
    [
        ("sleep 20", "", "a pipe that does not end (it sent nothing for 500 ms, 0 B in all)"),
        ("while :; do echo; sleep 0.1; done", "", "a pipe that does not end (after 2 s"),
        ("yes", "3 MB", "standard input has more than 3 MB"),
    ],
)
def test_a_pipe_that_never_ends_is_refused_with_a_remedy(
    tmp_path: Path, writer: str, limit: str, words: str
) -> None:
    with subprocess.Popen(["sh", "-c", writer], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:
        printed, done = runs(tmp_path, source.stdout, limit)
        source.kill()
    assert (printed, done.returncode) == ([], 2)
    assert words in done.stderr
    assert "< FILE" in done.stderr


def test_try_gives_its_input_to_each_run_and_resumes_with_the_same_only(tmp_path: Path) -> None:
    folder = fake_mpirun.make(tmp_path / "w")
    command = [sys.executable, fake_mpirun.__file__, folder, "--results", "results", "--rounds", "2"]

    def run(content: bytes) -> subprocess.CompletedProcess[bytes]:
        words = [*map(str, command), "--", "./mpirun", "-n", "4", "./app"]
        return subprocess.run(words, cwd=folder, input=content, capture_output=True, timeout=120)

    assert run(b"x" * 1234).returncode == 0
    assert (folder / "read.txt").read_text().split() == ["1234"] * 6
    other = run(b"y" * 1234)
    assert other.returncode == 2
    assert b"standard input" in other.stderr
