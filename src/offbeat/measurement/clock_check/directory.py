"""The directory of a check: valid after a kill at any moment, readable without an MPI library, and resumable.

- ``check.json``: the settings, the machine, and the algorithms with the verdicts on each; its
``check_version`` marks the directory as that of a check;
- ``rows.jsonl``: one line per finished step (:mod:`offbeat.measurement.clock_check.rows`), on disk before the
  next step begins;
- ``logs/``: the output of the launched programs;
- ``report.html`` and ``pictures/``: the report;
- ``offbeat.lock``: held while a check writes here.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from offbeat.base.campaign.directory import CampaignDirectory, CampaignFormat, read_campaign
from offbeat.measurement.clock_check.check_plan import CheckSettings
from offbeat.measurement.clock_check.rows import CheckedAlgorithms, Machine, Row

CHECK = "check.json"
ROWS = "rows.jsonl"
LOGS = "logs"
REPORT = "report.html"
PICTURES = "pictures"

VERSION = 1
"""The version of the format of ``check.json`` and ``rows.jsonl``."""


class Head(Struct, frozen=True, kw_only=True):
    """``check.json``; ``machine`` and ``algorithms`` are missing until they are known."""

    check_version: int
    settings: CheckSettings = field(name="wanted")
    machine: Machine | None = None
    algorithms: CheckedAlgorithms | None = field(default=None, name="found")


class Check(Struct, frozen=True, kw_only=True):
    """The content of a directory; ``rows`` are those of the finished steps, in the order of measuring."""

    directory: Path
    head: Head
    rows: list[Row]


FORMAT = CampaignFormat[Head, Row](
    holds="a check of the clock",
    creation_commands="'offbeat clock check'",
    head=CHECK,
    version_key="check_version",
    version=VERSION,
    head_type=Head,
    settings_of=lambda head: head.settings,
    records=ROWS,
    record_type=Row,
    step_of=lambda row: row.step,
    folders=(LOGS,),
)


class CheckDirectory(CampaignDirectory[Head, Row]):
    """A directory into which a check writes; a context manager that holds its lock."""

    def __init__(self, directory: Path, settings: CheckSettings) -> None:
        """Create the directory, or resume in it; raises as :class:`CampaignDirectory` does."""
        super().__init__(FORMAT, directory, Head(check_version=VERSION, settings=settings))
        self.logs = directory / LOGS

    def check(self) -> Check:
        """The content so far."""
        return Check(directory=self.directory, head=self.head, rows=list(self.records))


def read(directory: Path) -> Check:
    """Read a directory; raises BadInput for one that holds no check, or a damaged one."""
    head, rows = read_campaign(directory, FORMAT)
    return Check(directory=directory, head=head, rows=rows)
