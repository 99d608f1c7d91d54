"""Studies that the benchmarks run, and running them through the command line as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

THREE_COLLECTIVES = """\
name = "benchmark"
[processes]
p = [4]
[[collective]]
names = ["reduce", "allreduce", "alltoall"]
sizes = [8, "4 KiB"]
[patterns]
shapes = ["no_delay", "ascending", "last_delayed"]
[repetitions]
minimum = 5
maximum = 5
time_cap = "200 ms"
hang_after = "20 s"
"""
"""All algorithms of three collectives on four processes, with so few repetitions that launching shows."""

THREE_COLLECTIVES_AT_LENGTH = THREE_COLLECTIVES.replace(
    "minimum = 5\nmaximum = 5", "minimum = 2000\nmaximum = 2000"
)
"""The same with so many repetitions that measuring takes longer than launching."""


def write_study(folder: Path, text: str = THREE_COLLECTIVES) -> Path:
    """A study file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def offbeat(*arguments: str | Path, check: bool = True, timeout_s: float = 1800.0) -> tuple[str, float]:
    """Run the offbeat of this Python; its standard output, and the wall time in seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "offbeat", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env=os.environ | {"COLUMNS": "120"},
        check=False,
    )
    if check and done.returncode:
        command = " ".join(map(str, arguments))
        sys.exit(f"offbeat {command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + ("" if check else done.stderr), time.monotonic() - began


def lines(results: Path, name: str) -> list[dict[str, object]]:
    """The records of one of a result directory's JSON-lines files."""
    path = results / name
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def verdict_counts(results: Path) -> Counter[str]:
    """How many (algorithm, size) pairs got each verdict; the library's default is none of its algorithms."""
    return Counter(str(v["status"]) for v in lines(results, "verdicts.jsonl") if v["algorithm"] != "default")
