"""An endless loop in a user's algorithm, and numbers out of range, end in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ENDLESS = """
def loop(rank):
    while True:
        try:
            rank.id
        except Exception:
            pass
"""


def offbeat(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "offbeat", "algorithm", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("verb", ["show", "check"])
def test_an_endless_loop_is_stopped_with_its_line(tmp_path: Path, verb: str) -> None:
    """``check`` runs the function in other threads than ``show``."""
    (tmp_path / "mine.py").write_text(ENDLESS)
    function = f"{tmp_path / 'mine.py'}:loop"
    done = offbeat(verb, function, "--collective", "bcast", "--p", "2", OFFBEAT_ALGORITHM_TIME="1 s")
    assert done.returncode == 1
    assert "mine.py:" in done.stderr
    assert "one call ran longer than 1 s" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "1e30"], "'1e30' is more than any memory holds"),
        (["--size", "8 TB"], "at most 1 TiB can be drawn"),
        (["--p", "1000000000"], "at most 1024 processes can be drawn"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments: list[str], message: str) -> None:
    done = offbeat("show", "reduce/binomial", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
