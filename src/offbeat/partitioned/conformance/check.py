"""A check: the native program of an implementation, the chosen cases, and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import offbeat
from offbeat.base.campaign.directory import CampaignDirectory
from offbeat.base.campaign.progress import CampaignProgress
from offbeat.base.campaign.steps import StepListener, run_steps
from offbeat.base.errors import BadInput
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.batch_job import current
from offbeat.libraries.launch.launch_command import LaunchCommand, command
from offbeat.partitioned.conformance.launches import CaseRunner
from offbeat.partitioned.conformance.outcomes import (
    FORMAT,
    LOGS,
    VERSION,
    Case,
    Check,
    CheckSettings,
    Head,
    Implementation,
    Outcome,
)

PROGRAM = "offbeat-conformance-"
"""Beginning of the names of the programs: one for the library's functions, one for offbeat's."""

PRELOAD = "liboffbeat-partitioned-preload.so"

THREADS = 2
"""A process of a check needs as many cores, so that it is not bound to one."""


def program_of(installation: Installation, of: Implementation, built: Path) -> list[str]:
    """The words that start the program for an implementation; ``built`` is the driver beside it.

    Raises :class:`BadInput` if the library has no partitioned functions.
    """
    program = built.with_name(PROGRAM + ("offbeat" if of == "offbeat" else "library"))
    if not program.exists():
        raise BadInput(
            f"{installation.version_text} has no partitioned communication (MPI_Psend_init is not in its"
            " mpi.h); '--of offbeat' checks offbeat's own library on it"
        )
    if of != "preload":
        return [str(program)]
    (preload,) = built.parents[1].glob(f"lib*/**/{PRELOAD}")
    return ["env", f"LD_PRELOAD={preload}", str(program)]


def launch_of(
    installation: Installation, words: Sequence[str], nodes: int = 1, hostfile: Path | None = None
) -> LaunchCommand:
    """The launch of two processes, as users of the library start them: where the launcher places them, or, if
    ``nodes`` is 2, on two nodes of the batch job or of ``hostfile``.

    Raises :class:`BadInput` if the job has too few nodes.
    """
    are_placed = nodes == 2
    return command(
        installation,
        words,
        2,
        nodes=2 if are_placed else 0,
        ppn=1 if are_placed else 0,
        hostfile=hostfile,
        allocation=current(),
        steerable=False,
        threads=THREADS,
    )


def check(
    launch: LaunchCommand, settings: CheckSettings, directory: Path, listener: StepListener[Outcome]
) -> Check:
    """Run the cases that have no outcome in ``directory`` yet.

    Raises :class:`BadInput` for unknown cases and a directory with other settings, and :class:`RunFailed` if
    nothing can be launched; the outcomes so far are kept.
    """
    head = Head(
        conformance_version=VERSION,
        offbeat=offbeat.__version__,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        settings=settings,
    )
    with (
        CampaignDirectory(FORMAT, directory, head) as kept,
        CaseRunner(launch, settings.timeout_s, directory / LOGS) as runner,
    ):
        cases = {one.name: one for one in _chosen(runner.cases(), settings.cases)}
        run_steps(kept, dict(cases.items()), runner.run, listener)
        return Check(head=kept.head, outcomes=[kept.records_by_step[name] for name in cases])


def _chosen(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    known = [one.name for one in cases]
    for name in names:
        if name not in known:
            raise BadInput(f"--case {name}: known cases are {', '.join(known)}")
    return [one for one in cases if not names or one.name in names]


class CheckProgress(CampaignProgress):
    """Displays the progress of a check; a context manager."""

    def report_record(self, record: Outcome) -> None:
        """The outcome of a case is on disk."""
        if record.failed:
            self.print(f"{record.case} {record.verdict}: {record.found}")
        self.advance()
