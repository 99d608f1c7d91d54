"""``offbeat compare``: what changed between two studies, or between two trials of a program."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli.completion import result_directories
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.selection_options import Rule

if TYPE_CHECKING:
    from offbeat.base.document.tables import Table
    from offbeat.tuning.comparison.differences import Difference
    from offbeat.tuning.comparison.studies import StudyComparison
    from offbeat.tuning.comparison.trials import TrialComparison

Measured = Annotated[
    Path,
    typer.Argument(
        help="A result directory, or a folder of 'offbeat try'.",
        metavar="DIR",
        autocompletion=result_directories,
    ),
]


def command(
    before: Measured,
    after: Measured,
    rule: Rule = "average",
    fail_above: Annotated[
        str,
        typer.Option(
            help="End with status 1 if anything is significantly slower by more than this share, such as 5%.",
            metavar="SHARE",
        ),
    ] = "",
    compared_at_least: Annotated[
        str,
        typer.Option(
            help="With --fail-above: end with status 1 as well if a smaller share of the cases of the study"
            " before was compared.",
            metavar="SHARE",
        ),
    ] = "90%",
    rows: Annotated[int, typer.Option(min=0, help="Limit on the rows of the table; 0: all.")] = 20,
    json: Json = "",
    all_notes: AllNotes = False,
) -> None:
    """Compare two measurements of the same: before and after an upgrade, two machines, two libraries.

    A difference is significant if it is larger than the errors of both measurements explain; of those called
    significant, at most 5% are expected to be chance.
    """
    from offbeat.measurement.results.read import read_study
    from offbeat.selection.choices.wording import parse_share
    from offbeat.tuning.comparison.studies import compare_studies
    from offbeat.tuning.comparison.trials import compare_trials
    from offbeat.tuning.trial.trial import TRIAL

    limit = parse_share(fail_above, "--fail-above") if fail_above else None
    least = parse_share(compared_at_least, "--compared-at-least")
    are_trials = [(folder / TRIAL).is_file() for folder in (before, after)]
    if are_trials[0] != are_trials[1]:
        raise BadInput(f"{before} and {after}: one is a trial and the other is not; give two of a kind")
    comparison: StudyComparison | TrialComparison
    if are_trials[0]:
        comparison = compare_trials(before, after)
        differences = [(one.choice, one.difference) for one in comparison.choices]
        table, sentences, planned_count = _trial_table(comparison), [], len(comparison.choices)
    else:
        comparison = compare_studies(read_study(before), read_study(after), rule)
        differences = [
            (f"{one.configuration}: {one.algorithm}, {one.pattern}", one.difference)
            for one in comparison.cases
        ]
        table, sentences = _study_table(comparison, rows), _choice_sentences(comparison, rule)
        planned_count = comparison.planned
    unit = "choices" if are_trials[0] else "cases"
    if prints_text(json):
        console = stdout()
        print_notes(console, comparison.notes, everything=all_notes)
        if table.rows:
            console.print(table.fit(console.width))
        for sentence in [_summary([one for _, one in differences], unit), *sentences]:
            console.print(sentence, markup=False)
    write_json(json, lambda: comparison)
    slower = [
        (name, one)
        for name, one in differences
        if limit is not None and one.is_significant and one.ratio - 1 > limit
    ]
    if slower:
        name, worst = max(slower, key=lambda item: item[1].ratio)
        raise RunFailed(
            f"{len(slower)} of {len(differences)} {unit} are significantly slower by more than"
            f" {fail_above}, most of all {name}: {worst.ratio - 1:+.1%}"
        )
    if limit is not None and len(differences) < least * planned_count:
        raise RunFailed(
            f"only {len(differences)} of the {planned_count} {unit} before were compared, less than"
            f" {compared_at_least} (--compared-at-least); the notes say what was left out"
        )


def _summary(all_differences: list[Difference], unit: str) -> str:
    significant = [one for one in all_differences if one.is_significant]
    slower = sum(one.ratio > 1 for one in significant)
    return (
        f"{len(significant)} of {len(all_differences)} {unit} differ significantly: {slower} slower,"
        f" {len(significant) - slower} faster."
    )


def _study_table(comparison: StudyComparison, most_rows: int) -> Table:
    """The significant changes, the largest first."""
    from offbeat.base.document.tables import Table

    changed_cases = sorted(
        (one for one in comparison.cases if one.difference.is_significant),
        key=lambda one: -max(one.difference.ratio, 1 / one.difference.ratio),
    )
    shown_cases = changed_cases[:most_rows] if most_rows else changed_cases
    return Table(
        title="Last delays that changed",
        headings=["configuration", "algorithm", "pattern", *_HEADINGS],
        rows=[
            [str(one.configuration), one.algorithm, one.pattern, *_cells(one.difference)]
            for one in shown_cases
        ],
        texts=(0, 1, 2),
        spare=(6,),
    )


def _trial_table(comparison: TrialComparison) -> Table:
    from offbeat.base.document.tables import Table

    return Table(
        title="Run times",
        headings=["choice", "runs", *_HEADINGS],
        rows=[
            [one.choice, f"{one.runs[0]}, {one.runs[1]}", *_cells(one.difference)]
            for one in comparison.choices
        ],
    )


_HEADINGS = ("before", "after", "change", "95% interval", "chance")


def _cells(difference: Difference) -> list[str]:
    from offbeat.base.units import format_time

    unknown = math.isnan(difference.chance)
    return [
        format_time(difference.before_s, 3),
        format_time(difference.after_s, 3),
        f"{difference.ratio - 1:+.1%}",
        "–" if unknown else f"{difference.low - 1:+.1%} to {difference.high - 1:+.1%}",
        "–" if unknown else f"{difference.chance:.1%}" if difference.chance >= 0.001 else "< 0.1%",
    ]


def _choice_sentences(comparison: StudyComparison, rule: str) -> list[str]:
    if not comparison.configurations:
        return []
    lines = [
        f"The rule {rule} chooses another algorithm for {len(comparison.choices)} of"
        f" {comparison.configurations} configurations."
    ]
    changed_configurations = {one.configuration for one in comparison.cases if one.difference.is_significant}
    lines += [
        f"  {one.configuration}: {one.before} → {one.after}"
        + (
            ""
            if one.configuration in changed_configurations
            else " (none of its cases differs significantly)"
        )
        for one in comparison.choices
    ]
    return lines
