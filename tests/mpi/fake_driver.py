"""A program that answers as the driver does, and misbehaves on demand. No MPI."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def answer(**values: object) -> None:
    say("@offbeat " + json.dumps({"ok": True} | values))


def say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


def noise() -> None:
    say("a library's own words")
    say("offbeat without its mark, and @offbeat in the middle of a line")
    say("\x00\xff\x1b[31m", end="")
    say(" half a line,", end="")
    time.sleep(0.05)
    say(" and its rest")
    answer(heard="noise")


def start_children(ignores_quit: bool) -> None:
    """Children as some launchers start them: in separate sessions; some ignore requests to end."""
    signal_setup = "signal.signal(signal.SIGTERM, signal.SIG_IGN);" if ignores_quit else ""
    code = f"import signal, time; {signal_setup} print(flush=True); time.sleep(300)"
    for _ in range(2):
        child = subprocess.Popen(
            [sys.executable, "-S", "-c", code], start_new_session=True, stdout=subprocess.PIPE
        )
        assert child.stdout
        child.stdout.readline()


def obey(verb: str, words: dict[str, str], line: str) -> None:
    if verb == "noise":
        noise()
    elif verb == "echo":
        answer(line=line)
    elif verb == "large":
        answer(text="x" * int(words["size"]))
    elif verb == "refuse":
        say('@offbeat {"ok": false, "why": "I would rather not"}')
    elif verb == "refuse_without_reason":
        say('@offbeat {"ok": false}')
    elif verb == "environment":
        answer(value=os.environ.get(words["name"], ""))
    elif verb == "garbage":
        say('@offbeat {"ok": tr')
    elif verb == "list":
        say("@offbeat [1, 2]")
    elif verb == "children":
        start_children(ignores_quit=words.get("ignores_quit") == "yes")
        answer()
    elif verb == "last_words":
        signal.signal(signal.SIGTERM, lambda *_: (Path(words["file"]).touch(), sys.exit(0)))
        answer()
    elif verb == "chatter":
        while True:
            say("still alive")
            time.sleep(0.02)
    elif verb == "silence":
        time.sleep(300)
    elif verb == "exit":
        sys.stderr.write("nothing special\nError: out of luck\n")
        sys.exit(int(words["status"]))
    elif verb == "die":
        os.kill(os.getpid(), int(words["signal"]))
    elif verb == "close_output":
        os.close(1)
        time.sleep(300)


def main() -> None:
    ignores_quit = "--ignores-quit" in sys.argv
    if ignores_quit:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        verb, *rest = line.split()
        if verb == "quit" and not ignores_quit:
            return
        obey(verb, dict(word.split("=", 1) for word in rest if "=" in word), line.rstrip("\n"))
    while ignores_quit:
        time.sleep(60)


if __name__ == "__main__":
    main()
