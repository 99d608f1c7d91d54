"""One configuration of the report: its table, choice, cases and labels."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from offbeat.model.study.schema import SIMULATING
from offbeat.presentation.study_report import labels
from offbeat.selection.choices.choose import Choice, Selection
from offbeat.selection.choices.delay_table import CONFIGURATION_COLUMNS, Configuration, DelayTable


class ConfigurationView(Struct, frozen=True, kw_only=True):
    """The data of one configuration in the report.

    ``table`` is None if no case of the configuration has a measured time, ``choice`` if nothing could be
    selected; ``left_out`` is then the reason. ``cases`` holds the configuration's rows of the cases frame.
    ``title`` names the configuration, and ``operation`` its reduction and root, if the collective's
    configurations differ in them. ``slug`` is unique, for anchors and file names.
    """

    configuration: Configuration
    table: DelayTable | None
    choice: Choice | None
    left_out: str
    cases: pl.DataFrame
    title: str
    operation: str
    slug: str

    @property
    def is_simulated(self) -> bool:
        """Whether all its cases were simulated."""
        return set(self.cases["engine"]) <= set(SIMULATING)

    @property
    def label(self) -> str:
        """The configuration without its collective: ``p = 8 · 32 KiB``."""
        return labels.joined(
            labels.processes_label(self.configuration), labels.size_label(self.configuration), self.operation
        )


def views(cases: pl.DataFrame, selection: Selection) -> list[ConfigurationView]:
    """The configurations in the order of the delay tables; those without a measured time come last."""
    tables = selection.tables
    chosen = {choice.configuration: choice for choice in selection.choices}
    reasons = {left_out.configuration: left_out.reason for left_out in selection.left_out}
    parts = {
        Configuration(*key): part
        for key, part in cases.partition_by(CONFIGURATION_COLUMNS, as_dict=True, maintain_order=True).items()
    }
    ordered = [*tables, *(configuration for configuration in parts if configuration not in tables)]
    slugs = _unique_slugs(ordered)
    several = len({configuration.library for configuration in ordered}) > 1
    operations = _operations(ordered)
    return [
        ConfigurationView(
            configuration=configuration,
            table=tables.get(configuration),
            choice=chosen.get(configuration),
            left_out=reasons.get(
                configuration,
                "" if configuration in chosen else "no case of this configuration has a measured time.",
            ),
            cases=parts[configuration],
            title=_title(configuration, library=several),
            operation=operations[configuration],
            slug=slugs[configuration],
        )
        for configuration in ordered
    ]


def _title(configuration: Configuration, *, library: bool) -> str:
    return labels.joined(
        configuration.collective,
        labels.processes_label(configuration),
        labels.size_label(configuration),
        labels.operation_label(configuration),
        configuration.library if library else "",
    )


def _operations(configurations: Sequence[Configuration]) -> dict[Configuration, str]:
    """Each configuration's operation and root; empty if all of its collective have the same."""
    operations: dict[str, set[str]] = {}
    for configuration in configurations:
        operations.setdefault(configuration.collective, set()).add(labels.operation_label(configuration))
    return {
        configuration: labels.operation_label(configuration)
        if len(operations[configuration.collective]) > 1
        else ""
        for configuration in configurations
    }


def _unique_slugs(configurations: Sequence[Configuration]) -> dict[Configuration, str]:
    """Short names; configurations that differ only in operation, root or library are numbered."""
    used: dict[str, int] = {}
    slugs: dict[Configuration, str] = {}
    for configuration in configurations:
        placement = (
            f"-{configuration.nodes}x{configuration.ppn}" if configuration.nodes and configuration.ppn else ""
        )
        name = labels.slug(f"{configuration.collective}-p{configuration.p}{placement}-{configuration.bytes}B")
        used[name] = used.get(name, 0) + 1
        slugs[configuration] = name if used[name] == 1 else f"{name}-{used[name]}"
    return slugs
