"""What the verbs that select have in common on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.completion import result_directories, words

ResultDirectory = Annotated[
    Path,
    typer.Argument(
        help="The result directory of a study or an import.", metavar="DIR", autocompletion=result_directories
    ),
]

Rule = Annotated[
    str,
    typer.Option(
        help="What makes an algorithm the choice: 'average' or 'worst' of the last delay relative to each"
        " pattern's fastest, 'scenario:NAME' for one scenario or replay, or 'no_delay'.",
        metavar="average|worst|scenario:NAME|no_delay",
        autocompletion=words("average", "worst", "scenario:", "no_delay"),
    ),
]

IncludeScenarios = Annotated[
    bool,
    typer.Option("--include-scenarios", help="Let 'average' and 'worst' look at scenarios and replays too."),
]

IncludeIndistinguishable = Annotated[
    bool,
    typer.Option(
        "--include-indistinguishable",
        help="Also choose algorithms that were set and computed right, but that nothing seen during the call"
        " told from another algorithm.",
    ),
]
