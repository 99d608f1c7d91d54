"""The page of the driver's commands, from its C sources.

Verbs come from the table in main.c, their descriptions from the comments in session.h, and keys from the
calls that read them, in a verb's function and in the functions that it calls.
"""

from __future__ import annotations

import re
from pathlib import Path

from markdown import code, sentence, table

SOURCE = "native/benchmark"

NATIVE = Path(__file__).resolve().parents[2] / "native" / "benchmark"

KEYS = {
    "ages": "ages of the sync at which clocks are compared, beside right after it: nanoseconds, separated by"
    " commas",
    "attempts": "repetitions at most, those that missed their start included",
    "by": "`harmonize`, or `barrier`: MPI_Barrier, by the algorithm that is forced",
    "bytes": "message size: bytes per process as the MPI call states it, or of one message",
    "call": "the call of the sequence to begin with, from 0",
    "collective": "the collective, by its MPI name in lower case; for `start` also `none`, its default",
    "counts": "`even`, `uneven` (0, 1 or 2 times the size, of irregular collectives), `reversed` (blocks in"
    " descending order with gaps between them, where there are displacements) or `none` (0 for all)",
    "datatype": "element type; `odd`, `wide` and `gapped` are derived ones: for the check",
    "delay_ns": "how late the delayed process is, at least, in nanoseconds",
    "delays": "one delay a rank, in nanoseconds, separated by commas; a rank without one has 0",
    "duration_ns": "begin no repetition after so many nanoseconds",
    "exchanges": "maximum number of ping-pong exchanges of a process with its reference process in a sync;"
    " 0: the method's own number",
    "from": "the rank that sends, or begins",
    "in_place": "1: MPI_IN_PLACE wherever the standard allows it, at the root of rooted collectives",
    "members": "ranks that take part, in this order, separated by commas; all where it is missing",
    "messages": "messages, round trips or pieces of work in a repetition",
    "method": "clock method",
    "methods": "clock methods, separated by commas",
    "most": "at most so many processes are delayed in turn, evenly spread",
    "null_ignored": "1: what MPI ignores on a process is NULL, 0 and MPI_DATATYPE_NULL there",
    "op": "reduction operation; `affine`, with the datatype of that name, does not commute, and `user_sum`"
    " is a user-defined sum of `double` or `gapped`: for the check",
    "processes": "so many processes, the first ones, have the clock",
    "receivers": "the ranks that receive, one for each sender, separated by commas",
    "regex": "extended regular expression that the variables' names match",
    "repetitions": "valid repetitions that are wanted, or starts, or syncs",
    "root": "root of a rooted collective",
    "rounds": "so many times clocks are synchronised and compared at every age",
    "senders": "the ranks that send, separated by commas",
    "sequence": "file on rank 0's node with a line a call: one delay a rank, in nanoseconds, separated by"
    " blanks; takes the place of `delays`. A name that does not begin with `/` is looked for beside the"
    " sample file",
    "source": "time source of the clocks, such as `MPI_Wtime`",
    "to": "the rank that receives, or answers",
    "tolerance_bounds": "a tolerance of so many error bounds that the worst clock had after its last sync,"
    " if that is more",
    "tolerance_ns": "a process that may have arrived further from its plan than this invalidates the"
    " repetition, in nanoseconds",
    "warmups": "calls or repetitions that come first and do not count",
    "unrecorded": "repetitions that come first, with start and delays as all others, and are not recorded",
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

It reads a worklist on rank 0's standard input, one command a line: a verb and words of the form `key=value`,
separated by blanks. It answers each with one line that begins with `@offbeat ` and goes on as a JSON object.
`"ok": false` comes with `"why"`. Everything that the MPI library prints goes to standard error, so that it
cannot break an answer. `offbeat-driver --check` answers `hello` and ends.

```text
force coll_tuned_reduce_algorithm=5
measure collective=reduce bytes=8 datatype=double op=sum root=0 repetitions=20 attempts=40 delays=0,1000,2000
quit
```

"""


def verbs() -> dict[str, str]:
    """Every verb and the function that obeys it; empty for the verbs that main.c obeys itself."""
    main = (NATIVE / "main.c").read_text(encoding="utf-8")
    listed = dict(re.findall(r'\{"(\w+)",\s*(offbeat_\w+)\}', main))
    inline = re.findall(r'strcmp\(command(?:->|\.)verb, "(\w+)"\)', main)
    return listed | {verb: f"offbeat_{verb}" if verb != "quit" else "" for verb in inline}


def functions() -> dict[str, str]:
    """The text of every function of the driver, its comment left out."""
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
        keys |= dict.fromkeys(re.findall(r'offbeat_command_listed\(command, "(\w+)"', text), "0")
    return keys


def described() -> dict[str, str]:
    """The comment on each function in session.h."""
    header = (NATIVE / "session.h").read_text(encoding="utf-8")
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
