"""The page of legal calls that MPI libraries get wrong, from what ``offbeat doctor --legal-calls`` found.

``python docs/reference_pages/wrong_collectives.py COLLECTIVE=FILE ...`` adds documents of its option
``--json`` to the data, and with the argument ``programs`` compiles and runs the short programs on the
libraries of this machine; ``make docs`` then writes the page.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from offbeat.base.units import enumeration
from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import launch_command
from offbeat.model.study.algorithm import DEFAULT, KINDS

SOURCE = "docs/reference_pages/wrong_collectives.json"
DATA = Path(__file__).with_suffix(".json")
PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "legal_calls"

INTRODUCTION = """# Collectives that are wrong for legal calls

`offbeat doctor --legal-calls` draws [legal calls](../howto/rules.md#legal-calls) at random and checks every
byte that they write. This page lists what the libraries that offbeat is tested with got wrong on four
processes of one node, each call confirmed alone in a launch of its own. *default* is the library's own
choice; other names are algorithms that were forced, in calls that the default gets right. An algorithm that
is not listed may be wrong for calls that were not drawn. Wrong results are not listed if MPI_Pack or
MPI_Unpack get the datatypes of the call wrong, too, as in `descending_bytes.c` and `complex_blocks.c` below.

{numbers}

`call` lines are commands of [the driver](driver.md), which describes their keys.
"""


def page() -> str:
    """The page in Markdown."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    wrong = dict(_by_library(data["wrong"]))
    numbers = [
        f"- {library}: {sum(entry['calls'] for entry in entries):,} calls; {_counts(wrong.get(library, []))};"
        f" algorithms were forced in {_with_algorithms(entries)}"
        for library, entries in _by_library(data["tried"])
    ]
    parts = [INTRODUCTION.format(numbers="\n".join(numbers))]
    for library, entries in _by_library(data["wrong"]):
        parts.append(f"## {library}\n\n{_table(entries)}")
    return "\n\n".join([*parts, _programs(data["programs"])])


def _counts(entries: list[dict[str, Any]]) -> str:
    """How many defaults and forced algorithms are wrong."""
    names = {(entry["collective"], entry["algorithm"]) for entry in entries}
    defaults = sum(name == DEFAULT for _, name in names)
    return f"{defaults} defaults and {len(names) - defaults} algorithms are wrong"


def _with_algorithms(entries: list[dict[str, Any]]) -> str:
    """The collectives of which more than the library's own choice was tried."""
    names = {entry["collective"] for entry in entries if entry["algorithms"] > 1}
    return enumeration(sorted(names)) or "no collective"


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


def _programs(runs: list[dict[str, Any]]) -> str:
    """The short programs, with their first comment, and how they ended on the libraries."""
    rows = []
    for path in sorted(PROGRAMS.glob("*.c")):
        ended = "; ".join(
            f"{run['library']}{_forced(run['environment'])}: {run['result']}"
            for run in runs
            if run["program"] == path.stem
        )
        rows.append(f"| `examples/legal_calls/{path.name}` | {_comment(path)} | {ended} |")
    head = (
        "## Programs\n\nEach of these programs makes one such call, prints how much of the result is wrong,"
        " and ends with status 1 if anything is. Compile one with `mpicc` and run it on four processes, where"
        " variables are named with these in its environment.\n\n"
        "| program | call | outcome |\n| --- | --- | --- |"
    )
    return "\n".join([head, *rows])


def _forced(environment: dict[str, str]) -> str:
    return "".join(f" `{name}={value}`" for name, value in environment.items())


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
    """Add the outcome of a check of one collective to the data; of the same seed in place of an earlier one.

    A fault that another seed has found is kept.
    """
    data = json.loads(DATA.read_text(encoding="utf-8"))
    about = {"library": check["library"], "collective": collective}
    tried = about | {"seed": check["seed"]}
    data["tried"] = [entry for entry in data["tried"] if tried.items() - entry.items()]
    data["tried"].append(tried | {"calls": check["tried"], "algorithms": check["algorithms"]})
    known = {(e["library"], e["collective"], e["algorithm"], e["kind"]) for e in data["wrong"]}
    for algorithm in check["wrong"]:
        for call in algorithm["calls"]:
            entry = {
                "algorithm": algorithm["algorithm"],
                "kind": call["kind"],
                "result": _outcome(call["result"]),
                "call": call["descriptor"],
            }
            key = (check["library"], collective, entry["algorithm"], entry["kind"])
            if key not in known:
                known.add(key)
                data["wrong"].append(about | entry)
    _write(data)


def _outcome(result: str) -> str:
    return next((word for start, word in RESULTS.items() if result.startswith(start)), "wrong result")


def _write(data: dict[str, Any]) -> None:
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


LONGEST_S = 20.0
"""A program that runs longer hangs."""

OPEN_MPI_RULES = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
RUNS: list[tuple[str, str, dict[str, str]]] = [
    ("alltoall_in_place", "mpich-4.0.2", {}),
    (
        "allgather_in_place",
        "openmpi-5.0.11",
        OPEN_MPI_RULES | {"OMPI_MCA_coll_tuned_allgather_algorithm": "7"},
    ),
    ("absolute_address", "mpich-5.0.2", {"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "k_brucks"}),
    (
        "bcast_root",
        "mpich-5.0.2",
        {
            "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "nb",
            "MPIR_CVAR_IBCAST_INTRA_ALGORITHM": "tsp_scatterv_recexch_allgatherv",
        },
    ),
    ("complex_blocks", "openmpi-5.0.11", {}),
    ("counts_differ", "intelmpi-2021.18.1", {}),
    ("descending_bytes", "openmpi-4.1.4", {}),
    ("descending_bytes", "openmpi-5.0.11", {}),
    (
        "different_types",
        "openmpi-4.1.4",
        OPEN_MPI_RULES | {"OMPI_MCA_coll_tuned_bcast_algorithm": "8"},
    ),
    ("displaced_numbers", "openmpi-4.1.4", {}),
    ("displaced_numbers", "openmpi-5.0.11", {}),
    ("displacement_alone", "mpich-4.0.2", {}),
    ("first_rank", "mpich-4.0.2", {}),
    ("first_rank", "mpich-5.0.2", {}),
    ("first_rank", "intelmpi-2021.18.1", {}),
    ("gaps_overwritten", "intelmpi-2021.18.1", {}),
    (
        "lower_bound",
        "openmpi-4.1.4",
        OPEN_MPI_RULES | {"OMPI_MCA_coll_tuned_allreduce_algorithm": "4"},
    ),
    ("minimum_of_pairs", "intelmpi-2021.18.1", {"I_MPI_ADJUST_ALLREDUCE": "7"}),
    ("offset_maximum", "openmpi-5.0.11", {}),
    ("one_element", "openmpi-4.1.4", {}),
    ("one_element", "openmpi-5.0.11", {}),
    ("own_block", "openmpi-4.1.4", {}),
    ("own_block", "openmpi-5.0.11", {}),
    ("pairs_gathered", "mpich-5.0.2", {}),
    (
        "ranks_in_order",
        "openmpi-5.0.11",
        OPEN_MPI_RULES | {"OMPI_MCA_coll_tuned_allreduce_algorithm": "4"},
    ),
    ("unsigned_minimum", "mpich-4.0.2", {}),
]
"""Program, installation, and the variables that force an algorithm."""


def run_programs() -> None:
    """Compile and run each program on the library that gets its call wrong, and keep how it ended."""
    installed = {one.name: one for one in find.survey().installations}
    data = json.loads(DATA.read_text(encoding="utf-8"))
    data["programs"] = [
        {
            "program": program,
            "library": installed[name].version_text,
            "environment": environment,
            "result": _result_of(program, installed[name], environment),
        }
        for program, name, environment in RUNS
        if name in installed
    ]
    _write(data)


def _result_of(program: str, library: Installation, environment: dict[str, str]) -> str:
    with TemporaryDirectory() as folder:
        binary = Path(folder) / program
        mpi = [str(library.library), f"-Wl,-rpath,{library.library.parent}"]
        source = PROGRAMS / f"{program}.c"
        subprocess.run(["cc", "-std=c11", f"-I{library.include}", source, "-o", binary, *mpi], check=True)
        command = launch_command.command(library, [str(binary)], 4, nodes=0, ppn=0, environment=environment)
        try:
            ended = subprocess.run(
                command.argv,
                env=dict(command.environment),
                capture_output=True,
                text=True,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "hangs"
    if ended.returncode == 0:
        return "right"
    return "wrong result" if re.search(r"[1-9]\d* wrong|WRONG", ended.stdout) else "ends with an error"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        name, has_file, file = argument.partition("=")
        if has_file:
            add(name, json.loads(Path(file).read_text(encoding="utf-8")))
        else:
            run_programs()
