"""``offbeat pattern``: make, show and check arrival patterns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, format_time, parse_time
from offbeat.cli.completion import one_of
from offbeat.model.pattern import SHAPE_NAMES

if TYPE_CHECKING:
    from offbeat.model.pattern.pattern_file import Pattern
    from offbeat.model.pattern.replay_file import Replay

app = typer.Typer(help="Make, show and check arrival patterns.", no_args_is_help=True, rich_markup_mode=None)

Processes = Annotated[int, typer.Option("--p", help="Number of processes: the number of lines of the file.")]
Skew = Annotated[str, typer.Option("--skew", help="The largest delay: seconds, or a time such as '100 us'.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the shapes 'random' and 'noise'.")]
Ppn = Annotated[int, typer.Option("--ppn", help="Processes per node, placed in blocks; for 'node_delayed'.")]


def _skew_s(text: str) -> float:
    try:
        return parse_time(text)
    except BadInput as error:
        raise BadInput(f"--skew: {error}") from None


@app.command("make")
def make_pattern(
    shape: Annotated[
        str,
        typer.Argument(
            help=f"The shape: {', '.join(SHAPE_NAMES)}.", metavar="SHAPE", autocompletion=one_of(*SHAPE_NAMES)
        ),
    ],
    p: Processes,
    skew: Skew,
    seed: Seed = 1,
    ppn: Ppn = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output if not given.")
    ] = None,
) -> None:
    """Write a shape as a pattern file: one delay in seconds per line; line i is for rank i."""
    from offbeat.model.pattern import pattern_file

    pattern_file.check_size(output or Path("the pattern file"), p)
    pattern = pattern_file.shape_pattern(shape, p, _skew_s(skew), seed=seed, ppn=ppn)
    if output is None:
        sys.stdout.write(pattern_file.text(pattern))
    else:
        pattern_file.write(output, pattern)


@app.command("show")
def show_patterns(
    patterns: Annotated[
        list[str],
        typer.Argument(
            help="Pattern files, replay files (*.replay) or shapes; give a file that is named like"
            " a shape as ./NAME.",
            metavar="FILE|SHAPE...",
        ),
    ],
    p: Annotated[int, typer.Option("--p", help="Number of processes for shapes.")] = 32,
    skew: Annotated[
        str, typer.Option("--skew", help="The largest delay for shapes: seconds, or a time such as '100 us'.")
    ] = "100 us",
    seed: Seed = 1,
    ppn: Ppn = 0,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Picture to write as well: a .png, .svg or .pdf file.")
    ] = None,
) -> None:
    """Draw patterns in the terminal and, with --picture, as a picture."""
    from rich.console import Console

    from offbeat.model.pattern import replay_file

    loaded_patterns = [
        replay_file.file_or_shape(name, p, _skew_s(skew), seed=seed, ppn=ppn) for name in patterns
    ]
    console = Console(highlight=False, soft_wrap=True)
    blocks = console.encoding.lower().startswith("utf")
    for pattern in loaded_patterns:
        console.print("\n".join(_bars(pattern, console.width, blocks)), markup=False)
    if picture is not None:
        from offbeat.presentation.pictures.pattern import picture as draw_picture  # matplotlib loads slowly

        draw_picture(loaded_patterns, picture)
        console.print(f"wrote {picture}", markup=False)


def _bars(pattern: Pattern | Replay, width: int, blocks: bool) -> list[str]:
    from offbeat.model.pattern.replay_file import Replay
    from offbeat.presentation.drawing import terminal_bars

    if isinstance(pattern, Replay):
        return terminal_bars.replay_bars(pattern, width=width, blocks=blocks)
    return terminal_bars.bars(pattern, width=width, blocks=blocks)


@app.command("check")
def check_pattern(
    path: Annotated[
        Path, typer.Argument(help="The pattern file, or replay file (*.replay).", metavar="FILE")
    ],
    p: Annotated[
        int | None, typer.Option("--p", min=1, help="Number of processes that the file must be for.")
    ] = None,
) -> None:
    """Check that a pattern file is valid; print its number of processes and its skew."""
    from offbeat.model.pattern import replay_file
    from offbeat.model.pattern.replay_file import Replay
    from offbeat.presentation.drawing import terminal_bars

    pattern = replay_file.read_any(path, p, partitions=None)
    if isinstance(pattern, Replay):
        _check_replay(pattern)
        return
    print(terminal_bars.summary(pattern))
    if pattern.shifted_by_s:
        _warn(
            f"the smallest delay is {format_time(pattern.shifted_by_s)}, not 0; it is subtracted from every"
            " delay when the file is used"
        )
    if pattern.skew_s == 0 and pattern.p > 1:
        _warn("no rank is later than another; this is the shape no_delay")


def _check_replay(replay: Replay) -> None:
    from offbeat.presentation.drawing import terminal_bars

    print(terminal_bars.replay_summary(replay))
    if replay.shifted:
        _warn(
            f"the smallest delay of {amount(replay.shifted, 'call')} is not 0; it is subtracted from the"
            " call's every delay when the file is used"
        )
    if not replay.delays_s.any() and replay.p > 1:
        _warn("no rank is ever later than another; each call is the shape no_delay")


def _warn(sentence: str) -> None:
    print(f"warning: {sentence}", file=sys.stderr)
