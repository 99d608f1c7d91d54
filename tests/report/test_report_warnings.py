"""Every warning appears only if it applies, with observation, reason and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import study_factory as factory

from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import Verdict
from offbeat.presentation.study_report.outcome import Notice, warnings


def notices(directory: Path, cases: pl.DataFrame, **more: Any) -> list[Notice]:
    study: Results = factory.results(directory, cases, **more)
    return warnings(study, factory.shown(study))


def quiet_cases(**more: Any) -> pl.DataFrame:
    """A clear choice, measured well, without any warning."""
    return factory.table(
        {"no_delay": {"a": 10.0, "b": 20.0}, "random": {"a": 10.0, "b": 20.0}}, last_delay_low_s=None, **more
    )


def changed(column: str, value: Any) -> pl.DataFrame:
    return quiet_cases().with_columns(pl.lit(value).alias(column).cast(quiet_cases().schema[column]))


def test_a_good_study_has_no_warnings(tmp_path: Path) -> None:
    provenance = {"topology": {"threads": 8}, "frequency": {"governors": ["performance"]}}
    assert notices(tmp_path, quiet_cases(), provenance=provenance) == []


CLOSE = factory.table({"no_delay": {"a": 10.0, "b": 10.05}, "random": {"a": 10.0, "b": 10.05}})
CONFIDENCE = {"repetitions": {"confidence_width": 0.05}}
SPREAD = pl.col("last_delay_s")
CASES: dict[str, tuple[pl.DataFrame, dict[str, Any], str, str]] = {
    "oversubscribed": (
        quiet_cases(),
        {"provenance": {"topology": {"threads": 16, "usable_threads": 4, "container_cpus": 2.0}}},
        "Up to 8 processes shared 2 hardware threads",
        "[processes]",
    ),
    "clock bound": (changed("clock_bound_s", 2e-6), {}, "clock’s error bound (up to 2 µs)", "[skew]"),
    "clock bound above skew": (changed("clock_bound_s", 1.0), {}, "above the skew in 2 of them", "[skew]"),
    "late starts": (changed("overshoot_s", 20e-6), {}, "started later than planned", "[start]"),
    "invalid": (changed("invalid", 10), {}, "25% of the repetitions were invalid", "tolerance"),
    "few repetitions": (changed("repetitions", 3), {}, "4 of 4 cases have fewer than 10", "minimum"),
    "wide intervals": (
        quiet_cases().with_columns(last_delay_low_s=SPREAD * 0.8, last_delay_high_s=SPREAD * 1.2),
        {"study": CONFIDENCE},
        "wider than the requested ±5%",
        "maximum",
    ),
    "governor": (
        quiet_cases(),
        {"provenance": {"frequency": {"governors": ["powersave"]}}},
        "frequency governor was powersave",
        "performance",
    ),
    "launch": (quiet_cases(), {"provenance": {"warnings": ["cores are shared"]}}, "1 remark on the run", ""),
    "reading": (quiet_cases(), {"notes": ["3 cases are left out"]}, "1 remark on the run", ""),
    "wrong": (
        quiet_cases(),
        {"verdicts": [Verdict(collective="reduce", algorithm="c", p=8, bytes=8, status="wrong")]},
        "1 algorithm computed a wrong result",
        "library",
    ),
    "nothing": (changed("status", "quarantined"), {}, "Nothing has been measured", "offbeat run"),
    "quarantined": (
        quiet_cases().with_columns(
            status=pl.when(pl.col("algorithm") == "b").then(pl.lit("quarantined")).otherwise("status")
        ),
        {},
        "2 of 4 cases were quarantined",
        "hang_after",
    ),
    "unproved": (
        quiet_cases().with_columns(
            proof=pl.when(pl.col("algorithm") == "b").then(pl.lit("unproved")).otherwise("proof")
        ),
        {},
        "1 algorithm could not be proved",
        "offbeat doctor",
    ),
    "default": (
        factory.table({"no_delay": {"default": 5.0, "a": 10.0}, "random": {"default": 5.0, "a": 10.0}}),
        {},
        "library’s default scores better",
        "default",
    ),
    "uncertain": (
        CLOSE,
        {"repetitions": factory.repetitions_of(CLOSE, 5)},
        "may lose more than the tolerance",
        "[repetitions]",
    ),
    "left out": (
        pl.concat([quiet_cases(), quiet_cases(bytes=16, proof="unproved")]),
        {},
        "For 1 configuration nothing could be selected",
        "",
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_a_warning_has_observation_reason_and_remedy(tmp_path: Path, name: str) -> None:
    cases, more, what, remedy = CASES[name]
    matching = [notice for notice in notices(tmp_path, cases, **more) if what in notice.observation]
    assert len(matching) == 1
    assert remedy in matching[0].remedy
    assert matching[0].why.endswith((".", "."))


def test_a_quarantined_case_keeps_its_reason(tmp_path: Path) -> None:
    cases = quiet_cases().with_columns(
        status=pl.when(pl.col("algorithm") == "b").then(pl.lit("quarantined")).otherwise("status"),
        reason=pl.lit("rank 3 died of signal 11"),
    )
    (notice,) = (n for n in notices(tmp_path, cases) if "quarantined" in n.observation)
    assert notice.details == ["reduce b, 2 cases: rank 3 died of signal 11"]


def test_imports_get_no_warnings_about_missing_facts(tmp_path: Path) -> None:
    study = factory.imported("hydra-32x32-micro-benchmark", tmp_path / "hydra")
    assert [notice.observation for notice in warnings(study, factory.shown(study))] == [
        "6 caveats on single choices."
    ]
