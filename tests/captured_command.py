"""Runs a command and captures what it prints."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


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
