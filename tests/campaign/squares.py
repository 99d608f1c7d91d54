"""A campaign that computes squares, the smallest one that the recipe of CONTRIBUTING.md gives.

As a program, ``python squares.py DIR COUNT SECONDS``, it takes some seconds for each step and can be killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from offbeat.base.campaign.directory import CampaignDirectory, CampaignFormat, read_campaign
from offbeat.base.campaign.steps import run_steps


class Settings(Struct, frozen=True, kw_only=True):
    """The head: everything that determines the records."""

    squares_version: int = 1
    count: int = 6
    unit: str = "cm"
    names: list[str] = []


class Square(Struct, frozen=True, kw_only=True):
    """A record; ``square`` is None if it could not be computed."""

    number: int
    square: int | None


FORMAT = CampaignFormat[Settings, Square](
    holds="squares",
    creation_commands="'offbeat square'",
    head="squares.json",
    version_key="squares_version",
    version=1,
    head_type=Settings,
    settings_of=lambda head: head,
    labels={"names": "the names of the numbers"},
    records="squares.jsonl",
    record_type=Square,
    step_of=lambda record: None if record.square is None else record.number,
    folders=("logs",),
)


def square(number: int) -> Square:
    return Square(number=number, square=number**2)


class Listener:
    """Stores the events."""

    def __init__(self) -> None:
        self.begun: tuple[int, int] = (-1, -1)
        self.recorded_numbers: list[int] = []

    def say(self, activity: str) -> None:
        pass

    warn = say

    def begin(self, done: int, total: int, unit: str = "steps") -> None:
        self.begun = (done, total)

    def report_record(self, record: Square) -> None:
        self.recorded_numbers.append(record.number)


def open_squares(directory: Path, settings: Settings | None = None) -> CampaignDirectory[Settings, Square]:
    return CampaignDirectory(FORMAT, directory, settings or Settings())


def compute(
    directory: Path,
    settings: Settings | None = None,
    do: Callable[[int], Square] = square,
    listener: Listener | None = None,
) -> Square | None:
    """The whole campaign."""
    with open_squares(directory, settings) as campaign:
        steps = {number: number for number in range(campaign.head.count)}
        return run_steps(campaign, steps, do, listener or Listener())


def numbers(directory: Path) -> list[int]:
    """The numbers of the records on disk."""
    return [record.number for record in read_campaign(directory, FORMAT)[1]]


def _slowly(number: int) -> Square:
    print(number, flush=True)
    time.sleep(float(sys.argv[3]))
    return square(number)


if __name__ == "__main__":
    compute(Path(sys.argv[1]), Settings(count=int(sys.argv[2])), _slowly)
