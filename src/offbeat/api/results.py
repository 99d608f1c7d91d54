"""The results of a study, or of several of one library, as an object."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from offbeat.base.errors import BadInput
from offbeat.measurement.results import read
from offbeat.measurement.results.export import table
from offbeat.measurement.results.merge import merge_studies

if TYPE_CHECKING:
    import polars as pl

    from offbeat.api.selection import Selection

MOST_RESAMPLES = 100_000


class Results(read.Results, kw_only=True, eq=False):
    """What was measured, from :meth:`open` or :meth:`offbeat.Study.run`.

    ``cases`` and ``repetitions`` are polars frames with the columns of the reference page on results;
    ``study`` is the resolved study file and ``provenance`` where and how it was measured, both as
    dictionaries; ``algorithms`` and ``verdicts`` are those of the library; ``notes`` are sentences on records
    that were left out.
    """

    @classmethod
    def open(cls, *directories: str | PathLike[str]) -> Self:
        """Read a result directory, or several of the same library with different configurations.

        Raises :class:`offbeat.BadInput` if one is no result directory or damaged, and if they do not go
        together.
        """
        if not directories:
            raise BadInput("no result directory is given; 'offbeat run' and Study.run write one")
        together = merge_studies([read.read_study(directory) for directory in directories])
        return cls(**{name: getattr(together, name) for name in together.__struct_fields__})

    def table(self, name: str = "cases") -> pl.DataFrame:
        """One of the tables ``cases``, ``repetitions`` and ``ranks`` as a frame; times are in seconds."""
        return table(self, name)

    def select(
        self,
        rule: str = "average",
        *,
        within: float | str = 0.05,
        collectives: Sequence[str] = (),
        include_scenarios: bool = False,
        include_indistinguishable: bool = False,
        bootstrap: int = 1000,
        seed: int = 1,
    ) -> Selection:
        """Choose for each configuration the algorithm that stays good under the arrival patterns.

        The arguments are the options of ``offbeat select``. ``rule`` is ``average``, ``worst``,
        ``scenario:NAME`` or ``no_delay``; ``within`` (a share, or a text such as ``5%``) is the largest
        slowdown against the fastest that counts as good; ``bootstrap`` is the number of simulated repetitions
        of the study for the confidence, 0 omits it. Raises :class:`offbeat.BadInput`.
        """
        from offbeat.api.selection import Selection
        from offbeat.selection.choices.choose import select
        from offbeat.selection.choices.restrictions import include_indistinguishable as with_indistinguishable
        from offbeat.selection.choices.wording import parse_share

        if not 0 <= bootstrap <= MOST_RESAMPLES:
            raise BadInput(f"--bootstrap {bootstrap}: write a number from 0 to {MOST_RESAMPLES}")
        if seed < 0:
            raise BadInput(f"--seed {seed}: write 0 or more")
        chosen = select(
            with_indistinguishable(self) if include_indistinguishable else self,
            rule,
            within=parse_share(within) if isinstance(within, str) else within,
            bootstrap=bootstrap,
            seed=seed,
            include_scenarios=include_scenarios,
            collectives=[collectives] if isinstance(collectives, str) else collectives,
        )
        fields: dict[str, Any] = {name: getattr(chosen, name) for name in chosen.__struct_fields__}
        return Selection(**fields, results=self, includes_indistinguishable=include_indistinguishable)

    @property
    def warnings(self) -> list[str]:
        """What limits the reliability of the numbers, as sentences; ``offbeat run`` prints the same."""
        from offbeat.selection.choices.reliability import reliability

        return [notice.sentence for notice in reliability(self)]

    @property
    def tuning_folder(self) -> Path:
        """The folder into which tuning files are written unless another one is given."""
        from offbeat.selection.tuning_files.manifest import FOLDER

        return self.directory / FOLDER

    def __repr__(self) -> str:
        """The directory, and the number of cases."""
        return f"<offbeat.Results {self.directory}: {self.cases.height} cases>"

    def _repr_html_(self) -> str:
        from offbeat.presentation.pages.notebook import results_html

        return results_html(self)


def read_study(path: str | PathLike[str]) -> Results:
    """The results in a directory, as :meth:`Results.open` reads them."""
    return Results.open(path)
