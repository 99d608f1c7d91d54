"""The page of the driver's commands, from its C sources.

Verbs come from the table in main.c, their descriptions from the comments in verbs.h, and keys from the
calls that read them, in a verb's function and in the functions that it calls.
"""

from __future__ import annotations

import re
from pathlib import Path

from markdown import code, sentence, table

SOURCE = "native/benchmark"

NATIVE = Path(__file__).resolve().parents[2] / "native" / "benchmark"

KEYS = {
    "ages": "times since the synchronisation at which clocks are compared, besides immediately after it:"
    " nanoseconds, separated by commas",
    "attempts": "maximum number of repetitions, including invalid ones",
    "by": "`harmonize`, or `barrier`: MPI_Barrier, by the algorithm that is forced",
    "bytes": "message size: bytes per process as the MPI call states it, or of one message",
    "call": "the first call of the sequence, from 0",
    "collective": "the collective, by its MPI name in lower case; for `start` also `none`, its default",
    "counts": "`even`, `uneven` (0, 1 or 2 times the size, of irregular collectives), `reversed` (blocks in"
    " descending order with gaps between them, where there are displacements) or `none` (0 for all)",
    "datatype": "element type; `odd`, `wide` and `gapped` are derived ones: for the check",
    "delay_ns": "minimum delay of the delayed process, in nanoseconds",
    "delays": "one delay per rank, in nanoseconds, separated by commas; missing delays are 0",
    "duration_ns": "start no repetition after this time, in nanoseconds",
    "exchanges": "maximum number of ping-pongs of a process with its reference process in a synchronisation;"
    " 0: the number of the method",
    "from": "the rank that sends, or begins",
    "in_place": "1: MPI_IN_PLACE wherever the standard allows it, at the root of rooted collectives",
    "members": "ranks of the communicator, in this order, separated by commas",
    "messages": "messages, round trips or pieces of work in a repetition",
    "method": "clock method",
    "methods": "clock methods, separated by commas",
    "most": "maximum number of processes that are delayed in turn, evenly spread",
    "null_ignored": "1: arguments that MPI ignores on a process are NULL, 0 and MPI_DATATYPE_NULL",
    "op": "reduction operation; `affine`, with the datatype of that name, does not commute, and `user_sum`"
    " is a user-defined sum of `double` or `gapped`: for the check",
    "processes": "number of processes that have the clock, from rank 0",
    "receivers": "the ranks that receive, one for each sender, separated by commas",
    "regex": "extended regular expression for the names of variables",
    "repetitions": "number of valid repetitions, of starts or of synchronisations",
    "root": "root of a rooted collective",
    "rounds": "how often clocks are synchronised and compared at every age",
    "senders": "the ranks that send, separated by commas",
    "sequence": "file on rank 0's node with one line per call: one delay per rank, in nanoseconds, separated"
    " by blanks; replaces `delays`. A relative path is relative to the directory of the sample file",
    "source": "time source of the clocks, such as `MPI_Wtime`",
    "to": "the rank that receives, or answers",
    "tolerance_bounds": "the tolerance in error bounds of the worst clock at its last synchronisation; the"
    " larger of the two tolerances holds",
    "tolerance_ns": "tolerance for the lateness of a process plus the error bound of its clock, in"
    " nanoseconds",
    "warmups": "calls or repetitions before the measurement",
    "unrecorded": "repetitions before the recorded ones, with the same start and delays",
    "work": "`reduce` or `copy`",
}
"""What the keys mean."""

DEFAULTS = {"members": "all"}
"""Defaults that the C source does not say in one word."""

HEAD = """# The driver

`offbeat-driver` is the C program that measures. `offbeat run` starts it under the launcher and talks to it;
it can also be used by hand or by other programs:

```console
$ mpirun -n 4 offbeat-driver --samples samples.bin
```

It reads a worklist from rank 0's standard input, one command per line: a verb and arguments of the form
`key=value`, separated by blanks. It answers each command with one line: `@offbeat ` and a JSON object. `"ok":
false` comes with `"why"`. All output of the MPI library goes to standard error, so that it cannot corrupt an
answer. `offbeat-driver --check` answers `hello` and exits.

```text
force coll_tuned_reduce_algorithm=5
measure collective=reduce bytes=8 datatype=double op=sum root=0 repetitions=20 attempts=40 delays=0,1000,2000
quit
```

"""


def verbs() -> dict[str, str]:
    """Every verb and the function that executes it; empty for the verbs that main.c executes itself."""
    main = (NATIVE / "main.c").read_text(encoding="utf-8")
    listed = dict(re.findall(r'\{"(\w+)",\s*(offbeat_\w+)\}', main))
    inline = re.findall(r'strcmp\(command(?:->|\.)verb, "(\w+)"\)', main)
    return listed | {verb: f"offbeat_{verb}" if verb != "quit" else "" for verb in inline}


def functions() -> dict[str, str]:
    """The text of every function of the driver without comments."""
    found: dict[str, str] = {}
    for path in sorted(NATIVE.glob("*.c")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for match in re.finditer(r"^\w[^\n;{}()]*?\b(\w+)\([^;{}]*?\)\s*\{\n.*?^\}", text, flags=re.M | re.S):
            found[match[1]] = match[0]
    return found


def reached(function: str) -> list[str]:
    """The texts of a function and of all functions of the driver that it calls, itself first."""
    texts = functions()
    names = [function]
    for name in names:
        names += [
            called
            for called in re.findall(r"\b(\w+)\(", texts[name])
            if called in texts and called not in names
        ]
    return [texts[name] for name in names]


def keys_of(function: str) -> dict[str, str]:
    """The keys that a verb's function reads, itself or by what it calls, with their defaults in C."""
    keys: dict[str, str] = {}
    for text in reached(function):
        read = r'offbeat_command_(?:text|number)\(command, "(\w+)", ([^)]+)\)'
        keys |= dict(re.findall(read, text))
        keys |= dict.fromkeys(re.findall(r'offbeat_command_list_item\(command, "(\w+)"', text), "0")
    return keys


def described() -> dict[str, str]:
    """The comment on each function in verbs.h."""
    header = (NATIVE / "verbs.h").read_text(encoding="utf-8")
    comments = re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*void (offbeat_\w+)\(", header, flags=re.DOTALL)
    texts = {function: sentence(re.sub(r"\n\s*\*", " ", comment)) for comment, function in comments}
    return {function: re.sub(r'^"(.*?)"', r"`\1`", text) for function, text in texts.items()}


def answers_of(function: str) -> list[str]:
    """The keys of a verb's answer in the order in which they are written."""
    keys = re.findall(r'\\"(\w+)\\":', "".join(reached(function)))
    return [key for key in dict.fromkeys(keys) if key not in ("ok", "why")]


def sample_file() -> str:
    """The comment in measure.c on the file of samples."""
    text = (NATIVE / "measure.c").read_text(encoding="utf-8")
    match = re.search(r"/\*\n \* The sample file: (.*?)\*/", text, flags=re.DOTALL)
    assert match, "measure.c describes the sample file"
    words = sentence(re.sub(r"\n \*", " ", match[1]))
    return words[0].upper() + words[1:]


def page() -> str:
    """The whole page."""
    sections = [_section(verb, function) for verb, function in verbs().items()]
    return HEAD + "\n".join(sections) + f"\n## The sample file\n\n{sample_file()}\n"


def _section(verb: str, function: str) -> str:
    if not function:
        return f"## {verb}\n\nEnds the program.\n"
    lines = [f"## {verb}\n", described()[function] + "\n"]
    rows = [
        (code(key), KEYS[key], DEFAULTS.get(key) or _default(default))
        for key, default in keys_of(function).items()
    ]
    if rows:
        lines.append(table(("key", "meaning", "default"), rows))
    answers = ", ".join(map(code, answers_of(function)))
    if answers:
        lines.append(f"Answers {answers}.\n")
    return "\n".join(lines)


def _default(text: str) -> str:
    """A default of the C source as a user would write it, or in words."""
    known = {"INT64_MAX": "no limit", '""': "required", "NULL": "the library's", "session->p": "all"}
    known["NO_SEQUENCE"] = "none: every repetition has the same delays"
    return known.get(text, code(text.strip('"')))
