"""The structures of trace files in Python are those of the tracer's header."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from offbeat.trace.files import decode, page_checksum
from offbeat.trace.files import format as form

REPOSITORY = Path(__file__).resolve().parents[2]
HEADER = REPOSITORY / "native" / "trace" / "format.h"

STRUCTURES = {
    "offbeat_trace_header": form.HEADER,
    "offbeat_trace_record": form.RECORD,
    "offbeat_trace_message": form.MESSAGE,
    "offbeat_trace_template": decode.TEMPLATE,
}
BODIES = {
    form.FUNCTION: "offbeat_trace_function",
    form.COMMUNICATOR: "offbeat_trace_communicator",
    form.MEMBERS: "offbeat_trace_members",
    form.COMMUNICATOR_NAME: "offbeat_trace_communicator_name",
    form.COMMUNICATOR_END: "offbeat_trace_communicator_end",
    form.DATATYPE: "offbeat_trace_datatype",
    form.OPERATION: "offbeat_trace_operation",
    form.MAPPING: "offbeat_trace_mapping",
    form.CLOCK_POINT: "offbeat_trace_clock_point",
    form.NOTE: "offbeat_trace_note",
    form.PATH: "offbeat_trace_path",
}
CONSTANTS = {
    "VERSION": form.VERSION,
    "PAGE_BYTES": form.PAGE_BYTES,
    "PAGE_HEADER_BYTES": form.PAGE_HEADER_BYTES,
    "RECORDS_A_PAGE": form.RECORDS_A_PAGE,
    "MESSAGE_BYTES": form.MESSAGE_BYTES,
    "MESSAGES_A_PAGE": form.MESSAGES_A_PAGE,
    "MESSAGES": form.MESSAGES,
    "ENCODED": form.ENCODED,
    "PAGE_WORDS": form.PAGE_WORDS,
    "MOST_TEMPLATES": form.MOST_TEMPLATES,
    "TEMPLATE_WORDS": form.TEMPLATE_WORDS,
    "TEMPLATES_SHIFT": page_checksum.TEMPLATES_SHIFT,
    "CHECKSUM_SHIFT": page_checksum.CHECKSUM_SHIFT,
    "KIND_WORD": page_checksum.KIND_WORD,
    "ORIGIN_WORD": page_checksum.ORIGIN_WORD,
    "RUN_WORD": page_checksum.RUN_WORD,
    "PLACE_WORD": page_checksum.PLACE_WORD,
    "TIMES": decode.TIMES,
    "SEQUENCE": decode.SEQUENCE,
    "ROUND": decode.ROUND,
    "SIZE": decode.SIZE,
    "LARGEST": decode.LARGEST,
    "BLOCKS": decode.BLOCKS,
    "SEND": form.SEND,
    "PARTITIONED_RECEIVE": form.PARTITIONED_RECEIVE,
    "ARRIVED": form.ARRIVED,
    "UNKNOWN": form.UNKNOWN,
    "PEER_PROC_NULL": form.PEER_PROC_NULL,
    "ANY_SOURCE": form.ANY_SOURCE,
    "ANY_TAG": form.ANY_TAG,
    "CANCELLED": form.CANCELLED,
    "RECORDS": form.RECORDS,
    "DEFINITIONS": form.DEFINITIONS,
    "FINALIZED": form.FINALIZED,
    "EXITED": form.EXITED,
    "ABORTED": form.ABORTED,
    "ISSUE": form.ISSUE,
    "START": form.START,
    "COMPLETION": form.COMPLETION,
    "IN_PLACE": form.IN_PLACE,
    "COMMUTES": form.COMMUTES,
    "FAILED": form.FAILED,
    "FORTRAN": form.FORTRAN,
    "BY_SHIFT": form.BY_SHIFT,
    "BY_FREE": form.BY_FREE,
    "CONSTRUCTOR": form.CONSTRUCTOR,
    "CLOCK_POINT": form.CLOCK_POINT,
    "NOTE": form.NOTE,
    "PATH": form.PATH,
}


def compiled(source: str, folder: Path) -> list[int]:
    """The numbers that a C program prints."""
    (folder / "sizes.c").write_text(source, encoding="utf-8")
    program = folder / "sizes"
    subprocess.run(["cc", "-o", program, folder / "sizes.c"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_structures_are_those_of_the_tracer(tmp_path: Path) -> None:
    asked: list[str] = []
    expected: list[int] = []
    for structure, dtype in STRUCTURES.items():
        asked.append(f"sizeof({structure})")
        expected.append(dtype.itemsize)
        for name in dtype.names or ():
            asked.append(f"offsetof({structure}, {name})")
            assert dtype.fields is not None
            expected.append(dtype.fields[name][1])
    for kind, structure in BODIES.items():
        asked.append(f"sizeof({structure})")
        expected.append(form.DEFINITION.size + form.BODIES[kind].size)
    for name, value in CONSTANTS.items():
        asked.append(f"OFFBEAT_TRACE_{name}")
        expected.append(value)
    lines = "\n".join(f'printf("%ld\\n", (long)({one}));' for one in asked)
    source = f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{ {lines} }}\n'
    compiled_sizes = dict(zip(asked, compiled(source, tmp_path), strict=True))
    assert compiled_sizes == dict(zip(asked, expected, strict=True))


def test_no_kind_of_definition_is_missing() -> None:
    text = HEADER.read_text(encoding="utf-8")
    kinds = re.search(r"Kinds of definitions\. \*/\s*enum \{(.*?)\}", text, re.DOTALL)
    assert kinds is not None
    numbers = [int(number) for number in re.findall(r"= (\d+)", kinds[1])]
    assert sorted(numbers) == sorted(form.BODIES)
