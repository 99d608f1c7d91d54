"""What the shell completes: verbs, options, collectives, algorithms, shapes and result directories."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MAIN = "from offbeat.cli.app import main; main()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study-results").mkdir()
    (tmp_path / "study-results" / "provenance.json").write_text("{}", encoding="utf-8")
    (tmp_path / "sources" / "below").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "rank-000000.trace").touch()
    return tmp_path


def completed(folder: Path, *arguments: str) -> list[str]:
    """The completions of the last word, as bash requests them."""
    line = ["offbeat", *arguments]
    environment = os.environ | {
        "_OFFBEAT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    program = f"import sys; sys.argv[0] = 'offbeat'; {MAIN}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["se"], {"select"}),
        (["trace", "s"], {"summary"}),
        (["select", "--boot"], {"--bootstrap"}),
        (["select", "--rule", "wo"], {"worst"}),
        (["select", "--collective", "allr"], {"allreduce"}),
        (["pattern", "make", "last"], {"last_delayed"}),
        (["algorithm", "show", "alltoall/li"], {"alltoall/linear", "alltoall/linear_sync"}),
        (["platform", "show", "frit"], {"fritz"}),
        (["reproduce", "async-figure", "4"], {"4b", "4c"}),
        (["status", "s"], {"study-results", "sources/"}),
        (["status", "e"], set()),
        (["trace", "summary", "t"], {"trace"}),
    ],
)
def test_a_tab_completes(folder: Path, arguments: list[str], expected: set[str]) -> None:
    assert set(completed(folder, *arguments)) == expected


def test_the_script_for_the_shell_can_be_shown() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "offbeat", "--show-completion", "bash"],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"SHELL": "/bin/bash"},
        check=False,
    )
    output = done.stdout + done.stderr
    assert "COMPLETE" in output or "bash" in output
