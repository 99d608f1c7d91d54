"""Letting algorithms be chosen that were set and computed right, but could not be told from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from offbeat.units import counted

if TYPE_CHECKING:
    from offbeat.results.read import Results

INDISTINGUISHABLE = "indistinguishable"
OPTION = "--include-indistinguishable"


def included(results: Results) -> Results:
    """The results with indistinguishable algorithms as candidates like proved ones."""
    return msgspec.structs.replace(
        results,
        cases=results.cases.with_columns(pl.col("proof").replace(INDISTINGUISHABLE, "proved")),
        verdicts=[
            msgspec.structs.replace(verdict, status="proved")
            if verdict.status == INDISTINGUISHABLE
            else verdict
            for verdict in results.verdicts
        ],
    )


def sentences(results: Results, *, are_included: bool) -> list[str]:
    """How many algorithms of each collective cannot be told from another one, and what becomes of them."""
    names: dict[str, dict[str, None]] = {}
    for verdict in results.verdicts:
        if verdict.status == INDISTINGUISHABLE:
            names.setdefault(verdict.collective, {})[verdict.algorithm] = None
    what = (
        f"they may be chosen because of {OPTION}"
        if are_included
        else f"they are not chosen unless {OPTION} is given"
    )
    return [
        f"{collective}: {counted(len(found), 'algorithm')} ({', '.join(found)}) ran without an error, but"
        f" what was seen to run could be another algorithm as well; {what}."
        for collective, found in names.items()
    ]
