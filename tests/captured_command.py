"""Runs a command, in a process of its own or in this one, and captures what it prints."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from typer import Typer
from typer.testing import CliRunner, Result


def execute(
    argv: Sequence[object], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command without input, in the environment of this process if none is given."""
    return subprocess.run(
        [str(word) for word in argv],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=300,
        check=False,
    )


def invoke(app: Typer, *arguments: object, columns: int = 80) -> Result:
    """Call a command's function in this process. Raises the exception that ends the command."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": str(columns)})
    if isinstance(result.exception, Exception):
        raise result.exception
    return result
