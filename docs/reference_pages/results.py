"""The page of the result directory and its columns, from the results' schema."""

from __future__ import annotations

import polars as pl
from markdown import code, prose, sentence, table

from offbeat.measurement.results import import_columns, layout
from offbeat.measurement.results.schema import CASES, RANKS, REPETITIONS, SCHEMA_VERSION
from offbeat.model.study.algorithm import Algorithm, Verdict

SOURCE = "src/offbeat/measurement/results and src/offbeat/model/study/algorithm.py"

HELD = {
    layout.STUDY: "the study with all defaults, as it was when the results began",
    layout.PROVENANCE: f"the machine and the software that were used; `schema_version` is {SCHEMA_VERSION}",
    layout.PLAN: "all cases of the study, measured or not",
    layout.HOSTFILE: "a copy of the study's host file from the start of the study, if it has one;"
    " `offbeat verify` launches with it",
    layout.ALGORITHMS: "one line per algorithm of the library, with the settings that force it",
    layout.VERDICTS: "one line per verdict: the result of testing an algorithm before it was measured",
    layout.CASES: "one line per finished case, written and synchronised to disk before the next case begins",
    f"{layout.REPETITIONS}/": "the delays of each repetition: records with checksums, one file a session",
    f"{layout.RANKS}/": "the arrival and exit times of all ranks in each repetition, in the same way",
    f"{layout.DAMAGED}/": "damaged lines and files, if there were any",
    f"{layout.LOGS}/": "the output of the launched programs",
    layout.LOCK: "lock file, held while a run writes to the directory",
}
"""The content of a result directory."""

FRAMES = {
    "cases": (
        CASES,
        "One row per case: `offbeat.read_cases(DIR)` and `offbeat results export`.",
    ),
    "repetitions": (REPETITIONS, "One row per repetition: `offbeat.read_study(DIR).repetitions`."),
    "ranks": (RANKS, "One row per repetition and rank: `offbeat.read_study(DIR).ranks()`."),
}

HEAD = """# Results

A study's results are one directory:

{held}
In Python:

```python
import offbeat

cases = offbeat.read_cases("study-results")    # a polars frame, one row per case
results = offbeat.read_study("study-results")  # cases, repetitions, ranks(), algorithms, verdicts, provenance
```

[The Python API](python.md) has more: selections, tuning files, reports.

`offbeat results export DIR` writes one of the tables below as CSV or JSON. Times are in seconds, sizes in
bytes. The frames join on `case`. In CSV, a text that a spreadsheet would take for a formula (one that begins
with `=`, `+`, `-` or `@`) is preceded by an apostrophe; `offbeat results import` removes it.

## Damage

Each line, and each JSON document, ends with its own checksum (`checksum`), and each case's line holds the
checksums of its rows in the other two tables (`samples`). Every command that reads the results omits and
names a line or file that does not match its checksum, and a case with implausible numbers (a median outside
its interval, a delay of more than ten days). `offbeat run` with the study moves the damaged lines and files
to `damaged/` and measures those cases again.
"""

IMPORT = """## CSV files that can be imported

`offbeat results import FILE.csv --output DIR` creates such a directory from measurements of other programs. A
row is one measurement of one algorithm under one pattern; several rows of the same case are its repetitions.
Required are the columns {required}, and either `p`, or `nodes` and `ppn`. The name of a time column ends in
its unit ({units}): `last_delay_us`. `--column OURS=THEIRS` maps a column with another name.

{columns}"""


def page() -> str:
    """The whole page."""
    held = table(("file or folder", "holds"), ((code(name), meaning) for name, meaning in HELD.items()))
    frames = [_frame(name, columns, purpose) for name, (columns, purpose) in FRAMES.items()]
    return "\n".join([HEAD.format(held=held), *frames, _algorithms(), _import()])


def _frame(name: str, columns: dict[str, tuple[type[pl.DataType], str]], purpose: str) -> str:
    rows = [(code(column), dtype.__name__, sentence(meaning)) for column, (dtype, meaning) in columns.items()]
    return f"## {name}\n\n{purpose}\n\n" + table(("column", "type", "meaning"), rows)


def _algorithms() -> str:
    return f"## Algorithms\n\n{prose(Algorithm.__doc__)}\n\n## Verdicts\n\n{prose(Verdict.__doc__)}\n"


def _import() -> str:
    times = [f"{name}_UNIT" for name in import_columns.TIMES]
    names = [*import_columns.TEXTS, *import_columns.COUNTS, *import_columns.NUMBERS, *times]
    rows = [
        (
            code(name),
            ", ".join(map(code, import_columns.ALTERNATIVES.get(name, ()))),
            ", ".join(map(code, import_columns.WORDS.get(name, ()))),
        )
        for name in names
    ]
    return IMPORT.format(
        required=", ".join(map(code, import_columns.REQUIRED_COLUMNS)),
        units=", ".join(f"`_{unit}`" for unit in import_columns.TIME_SUFFIXES),
        columns=table(("column", "also called", "one of"), rows),
    )
