"""A launcher and a program that only pretend: the program's time depends on the tuning file that it is given.

Run as a script, it is ``offbeat try`` in that world: ``python fake_mpirun.py FOLDER WORDS...``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]
sys.path += [str(_TESTS), *(str(_TESTS / room) for room in ("predict", "tuning", "trace"))]

import results_factory  # noqa: E402
from plan_factory import installation  # noqa: E402

from offbeat.libraries.installations.installation import Installation  # noqa: E402

LAUNCHER = f"""#!{sys.executable}
import os, sys
words = sys.argv[1:]
while words and words[0] != "./app":
    if words[0] == "-x":
        name, _, value = words[1].partition("=")
        os.environ[name] = value
    words = words[2:]
os.execv("./app", words)
"""

APP = f"""#!{sys.executable}
import os, sys, time
rules = os.environ.get("OMPI_MCA_coll_tuned_dynamic_rules_filename", "")
choice = os.path.basename(os.path.dirname(rules)) or "default"
with open("started.txt", "a") as file:
    print(choice, file=file)
with open("read.txt", "a") as file:
    print(len(sys.stdin.buffer.read()), file=file)
for line in open("behaviour.txt"):
    name, seconds, status = line.split()
    if name == choice:
        time.sleep(float(seconds) if len(sys.argv) < 2 else float(sys.argv[1]))
        print("warm-up: 99 s")
        print(f"time: {{seconds}} s")
        if int(status):
            print("it went wrong", file=sys.stderr)
            sys.exit(int(status))
"""

SECONDS = {"default": 0.03, "no_delay": 0.05, "average": 0.02}


def make(folder: Path, same: bool = False) -> Path:
    """Launcher, program and results in a folder; with ``same``, both rules choose the same."""
    folder.mkdir(exist_ok=True)
    for name, text in (("mpirun", LAUNCHER), ("app", APP)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    behave(folder, {})
    slow = 10 if same else 900
    delays: results_factory.Delays = {
        "no_delay": {"linear": 40, "pairwise": 60},
        "bell": {"linear": slow, "pairwise": 60},
    }
    results_factory.results(folder / "results", results_factory.rows(delays))
    return folder


def behave(folder: Path, failing: dict[str, int], seconds: dict[str, float] | None = None) -> None:
    """The run time of the program for each choice, and its exit status."""
    lines = [f"{name} {took} {failing.get(name, 0)}" for name, took in (SECONDS | (seconds or {})).items()]
    (folder / "behaviour.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def started(folder: Path) -> list[str]:
    """The choices with which the program was started, in their order."""
    path = folder / "started.txt"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def patch(folder: Path, setattr_: Any) -> None:
    """Make the launcher look like that of Open MPI 5.0.8."""
    from offbeat.libraries.installations import find
    from offbeat.trace import recording

    known = installation("openmpi", (5, 0, 8))
    here = Installation(
        **{name: getattr(known, name) for name in Installation.__struct_fields__}
        | {"mpirun": folder / "mpirun", "version_text": "Open MPI 5.0.8"}
    )
    setattr_(recording, "find_installation", lambda requested, words: here)
    setattr_(find, "choose", lambda *rest, **more: here)


if __name__ == "__main__":
    from offbeat.cli import app

    patch(Path(sys.argv[1]), setattr)
    sys.argv = ["offbeat", "try", *sys.argv[2:]]
    app.main()
