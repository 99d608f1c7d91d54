"""The page of legal calls that MPI libraries get wrong, from what ``offbeat doctor --legal-calls`` found.

``python docs/reference_pages/wrong_collectives.py COLLECTIVE=FILE ...`` adds documents of its option
``--json`` to the data; ``make docs`` then writes the page.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from offbeat.study.algorithm import KINDS

SOURCE = "docs/reference_pages/wrong_collectives.json"
DATA = Path(__file__).with_suffix(".json")
PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "legal_calls"

INTRODUCTION = """# Collectives that are wrong for legal calls

`offbeat doctor --legal-calls` draws [legal calls](../howto/rules.md#legal-calls) at random and checks every
byte that they write. This page lists what the libraries that offbeat is tested with got wrong on four
processes of one node, each call confirmed alone in a launch of its own. *default* is the library's own
choice; other names are algorithms that were forced, in calls that the default gets right. An algorithm that
is not listed may be wrong for calls that were not drawn.

{numbers}

`call` lines are commands of [the driver](driver.md), which describes their keys.
"""


def page() -> str:
    """The page in Markdown."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    numbers = [
        f"- {library}: {sum(entry['calls'] for entry in entries)} calls of {len(entries)} collectives"
        for library, entries in _by_library(data["tried"])
    ]
    parts = [INTRODUCTION.format(numbers="\n".join(numbers))]
    for library, entries in _by_library(data["wrong"]):
        parts.append(f"## {library}\n\n{_table(entries)}")
    return "\n\n".join([*parts, _programs()])


def _by_library(entries: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    ordered = sorted(entries, key=lambda entry: str(entry["library"]))
    return [(name, list(group)) for name, group in groupby(ordered, key=lambda entry: str(entry["library"]))]


def _table(entries: list[dict[str, Any]]) -> str:
    rows = [
        f"| {entry['collective']} | {entry['algorithm']} | {KINDS[entry['kind']]} | {entry['result']} |"
        f" `{entry['call'].removeprefix('call ')}` |"
        for entry in entries
    ]
    head = "| collective | algorithm | wrong for | result | call |\n| --- | --- | --- | --- | --- |"
    return "\n".join([head, *rows])


def _programs() -> str:
    """The short programs, with their first comment."""
    rows = [
        f"| `examples/legal_calls/{path.name}` | {_comment(path)} |" for path in sorted(PROGRAMS.glob("*.c"))
    ]
    head = (
        "## Programs\n\nEach of these programs makes one such call, prints how much of the result is wrong,"
        " and ends with status 1 if anything is. Compile one with `mpicc` and run it on four processes.\n\n"
        "| program | call |\n| --- | --- |"
    )
    return "\n".join([head, *rows])


def _comment(path: Path) -> str:
    first = path.read_text(encoding="utf-8").split("*/")[0].removeprefix("/*")
    return " ".join(line.strip(" *") for line in first.splitlines()).strip()


RESULTS = {
    "it hangs": "hangs",
    "it ends the program": "crashes",
    "it returns the error": "returns an error",
    "it overwrites": "writes outside the datatype",
}
"""The beginning of an outcome → the word of the page; other outcomes are wrong results."""


def add(collective: str, check: dict[str, Any]) -> None:
    """Add the outcome of a check of one collective to the data, in place of an earlier one."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    about = {"library": check["library"], "collective": collective}
    for entries in (data["tried"], data["wrong"]):
        entries[:] = [entry for entry in entries if about.items() - entry.items()]
    data["tried"].append(about | {"calls": check["tried"]})
    for algorithm in check["wrong"]:
        for call in algorithm["calls"]:
            outcomes = [word for start, word in RESULTS.items() if call["result"].startswith(start)]
            entry = {
                "algorithm": algorithm["algorithm"],
                "kind": call["kind"],
                "result": outcomes[0] if outcomes else "wrong result",
                "call": call["descriptor"],
            }
            data["wrong"].append(about | entry)
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        name, _, file = argument.partition("=")
        add(name, json.loads(Path(file).read_text(encoding="utf-8")))
