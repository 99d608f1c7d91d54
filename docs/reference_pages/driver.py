"""The page of the drivers' commands, from the table in native/protocol/protocol.c.

The table is compiled and printed, as ``offbeat-driver --protocol`` prints it.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from markdown import code, sentence, table

SOURCE = "native/protocol/protocol.c"

NATIVE = Path(__file__).resolve().parents[2] / "native"

PRINT = """#include "protocol/protocol.h"
int main(void) { offbeat_protocol_print(stdout); return 0; }
"""

HEAD = """# The driver

`offbeat-driver` is the C program that measures. `offbeat run` starts it under the launcher and talks to it;
it can also be used by hand or by other programs:

```console
$ mpirun -n 4 offbeat-driver --samples samples.bin
```

It reads a worklist from rank 0's standard input, one command per line: a verb and arguments of the form
`key=value`, separated by blanks. It answers each command with one line: `@offbeat ` and a JSON object. `"ok":
false` comes with `"why"`, which names the line, the verb and the key of a command that is not as below. All
output of the MPI library goes to standard error, so that it cannot corrupt an answer. `offbeat-driver
--check` answers `hello` and exits; `offbeat-driver --protocol` prints what follows as JSON: every verb, the
type and the range of its keys, and the keys of its answer.

```text
force coll_tuned_reduce_algorithm=5
measure collective=reduce bytes=8 datatype=double op=sum root=0 repetitions=20 attempts=40 delays=0,1000,2000
quit
```

"""

SMPI = """## The program for SimGrid

`offbeat-smpi PLATFORM.xml HOSTS` simulates calls with SimGrid's SMPI; `offbeat run` starts it for the engine
`smpi`. Its worklist has the same form, and these verbs:

"""

EXECUTOR = """## The executor of programs

`offbeat-program FOLDER` executes a program of many iterations with MPI; `offbeat program run` starts it. The
file `plan` in the folder has lines of the same form, one for each step of an iteration:

"""


@functools.cache
def protocol() -> dict[str, Any]:
    """The version, and every verb with its keys and the keys of its answer."""
    with tempfile.TemporaryDirectory() as folder:
        program, main = Path(folder) / "print", Path(folder) / "main.c"
        main.write_text(PRINT, encoding="utf-8")
        sources = [NATIVE / "protocol" / name for name in ("protocol.c", "print.c", "answer.c")]
        subprocess.run(["cc", "-std=c11", f"-I{NATIVE}", main, *sources, "-o", program], check=True)
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    read: dict[str, Any] = json.loads(printed)
    return read


def sample_file() -> str:
    """The comment in samples.c on the file of samples."""
    text = (NATIVE / "benchmark" / "samples.c").read_text(encoding="utf-8")
    match = re.search(r"/\*\n \* The sample file: (.*?)\*/", text, flags=re.DOTALL)
    assert match, "samples.c describes the sample file"
    text = sentence(re.sub(r"\n \*", " ", match[1]))
    return text[0].upper() + text[1:]


def page() -> str:
    """The whole page."""
    return (
        HEAD
        + _sections("driver", "##")
        + f"\n## The sample file\n\n{sample_file()}\n\n"
        + SMPI
        + _sections("smpi", "###")
        + "\n"
        + EXECUTOR
        + _sections("executor", "###")
    )


def _sections(program: str, marks: str) -> str:
    verbs = [verb for verb in protocol()["verbs"] if verb["program"] == program]
    return "\n".join(_section(verb, marks) for verb in verbs)


def _section(verb: dict[str, Any], marks: str) -> str:
    lines = [f"{marks} {verb['name']}\n", verb["description"] + "\n"]
    rows = [(code(key["name"]), _values(key), key["meaning"], _default(key)) for key in verb["keys"]]
    if rows:
        lines.append(table(("key", "value", "meaning", "default"), rows))
    answers = ", ".join(
        code(key["name"]) + (" (with a sequence)" if key["optional"] else "") for key in verb["answers"]
    )
    if answers:
        lines.append(f"Answers {answers}.\n")
    return "\n".join(lines)


LARGEST = {
    2**31 - 1: "2³¹ - 1",
    2**63 - 1: "2⁶³ - 1",
    (2**63 - 1) // 16: "2⁵⁹ - 1",
    (2**31 - 1) // 8: "2²⁸ - 1",
}
"""Limits that are easier to read as powers."""


KINDS = {"number": "whole number", "numbers": "whole numbers", "times": "seconds", "text": "text"}


def _values(key: dict[str, Any]) -> str:
    """Which values a key may have."""
    if key["choices"]:
        return " ".join(code(word) for word in key["choices"].split())
    kind = KINDS[key["type"]]
    if kind == "text":
        return kind
    return f"{kind} from {key['minimum']} to {LARGEST.get(key['maximum'], key['maximum'])}"


def _default(key: dict[str, Any]) -> str:
    """What holds without the key."""
    if key["default"] is not None:
        return code(key["default"])
    return key["if_missing"] or "required"
