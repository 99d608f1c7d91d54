"""Writes docs/reference/partitioned-conformance.md: what 'offbeat partitioned check' finds on libraries here.

Usage: ``python docs/conformance_page.py``. It takes some minutes, as cases that hang do so for 20 s.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation
from offbeat.partitioned.conformance.outcomes import FAILURES

PAGE = Path(__file__).resolve().parent / "reference" / "partitioned-conformance.md"

INTRODUCTION = """<!-- Written by `python docs/conformance_page.py`; run that, do not edit this page. -->

# Partitioned communication: what the MPI libraries do

`offbeat partitioned check` was run on {date} with two processes on one node ([how to check your
library](../howto/partitioned.md#check-your-mpi-library)). Sections are those of MPI 4.0. *right*, *wrong*,
*crashes* and *hangs* (for more than 20 s) say whether the library does what the standard requires. *yes* and
*no* are about qualities, which the standard leaves to the library; after a wrong call (`refuse-...`), it
allows any behaviour. An empty cell: the case does not apply.

{summaries}

| section | case | what is right | {names} |
| --- | --- | --- |{rule}
{rows}

With `early-small`, offbeat's library sends all partitions in one message: its default number of messages for
small messages, which the info key `offbeat_messages` changes.

## What was found

{details}
"""


def main() -> None:
    """Check every library, its own functions, offbeat's and its preload, and write the page."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    offbeats: dict[str, list[dict[str, dict[str, Any]]]] = {"offbeat": [], "preload": []}
    lines: list[str] = []
    for mpi in find.installations():
        if own := _checked(mpi, "library", lines):
            found[mpi.version_text] = own
        else:
            lines.append(f"- {mpi.version_text} has no partitioned communication.")
        for of, outcomes in offbeats.items():
            if checked := _checked(mpi, of, lines):
                outcomes.append(checked)
    found["offbeat's library on each of them"] = _on_all(offbeats["offbeat"])
    found["offbeat's preload on each of them"] = _on_all(offbeats["preload"])
    columns = list(found.values())
    cases = {name: one for column in columns for name, one in column.items()}
    text = INTRODUCTION.format(
        date=datetime.now(UTC).date(),
        summaries="\n".join(lines),
        names=" | ".join(found),
        rule=" --- |" * len(found),
        rows="\n".join(
            f"| {one['section']} | `{name}` | {one['promise']} | "
            + " | ".join(column[name]["verdict"] if name in column else "" for column in columns)
            + " |"
            for name, one in cases.items()
        ),
        details="\n\n".join(
            f"{name}:\n\n" + "\n".join(_found(column)) for name, column in found.items() if _found(column)
        ),
    )
    PAGE.write_text(text, encoding="utf-8")


def _checked(mpi: Installation, of: str, lines: list[str]) -> dict[str, dict[str, Any]] | None:
    """The outcomes by case, None without partitioned communication; adds what the check says at its end."""
    words = ["partitioned", "check", "--mpi", str(mpi.mpirun), "--of", of]
    print("offbeat", *words, file=sys.stderr)
    file = PAGE.with_suffix(".json")
    done = subprocess.run(
        [sys.executable, "-m", "offbeat", *words, "--json", str(file)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if not file.exists():
        return None
    outcomes = json.loads(file.read_text(encoding="utf-8"))["outcomes"]
    file.unlink()
    lines.append(f"- {done.stdout.splitlines()[-1]}")
    return {one["case"]: one for one in outcomes}


def _found(column: dict[str, dict[str, Any]]) -> list[str]:
    """A line for each case that is not as the standard requires."""
    failed = [one for one in column.values() if one["required"] and one["verdict"] in FAILURES]
    return [f"- `{one['case']}` {one['verdict']}: `{_shortened(one['found'])}`" for one in failed]


def _shortened(found: str) -> str:
    """Without MPICH's error stack, which has addresses."""
    return found.split(", error stack")[0]


def _on_all(outcomes: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The outcomes of several libraries as one column."""
    return {
        name: one | {"verdict": _common([others[name]["verdict"] for others in outcomes])}
        for name, one in outcomes[0].items()
    }


def _common(verdicts: list[str]) -> str:
    """One verdict, or how many libraries have which."""
    counts = {verdict: verdicts.count(verdict) for verdict in verdicts}
    return (
        verdicts[0]
        if len(counts) == 1
        else ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    )


if __name__ == "__main__":
    main()
