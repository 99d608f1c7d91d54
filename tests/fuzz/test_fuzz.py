"""Damaged inputs of every kind end in a sentence, within 2 s of CPU time and 500 MB: a part of the fuzzer.

The seeds are the same every time, so that a change is judged by itself; ``tests/fuzz/fuzz.py`` takes any
seed, and as many seconds as it is given.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
SEEDS = (1, 764844)


def test_every_damaged_file_ends_in_a_sentence_within_limits() -> None:
    arguments = [sys.executable, str(HERE / "fuzz.py"), "--seconds", "24", "--seed", str(SEEDS[0])]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    print(done.stdout[-4000:], done.stderr[-2000:])
    assert done.returncode == 0, done.stdout[-4000:]
    match = re.search(r"seed \d+: (\d+) damaged inputs, 0 failures", done.stdout)
    assert match is not None
    assert int(match[1]) > 20


@pytest.mark.parametrize("seed", SEEDS)
def test_every_damaged_worklist_is_parsed_without_touching_other_memory(tmp_path: Path, seed: int) -> None:
    program = tmp_path / "worklist_fuzz"
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    parser = [NATIVE / "protocol" / name for name in ("answer.c", "command.c", "print.c", "protocol.c")]
    sources = [HERE / "worklist_fuzz.c", *parser]
    subprocess.run(["gcc", "-std=c11", "-g", *sanitizers, f"-I{NATIVE}", *sources, "-o", program], check=True)
    arguments = [program, HERE / "corpus" / "worklist.txt", str(seed), "50000"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-3000:]}"
