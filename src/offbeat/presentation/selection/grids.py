"""The three tables of a configuration, as in the paper's figures 5, 6 and 8.

The terminal, the page and the pictures show them. Patterns are rows and algorithms columns. Numbers are plain
text; pages and pictures typeset them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from offbeat.base.document.grid import Grid, Heading, Key, Row, Square
from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices import selection_rules, wording
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import NO_DELAY, DelayTable

LIMIT = 0.25
"""A relative change against no_delay above this counts as faster or slower (the paper's 25%)."""

RATIO_STEPS = (1.05, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Upper limits of the tones of normalised delays; the last tone has none."""

SKEWS = {
    "own": "Each algorithm's skew is relative to its own run time.",
    "same": "All algorithms had the same skews.",
    "": "",
}
"""The reference of the skews (:attr:`DelayTable.skews`), as a sentence."""

LAST_DELAY, MINUS = wording.LAST_DELAY, wording.MINUS


def grids(
    table: DelayTable, choice: Choice | None, within: float, *, is_simulated: bool = False
) -> list[Grid]:
    """The grids of a configuration: last delays, robustness (only with no_delay), relative delays.

    ``within`` is the share by which an algorithm of the good set may be slower than the fastest.
    """
    grids = [_delays(table, choice, within, is_simulated=is_simulated)]
    if NO_DELAY in table.patterns and len(table.patterns) > 1:
        grids.append(_robustness(table, choice))
    return [*grids, _normalised(table, choice)]


def _delays(table: DelayTable, choice: Choice | None, within: float, *, is_simulated: bool) -> Grid:
    """Last delays, the good set of each row marked (the paper's figure 5)."""
    unit, per_second = wording.common_unit(table.last_delay_s)
    good = table.good(within)
    close = wording.share_label(within)

    def square(i: int, j: int) -> Square:
        if np.isnan(table.last_delay_s[i, j]):
            return _missing(table, i, j)
        number = wording.significant(table.last_delay_s[i, j] * per_second)
        return Square(
            text=number + ("*" if table.incomplete[i, j] else ""),
            tone="good" if good[i, j] else ("poor" if table.candidates[j] else "plain"),
            mark="✓" if good[i, j] else "",
            strong=bool(good[i, j]),
        )

    of = "Last delay" if is_simulated else "Last delay over all blocks of a case"
    of += ", of replays the mean over their calls" if table.replays else ""
    return Grid(
        kind="last-delay",
        title=f"{'Simulated' if is_simulated else 'Measured'} last delay {LAST_DELAY} in {unit}",
        caption=f"{of} (last exit {MINUS} last arrival) in {unit}."
        f" Compare within a row: ✓ is within {close} of its fastest.{_incomplete_sentence(table)}",
        columns=_columns(table, choice),
        rows=_rows(table, square),
        keys=[
            Key(tone="good", mark="✓", meaning=f"good: within {close} of the row's fastest"),
            Key(tone="poor", mark="", meaning="slower than that"),
            *_reference_key(table),
            *_missing_key(table),
        ],
    )


def _robustness(table: DelayTable, choice: Choice | None) -> Grid:
    """Change of the last delay against no_delay, in classes of ±25% (the paper's figure 6)."""
    change, classes = table.robustness(), table.robustness_class(LIMIT)
    marks = {"faster": "▼", "slower": "▲"}
    of_paper = {
        "own": " As in the paper’s figure 6.",
        "same": " In the paper’s figure 6 each skew is relative to the algorithm’s own run time"
        " (policy ‘own’).",
    }

    def square(i: int, j: int) -> Square:
        name = str(classes[i, j])
        if not name:
            return _missing(table, i, j)
        return Square(text=wording.change(change[i, j]), tone=name, mark=marks.get(name, ""))

    limit = wording.share_label(LIMIT)
    return Grid(
        kind="robustness",
        title=f"Robustness: {LAST_DELAY} against no_delay",
        caption=f"{LAST_DELAY} / {LAST_DELAY} under no_delay {MINUS} 1, without unit: "
        f"{MINUS}0.50 means half as long, +1.00 twice as long."
        f" {SKEWS[table.skews]}{of_paper.get(table.skews, '')}".rstrip(),
        columns=_columns(table, choice),
        rows=[row for row in _rows(table, square) if row.heading.name != NO_DELAY],
        keys=[
            Key(tone="faster", mark="▼", meaning=f"over {limit} faster: absorbs delay"),
            Key(tone="same", mark="", meaning=f"within ±{limit}"),
            Key(tone="slower", mark="▲", meaning=f"over {limit} slower"),
            *_missing_key(table),
        ],
    )


def _normalised(table: DelayTable, choice: Choice | None) -> Grid:
    """Rows relative to their fastest, times in parentheses, averages below (the paper's figure 8)."""
    unit, per_second = wording.common_unit(table.last_delay_s)
    ratios = table.normalised_delays()

    def square(i: int, j: int) -> Square:
        if np.isnan(ratios[i, j]):
            return _missing(table, i, j)
        return Square(
            text=wording.ratio(ratios[i, j]),
            tone=_ratio_tone(ratios[i, j]),
            small=f"({wording.significant(table.last_delay_s[i, j] * per_second)})",
            strong=bool(table.candidates[j] and ratios[i, j] <= 1),
        )

    averages = [
        _average_row(table, name, rule) for name, rule in selection_rules.average_rules(table).items()
    ]
    return Grid(
        kind="normalised",
        title=f"{LAST_DELAY} relative to each row's fastest",
        caption=f"1 is the fastest of a row; in parentheses the measured {LAST_DELAY} in {unit}."
        " The averages give every row the same weight; the rule ‘average’ selects the smallest."
        + _superseded(table),
        columns=_columns(table, choice),
        rows=_rows(table, square) + averages,
        keys=_ratio_keys() + _missing_key(table),
    )


def _superseded(table: DelayTable) -> str:
    """The rows that are not averaged with scenarios because a replay of the same calls is."""
    pairs = selection_rules.superseded_rows(table).items()
    names = ", ".join(f"{table.patterns[i]} ({table.patterns[replay]} is)" for i, replay in pairs)
    return f" With scenarios, patterns of the same calls are averaged once: not {names}." if names else ""


def _average_row(table: DelayTable, name: str, rule: selection_rules.Rule) -> Row:
    measured_scores = rule.scores(table)
    scores, best = (
        measured_scores | rule.reference_scores(table),
        min(measured_scores.values(), default=np.nan),
    )
    squares = [
        Square(
            text=wording.ratio(scores[algorithm], decimals=3),
            tone=_ratio_tone(scores[algorithm]),
            strong=measured_scores.get(algorithm) == best,
        )
        if np.isfinite(scores.get(algorithm, np.nan))
        else Square(
            text=wording.DASH, tone="missing", note="not measured under every pattern of this average"
        )
        for algorithm in table.algorithms
    ]
    return Row(heading=Heading(name=name), squares=squares, summary=True)


def _rows(table: DelayTable, square: Callable[[int, int], Square]) -> list[Row]:
    """A row for each pattern; ``square`` gives the square of a row and column of the table."""
    return [
        Row(heading=Heading(name=pattern), squares=[square(i, j) for j in range(len(table.algorithms))])
        for i, pattern in enumerate(table.patterns)
    ]


def _columns(table: DelayTable, choice: Choice | None) -> list[Heading]:
    def remark(name: str) -> str:
        remarks = [table.exclusions.get(name, "")]
        if name == DEFAULT:
            remarks.append("the library’s default")
        if choice and name == choice.algorithm:
            remarks.append("selected")
        if choice and name == choice.no_delay_winner:
            remarks.append("no-delay winner")
        return ", ".join(filter(None, remarks))

    chosen = choice.algorithm if choice else None
    return [Heading(name=name, remark=remark(name), strong=name == chosen) for name in table.algorithms]


def _missing(table: DelayTable, i: int, j: int) -> Square:
    reason = table.gap_reasons.get((table.patterns[i], table.algorithms[j]), "not measured")
    return Square(text=wording.DASH, tone="missing", note=reason)


def _missing_key(table: DelayTable) -> list[Key]:
    missing = np.isnan(table.last_delay_s).any()
    return [Key(tone="missing", mark=wording.DASH, meaning="not measured")] if missing else []


def _reference_key(table: DelayTable) -> list[Key]:
    if table.candidates.all():
        return []
    return [Key(tone="plain", mark="", meaning="for reference only: never selected")]


def _incomplete_sentence(table: DelayTable) -> str:
    if not table.incomplete.any():
        return ""
    partial = table.incomplete[table.replays].any()
    return " * marks medians of too few repetitions" + (
        ", and means over some of a replay's calls." if partial else "."
    )


def _ratio_tone(value: float) -> str:
    return f"ratio{int(np.searchsorted(np.array(RATIO_STEPS) * (1 + 1e-9), value))}"


def _ratio_keys() -> list[Key]:
    ranges = [
        f"≤ {RATIO_STEPS[0]:g}",
        *(f"to {step:g}" for step in RATIO_STEPS[1:]),
        f"> {RATIO_STEPS[-1]:g}",
    ]
    return [Key(tone=f"ratio{i}", mark=text, meaning="") for i, text in enumerate(ranges)]
