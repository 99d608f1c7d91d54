"""Command line options of the verbs that select."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.completion import one_of, result_directories

ResultDirectory = Annotated[
    Path,
    typer.Argument(
        help="The result directory of a study or an import.", metavar="DIR", autocompletion=result_directories
    ),
]

ResultDirectories = Annotated[
    list[Path],
    typer.Argument(
        help="The result directories of one study, or of several of the same library with different"
        " configurations.",
        metavar="DIR...",
        autocompletion=result_directories,
    ),
]

Rule = Annotated[
    str,
    typer.Option(
        help="What makes an algorithm the choice: 'average' or 'worst' of the last delay relative to each"
        " pattern's fastest, 'scenario:NAME' for one scenario or replay, 'no_delay', or 'recorded' for all"
        " scenarios and replays (the shapes, if there are none).",
        metavar="average|worst|scenario:NAME|no_delay|recorded",
        autocompletion=one_of("average", "worst", "scenario:", "no_delay", "recorded"),
    ),
]

IncludeScenarios = Annotated[
    bool,
    typer.Option("--include-scenarios", help="Include scenarios and replays in 'average' and 'worst'."),
]

IncludeIndistinguishable = Annotated[
    bool,
    typer.Option(
        "--include-indistinguishable",
        help="Also choose algorithms that ran without an error, but cannot be distinguished from another"
        " algorithm.",
    ),
]

SameBits = Annotated[
    bool,
    typer.Option(
        "--same-bits",
        help="Leave out rules that can change the bits of floating-point results: those of reductions whose"
        " sums differed from the default's in the proofs, or were not compared.",
    ),
]
