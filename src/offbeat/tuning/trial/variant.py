"""A variant of a program's launch: what a trial runs in turn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class Variant(Struct, frozen=True, kw_only=True):
    """A way to launch the program, which differs from others by variables of its environment.

    The user's settings that choose algorithms are left out, unless the variant ``keeps_settings``.
    """

    name: str
    keeps_settings: bool = False

    def variables(self, p: int | None) -> Mapping[str, str]:
        """The variables for runs with ``p`` processes.

        Raises :class:`BadInput` if they depend on the number of processes, and that is unknown.
        """
        raise NotImplementedError

    def run_variables(self, output: Path) -> Mapping[str, str]:
        """Further variables for the run whose output goes to a file; called before each run."""
        return {}

    def effect(self, output: Path) -> Mapping[str, float]:
        """What the variant is known to have done in a finished run, by the run's output file.

        Raises :class:`RunFailed` if it should have had an effect and had none.
        """
        return {}


def file_name(variant: str) -> str:
    """A variant's name in paths: ``scenario-mine`` for ``scenario:mine``."""
    return re.sub(r"[^\w.-]+", "-", variant)
