"""Pipes, devices, huge files and other hostile files end in a sentence in every command: a part of the draws.

``tests/fuzz/hostile_files.py`` draws as many as it is given, with any seed.
"""

from __future__ import annotations

import os

import pytest
from hostile_files import LAUNCHING, faults, inputs

pytestmark = pytest.mark.slow

SEED, COUNT = 1, int(os.environ.get("OFFBEAT_TEST_HOSTILE", "6"))


def test_a_hostile_file_ends_in_a_sentence_in_every_command() -> None:
    reading = [one for one in inputs() if " ".join(one.words) not in LAUNCHING]
    assert faults(COUNT, SEED, reading) == []


def test_the_files_of_commands_are_found_by_introspection() -> None:
    found = {(" ".join(one.words), one.option) for one in inputs()}
    assert {("run", ""), ("verify", "--tuning"), ("site add", ""), ("program run", "--hostfile")} <= found
