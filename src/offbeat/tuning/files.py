"""What a writer of tuning files hands back, and how files are put into a directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.atomic_write import write_atomically
from offbeat.errors import BadInput
from offbeat.tuning.plan import Rule


class ProcessEnvironment(Struct, frozen=True, kw_only=True):
    """Environment variables for launches of ``p_low`` to ``p_high`` processes (inclusive) only."""

    p_low: int
    p_high: int
    environment: dict[str, str]


class TuningFiles(Struct, frozen=True, kw_only=True):
    """Tuning files, and how a launch is made to use them.

    ``files`` are absolute paths. ``environment`` alone makes a launch use them, and so do ``launch_options``
    alone (words for the launcher, empty where it has none for the purpose). Where a library's settings must
    differ with the number of processes, ``by_processes`` holds what belongs to each; :meth:`environment_for`
    puts both together. ``rules`` are those of the plan that stand in the files; those of a collective in
    ``every_size`` act whatever the size, those of one in ``not_in_place`` never on calls with MPI_IN_PLACE.
    ``usage`` are lines to copy into a terminal or job script, ``notes`` sentences to read before.
    ``insisted`` are sentences on rules that are wrong for a legal call and that the user asked for
    nevertheless.
    """

    files: list[Path]
    environment: dict[str, str]
    launch_options: list[str]
    usage: list[str]
    notes: list[str]
    rules: list[Rule]
    by_processes: list[ProcessEnvironment] = []
    every_size: list[str] = []
    exact_default: bool = True
    not_in_place: list[str] = []
    insisted: list[str] = []

    def as_on_disk(self, read: Callable[[Path], dict[str, str]]) -> TuningFiles:
        """With the variables of each range of processes as its file has them now.

        ``read`` gives the variables that sourcing a file sets; ``files`` and ``by_processes`` go together.
        """
        if not self.by_processes:
            return self
        return msgspec.structs.replace(
            self,
            by_processes=[
                msgspec.structs.replace(entry, environment=read(path))
                for entry, path in zip(self.by_processes, self.files, strict=True)
            ],
            environment={},
        )

    def environment_for(self, p: int) -> dict[str, str]:
        """The environment variables that make a launch of ``p`` processes use the files."""
        for entry in self.by_processes:
            if entry.p_low <= p <= entry.p_high:
                return self.environment | entry.environment
        return dict(self.environment)

    def rule_for(
        self, collective: str, p: int, size: int, launched: int, *, in_place: bool = False
    ) -> Rule | None:
        """The rule that acts on a blocking call on a communicator of ``p`` processes; None where none does.

        ``size`` is the message size in bytes as studies state it. Where files belong to a number of processes
        that is ``launched``, they act on smaller communicators as well.
        """
        if in_place and collective in self.not_in_place:
            return None
        compared = launched if self.by_processes else p
        for rule in self.rules:
            if (
                rule.collective == collective
                and rule.p_low <= compared <= rule.p_high
                and (collective in self.every_size or rule.bytes_low <= size <= rule.bytes_high)
            ):
                return rule
        return None


def write_file(directory: Path, name: str, text: str) -> Path:
    """Write ``text`` to ``directory``/``name``, whole or not at all; returns the absolute path.

    Makes the directory. Raises :class:`BadInput` when it cannot be written.
    """
    path = directory.absolute() / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as error:
        raise BadInput(
            f"cannot write the tuning file {path}: {error.strerror or error}; give a directory that you can"
            " write to with --output"
        ) from error
    return path
