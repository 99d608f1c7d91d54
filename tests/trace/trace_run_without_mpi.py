"""``offbeat trace run`` with its real code, but without an MPI library."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

STARTS = """
from pathlib import Path
from types import SimpleNamespace
from offbeat.cli import trace
from offbeat.cli.process import reporting_errors
from offbeat.trace import recording as launch

def prepare(words, folder, *_):
    folder.mkdir(exist_ok=True)
    return launch.PreparedCommand(argv=list(words), environment={}, folder=folder)

def tracer(installation, echo):
    Path("built").touch()

launch.find_installation = lambda wanted, words: SimpleNamespace(version_text="MPI 5")
launch.tracer_library = tracer
launch.prepare = prepare
with reporting_errors():
    trace.app()
"""
"""A program with the arguments of ``offbeat trace``."""


def started(
    tmp_path: Path, *arguments: str, before: Callable[[], object] | None = None
) -> subprocess.Popen[str]:
    """``offbeat trace run``, started in a folder; ``before`` sets the signals in its parent."""
    return subprocess.Popen(
        [sys.executable, "-c", STARTS, "run", *arguments],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"NO_COLOR": "1"},
        preexec_fn=before,
    )


def run_verb(
    tmp_path: Path, *arguments: str, before: Callable[[], object] | None = None
) -> tuple[int, str, str]:
    """Run the command; returns its exit status, its standard output and its standard error."""
    with started(tmp_path, *arguments, before=before) as process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err
