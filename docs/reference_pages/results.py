"""The page of the result directory and its columns, from the results' schema."""

from __future__ import annotations

import polars as pl
from markdown import code, prose, sentence, table

from offbeat.results import import_columns, layout
from offbeat.results.schema import CASES, RANKS, REPETITIONS, SCHEMA_VERSION
from offbeat.study.algorithm import Algorithm, Verdict

SOURCE = "src/offbeat/results and src/offbeat/study/algorithm.py"

HELD = {
    layout.STUDY: "the study as it was resolved when the results began",
    layout.PROVENANCE: f"where and with what it was measured; `schema_version` is {SCHEMA_VERSION}",
    layout.PLAN: "which cases the study has, measured or not",
    layout.HOSTFILE: "the study's host file as it was when the study began, where it has one;"
    " `offbeat verify` launches with it",
    layout.ALGORITHMS: "one line an algorithm of the library, with the settings that force it",
    layout.VERDICTS: "one line a verdict: what was found out about an algorithm before it was measured",
    layout.CASES: "one line a finished case, written and synchronised to disk before the next case begins",
    f"{layout.REPETITIONS}/": "Parquet, one row a repetition",
    f"{layout.RANKS}/": "Parquet, one row a repetition and rank",
    f"{layout.SAMPLES}/": "what the session under way has measured, as checked records; Parquet when it ends",
    f"{layout.DAMAGED}/": "damaged lines and files that were moved here, if there were any",
    f"{layout.LOGS}/": "what the launched programs printed",
    layout.LOCK: "held while a run writes here",
}
"""What stands in a result directory."""

FRAMES = {
    "cases": (
        CASES,
        "One row a case. It is what `offbeat.read_cases(DIR)` and `offbeat results export` give.",
    ),
    "repetitions": (REPETITIONS, "One row a repetition: `offbeat.read_study(DIR).repetitions`."),
    "ranks": (RANKS, "One row a repetition and rank: `offbeat.read_study(DIR).ranks()`."),
}

HEAD = """# Results

A study's results are one directory:

{held}
In Python:

```python
import offbeat

cases = offbeat.read_cases("study-results")    # a polars frame, one row a case
results = offbeat.read_study("study-results")  # cases, repetitions, ranks(), algorithms, verdicts, provenance
```

`offbeat results export DIR` writes the same as CSV or JSON. Times are in seconds, sizes in bytes. The frames
join on `case`. In CSV, a text that a spreadsheet would take for a formula (one that begins with `=`, `+`, `-`
or `@`) has an apostrophe in front; `offbeat results import` takes it off again.

## Damage

Each line, and each JSON document, ends with a checksum of itself (`checksum`), and each case's line holds
the checksums of its rows in the other two tables (`samples`). A line or file that does not fit its checksum,
and a case whose numbers cannot be true together (a median outside of its interval, a delay of more than ten
days), is left out and named by every command that reads the results. `offbeat run` with the study moves what
is damaged into `damaged/` and measures those cases again.
"""

IMPORT = """## CSV files that can be imported

`offbeat results import FILE.csv --output DIR` makes such a directory from measurements made elsewhere. A row
is one measurement of one algorithm under one pattern; several rows of the same cell are its repetitions. It
needs the columns {required}, and besides them `p`, or `nodes` and `ppn`. Names of times end in their unit
({units}): `last_delay_us`. A column of another name is given as `--column OURS=THEIRS`.

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
    names = {
        **import_columns.TEXTS,
        **import_columns.COUNTS,
        **dict.fromkeys(import_columns.NUMBERS, ()),
        **{f"{name}_UNIT": () for name in import_columns.TIMES},
    }
    rows = [
        (
            code(name),
            ", ".join(map(code, also)),
            ", ".join(map(code, import_columns.WORDS.get(name, ()))),
        )
        for name, also in names.items()
    ]
    return IMPORT.format(
        required=", ".join(map(code, import_columns.REQUIRED)),
        units=", ".join(f"`_{unit}`" for unit in import_columns.TIME_SUFFIXES),
        columns=table(("column", "also called", "one of"), rows),
    )
