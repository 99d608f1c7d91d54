"""The cases of a study, measured or not, so that an unfinished study is recognised."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from offbeat.base.campaign.checksum import ChecksumError, check_document
from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json, read_file
from offbeat.measurement.results import layout
from offbeat.model.study.case import CONFIGURATION, Case, ConfigurationKey, Group, configuration_key

if TYPE_CHECKING:
    import polars as pl


class PlannedCases(Group, frozen=True, kw_only=True, omit_defaults=True):
    """All algorithms of a group under all of ``patterns``."""

    patterns: list[str]


class Plan(Struct, frozen=True, kw_only=True):
    """The content of ``plan.json``: the number of cases and, except for imports, the cases."""

    total: int
    cases: list[PlannedCases] = []

    def not_measured(self, cases: pl.DataFrame) -> dict[ConfigurationKey, list[tuple[str, str]]]:
        """Configuration → its (algorithm, pattern) pairs without a row in ``cases``, if there are any."""
        measured_pairs: dict[ConfigurationKey, set[tuple[str, str]]] = {}
        for *configuration, algorithm, pattern in cases.select(
            *CONFIGURATION, "algorithm", "pattern"
        ).iter_rows():
            measured_pairs.setdefault(tuple(configuration), set()).add((algorithm, pattern))
        missing_pairs: dict[ConfigurationKey, list[tuple[str, str]]] = {}
        for planned_cases in self.cases:
            present = measured_pairs.get(configuration_key(planned_cases), set())
            absent = [
                (algorithm, pattern)
                for algorithm in planned_cases.algorithms
                for pattern in planned_cases.patterns
                if (algorithm, pattern) not in present
            ]
            if absent:
                missing_pairs.setdefault(configuration_key(planned_cases), []).extend(absent)
        return missing_pairs


def plan_of(cases: Iterable[Case]) -> Plan:
    """The plan of a study with these cases."""
    total = 0
    patterns: dict[tuple[ConfigurationKey, str], list[str]] = {}
    for case in cases:
        patterns.setdefault((configuration_key(case), case.algorithm), []).append(case.pattern)
        total += 1
    names_by_patterns: dict[tuple[ConfigurationKey, tuple[str, ...]], list[str]] = {}
    for (configuration, algorithm), labels in patterns.items():
        names_by_patterns.setdefault((configuration, tuple(labels)), []).append(algorithm)
    planned_cases = [
        msgspec.convert(
            dict(zip(CONFIGURATION, configuration, strict=True)) | {"algorithms": names, "patterns": labels},
            PlannedCases,
        )
        for (configuration, labels), names in names_by_patterns.items()
    ]
    return Plan(total=total, cases=planned_cases)


def read_plan(directory: Path) -> Plan | None:
    """The plan of a result directory; None if no run has written it yet. Raises BadInput if it is damaged."""
    path = directory / layout.PLAN
    try:
        content = decode_json(read_file(path), dict)
        return msgspec.convert(check_document(content), Plan)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except (ChecksumError, msgspec.DecodeError) as error:
        raise BadInput(
            f"{path} is damaged ({error}), so the cases of the study are unknown; 'offbeat run' or"
            " 'offbeat results import', whichever created it, writes it again"
        ) from error
