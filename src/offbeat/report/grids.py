"""The three tables of a configuration, as in the paper's figures 5, 6 and 8.

A :class:`Grid` holds the text, tone and mark of each square. The page draws it as an HTML table and
:mod:`offbeat.report.figures` as a picture, with the same numbers and tones. Every tone has a mark or a number
beside it, so that squares do not differ only by colour.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from offbeat.report import labels
from offbeat.report.configurations import ConfigurationView
from offbeat.select import rules, wording
from offbeat.select.table import NO_DELAY, DelayTable
from offbeat.study.algorithm import DEFAULT

LIMIT = 0.25
"""A relative change against no_delay above this counts as faster or slower (the paper's 25%)."""

WIDE = 16
"""A grid with more columns than this is wide."""

RATIO_STEPS = (1.05, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Upper limits of the tones of normalised delays; the last tone has none."""


SKEWS = {
    "own": "Each algorithm’s skew is relative to its own run time, as in the paper’s figure 6.",
    "same": "All algorithms had the same skew (in the paper’s figure 6 each skew is relative to the"
    " algorithm’s"
    " own run time: policy ‘own’).",
    "": "",
}
"""The reference of the skews (:attr:`DelayTable.skews`), as a sentence."""


class Square(Struct, frozen=True, kw_only=True):
    """One square: its number, a mark after it, a smaller second number, a tooltip, and the tone."""

    text: str
    tone: str = "plain"
    mark: str = ""
    small: str = ""
    note: str = ""


class Heading(Struct, frozen=True, kw_only=True):
    """The heading of a row or column; ``remark`` is a second, smaller line; the selected algorithm's is
    strong."""

    name: str
    remark: str = ""
    strong: bool = False


class Row(Struct, frozen=True, kw_only=True):
    """A row of squares; ``summary`` rows are separated from the patterns."""

    heading: Heading
    squares: list[Square]
    summary: bool = False


class Key(Struct, frozen=True, kw_only=True):
    """One entry of the legend: a swatch of a tone with a mark in it, and what it means."""

    tone: str
    mark: str
    meaning: str


class Grid(Struct, frozen=True, kw_only=True):
    """A table of patterns × algorithms. ``kind`` names files and anchors; ``caption`` says what the numbers
    are."""

    kind: str
    title: str
    subject: str
    caption: str
    columns: list[Heading]
    rows: list[Row]
    keys: list[Key]

    @property
    def is_wide(self) -> bool:
        """Whether there are so many columns that headings are vertical and squares narrow."""
        return len(self.columns) > WIDE


def grids(view: ConfigurationView, within: float) -> list[Grid]:
    """The grids of a configuration; none if nothing was measured, no robustness without no_delay.

    ``within`` is the share by which an algorithm of the good set may be slower than the fastest.
    """
    table = view.table
    if table is None:
        return []
    grids = [last_delay_grid(view, table, within)]
    if NO_DELAY in table.patterns and len(table.patterns) > 1:
        grids.append(robustness_grid(view, table))
    grids.append(normalised_grid(view, table))
    return grids


def last_delay_grid(view: ConfigurationView, table: DelayTable, within: float) -> Grid:
    """Last delays, the good set of each row marked (the paper's figure 5)."""
    unit, per_second = wording.common_unit(table.last_delay_s)
    good = table.good(within)
    notes = _notes(view, table)

    def square(i: int, j: int) -> Square:
        if np.isnan(table.last_delay_s[i, j]):
            return _missing(table, i, j)
        tone = "good" if good[i, j] else ("poor" if table.candidates[j] else "plain")
        return Square(
            text=_number(table.last_delay_s[i, j] * per_second),
            tone=tone,
            mark=("✓" if good[i, j] else "") + ("*" if table.is_incomplete(i, j) else ""),
            note=notes.get((table.patterns[i], table.algorithms[j]), ""),
        )

    how = "Simulated" if view.is_simulated else "Measured"
    of = "Last delay" if view.is_simulated else "Last delay over all blocks of a case"
    of += ", of replays the mean over their calls" if table.replays else ""
    return Grid(
        kind="last-delay",
        title=f"{how} last delay {labels.LAST_DELAY} in {unit}",
        subject=view.title,
        caption=f"{of} (last exit {labels.MINUS} last arrival) in {unit}."
        f" Compare within a row: ✓ is within {wording.share_label(within)} of its fastest."
        + _incomplete_sentence(table),
        columns=_columns(view, table),
        rows=[
            Row(heading=heading, squares=[square(i, j) for j in range(len(table.algorithms))])
            for i, heading in enumerate(_row_headings(view, table))
        ],
        keys=[
            Key(
                tone="good",
                mark="✓",
                meaning=f"good: within {wording.share_label(within)} of the row's fastest",
            ),
            Key(tone="poor", mark="", meaning="slower than that"),
            *_reference_key(table),
            *_missing_key(table),
        ],
    )


def robustness_grid(view: ConfigurationView, table: DelayTable) -> Grid:
    """Change of the last delay against no_delay, in classes of ±25% (the paper's figure 6)."""
    change, classes = table.robustness(), table.robustness_class(LIMIT)
    marks = {"faster": "▼", "slower": "▲"}

    def square(i: int, j: int) -> Square:
        name = str(classes[i, j])
        if not name:
            return _missing(table, i, j)
        return Square(text=labels.typeset(wording.change(change[i, j])), tone=name, mark=marks.get(name, ""))

    headings = _row_headings(view, table)
    limit = wording.share_label(LIMIT)
    return Grid(
        kind="robustness",
        title=f"Robustness: {labels.LAST_DELAY} against no_delay",
        subject=view.title,
        caption=f"{labels.LAST_DELAY} / {labels.LAST_DELAY} under no_delay {labels.MINUS} 1, without unit: "
        f"{labels.MINUS}0.50 means half as long, +1.00 twice as long. {SKEWS[table.skews]}",
        columns=_columns(view, table),
        rows=[
            Row(heading=headings[i], squares=[square(i, j) for j in range(len(table.algorithms))])
            for i, pattern in enumerate(table.patterns)
            if pattern != NO_DELAY
        ],
        keys=[
            Key(tone="faster", mark="▼", meaning=f"over {limit} faster: absorbs delay"),
            Key(tone="same", mark="", meaning=f"within ±{limit}"),
            Key(tone="slower", mark="▲", meaning=f"over {limit} slower"),
            *_missing_key(table),
        ],
    )


def normalised_grid(view: ConfigurationView, table: DelayTable) -> Grid:
    """Rows relative to their fastest, times in parentheses, averages below (the paper's figure 8)."""
    unit, per_second = wording.common_unit(table.last_delay_s)
    ratios = table.normalised()

    def square(i: int, j: int) -> Square:
        if np.isnan(ratios[i, j]):
            return _missing(table, i, j)
        absolute = _number(table.last_delay_s[i, j] * per_second)
        return Square(text=wording.ratio(ratios[i, j]), tone=_ratio_tone(ratios[i, j]), small=f"({absolute})")

    patterns = [
        Row(heading=heading, squares=[square(i, j) for j in range(len(table.algorithms))])
        for i, heading in enumerate(_row_headings(view, table))
    ]
    return Grid(
        kind="normalised",
        title=f"{labels.LAST_DELAY} relative to each row's fastest",
        subject=view.title,
        caption=f"1 is the fastest of a row; in parentheses the measured {labels.LAST_DELAY} in {unit}. "
        "The averages give every row the same weight; the rule ‘average’ selects the smallest."
        + _superseded(table),
        columns=_columns(view, table),
        rows=patterns
        + [_average_row(table, name, rule) for name, rule in rules.average_rules(table).items()],
        keys=_ratio_keys() + _missing_key(table),
    )


def _superseded(table: DelayTable) -> str:
    """The rows that are not averaged with scenarios because a replay of the same calls is."""
    pairs = rules.superseded_rows(table).items()
    names = ", ".join(f"{table.patterns[i]} ({table.patterns[replay]} is)" for i, replay in pairs)
    return f" With scenarios, patterns of the same calls are averaged once: not {names}." if names else ""


def _average_row(table: DelayTable, name: str, rule: rules.Rule) -> Row:
    scores = rule.scores(table) | rule.reference_scores(table)
    squares = [
        Square(text=wording.ratio(scores[algorithm], decimals=3), tone=_ratio_tone(scores[algorithm]))
        if np.isfinite(scores.get(algorithm, np.nan))
        else Square(text=labels.DASH, tone="missing", note="not measured under every pattern of this average")
        for algorithm in table.algorithms
    ]
    return Row(heading=Heading(name=name), squares=squares, summary=True)


def _columns(view: ConfigurationView, table: DelayTable) -> list[Heading]:
    choice = view.choice

    def remark(name: str) -> str:
        remarks = [table.excluded.get(name, "")]
        if name == DEFAULT:
            remarks.append("the library’s default")
        if choice and name == choice.algorithm:
            remarks.append("selected")
        if choice and name == choice.no_delay_winner:
            remarks.append("no-delay winner")
        return ", ".join(filter(None, remarks))

    chosen = choice.algorithm if choice else None
    return [Heading(name=name, remark=remark(name), strong=name == chosen) for name in table.algorithms]


def _row_headings(view: ConfigurationView, table: DelayTable) -> list[Heading]:
    """The patterns with the largest delay that each was applied with."""
    spans = view.cases.group_by("pattern").agg(
        pl.col("skew_s").min().alias("low"), pl.col("skew_s").max().alias("high")
    )
    skews = {row["pattern"]: (row["low"], row["high"]) for row in spans.iter_rows(named=True)}

    replays = {table.patterns[i] for i in table.replays}

    def remark(pattern: str) -> str:
        low, high = skews.get(pattern, (None, None))
        if low is None or high is None or not np.isfinite([low, high]).all() or high == 0:
            return ""
        largest = " at most" if pattern in replays else ""
        return f"s = {labels.duration_span(low, high)}{largest}"

    return [Heading(name=pattern, remark=remark(pattern)) for pattern in table.patterns]


def _notes(view: ConfigurationView, table: DelayTable) -> dict[tuple[str, str], str]:
    """The tooltips of squares: the confidence interval and the repetitions."""
    spread = {
        (pattern, algorithm): _interval(table.low_s[i, j], table.high_s[i, j])
        for i, pattern in enumerate(table.patterns)
        for j, algorithm in enumerate(table.algorithms)
    }
    rows = view.cases.select("pattern", "algorithm", "repetitions", "invalid").iter_rows()
    return {
        (pattern, algorithm): f"{spread.get((pattern, algorithm), '')}{_repetitions(repetitions, invalid)}"
        for pattern, algorithm, repetitions, invalid in rows
    }


def _interval(low_s: float, high_s: float) -> str:
    return (
        f"95% interval {labels.duration_span(low_s, high_s)}; " if np.isfinite([low_s, high_s]).all() else ""
    )


def _repetitions(repetitions: int | None, invalid: int | None) -> str:
    return f"{labels.count(repetitions or 0, 'repetition')}" + (f", {invalid} invalid" if invalid else "")


def _missing(table: DelayTable, i: int, j: int) -> Square:
    reason = table.missing.get((table.patterns[i], table.algorithms[j]), "not measured")
    return Square(text=labels.DASH, tone="missing", note=reason)


def _missing_key(table: DelayTable) -> list[Key]:
    missing = np.isnan(table.last_delay_s).any()
    return [Key(tone="missing", mark=labels.DASH, meaning="not measured")] if missing else []


def _reference_key(table: DelayTable) -> list[Key]:
    if table.candidates.all():
        return []
    return [Key(tone="plain", mark="", meaning="for reference only: never selected")]


def _incomplete_sentence(table: DelayTable) -> str:
    """The meaning of the star, if there is one."""
    if table.incomplete is None or not table.incomplete.any():
        return ""
    partial = table.incomplete[table.replays].any()
    return " * marks medians of too few repetitions" + (
        ", and means over some of a replay's calls." if partial else "."
    )


def _number(value: float) -> str:
    return labels.typeset(wording.significant(value))


def _ratio_tone(value: float) -> str:
    return f"ratio{int(np.searchsorted(np.array(RATIO_STEPS) * (1 + 1e-9), value))}"


def _ratio_keys() -> list[Key]:
    ranges = [
        f"≤ {RATIO_STEPS[0]:g}",
        *(f"to {step:g}" for step in RATIO_STEPS[1:]),
        f"> {RATIO_STEPS[-1]:g}",
    ]
    return [Key(tone=f"ratio{i}", mark=text, meaning="") for i, text in enumerate(ranges)]
