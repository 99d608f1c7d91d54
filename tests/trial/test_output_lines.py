"""The lines of a failed run's output that its message shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from offbeat.tuning.trial.trial import last_output_lines

FRAME = "-" * 74
SLOTS = f"{FRAME}\nThere are not enough slots.\n\n  ./app\n\nUse fewer slots.\nOr more nodes.\n{FRAME}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("one\ntwo\n\nthree\nfour\n", "two / three / four"),
        (SLOTS, "There are not enough slots. / ./app / Use fewer slots."),
        (f"step 1\n{SLOTS}\n\n", "There are not enough slots. / ./app / Use fewer slots."),
        (f"{SLOTS}step 1\nstep 2\nstep 3\n", "step 1 / step 2 / step 3"),
        (f"{FRAME}\n{FRAME}\n", ""),
        (f"a\nb\n{FRAME}\n", "a / b"),
    ],
)
def test_a_message_in_a_frame_is_shown_from_its_cause_on(text: str, shown: str, tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    output.write_text(text, encoding="utf-8")
    assert last_output_lines(output) == shown
