"""The verdicts of made-up cases: a study that measures a case has recorded that its algorithm ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from offbeat.model.study.algorithm import Verdict

KEY = ("collective", "algorithm", "p", "bytes")


def case_verdicts(cases: Iterable[Mapping[str, Any]]) -> list[Verdict]:
    """A verdict for each algorithm, number of processes and size of the cases, with their proof."""
    by_key = {tuple(case[name] for name in KEY): case for case in cases}
    return [
        Verdict(
            **{name: case[name] for name in KEY},
            status=case.get("proof") or "proved",
            evidence=case.get("evidence") or "its function",
        )
        for case in by_key.values()
    ]
