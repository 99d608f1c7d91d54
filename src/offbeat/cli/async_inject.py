"""``offbeat async inject``: run a program with and without delays of its processes, in turn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.completion import functions
from offbeat.cli.output import Json, echo, prints_text, stdout, write_json
from offbeat.cli.trace_run import ComparedTime, ProgramCommand, ProgramMpi

if TYPE_CHECKING:
    from offbeat.libraries.installations.installation import Installation
    from offbeat.tuning.trial.delays import DelayPlan, DelayVariant
    from offbeat.tuning.trial.document import InjectionDocument
    from offbeat.tuning.trial.trial import Run, Settings


class When(StrEnum):
    """Before or after the call."""

    before = "before"
    after = "after"


class Distribution(StrEnum):
    """How long delays are."""

    fixed = "fixed"
    exponential = "exponential"


def command(
    arguments: ProgramCommand,
    call: Annotated[
        str,
        typer.Option(
            help="The function whose calls are delayed, such as MPI_Allreduce or MPI_Waitall; MPI_Pcontrol:"
            " its calls with level 2, which begin an iteration.",
            metavar="FUNCTION",
            autocompletion=functions,
        ),
    ],
    delay: Annotated[str, typer.Option(help="The time of a delay, such as '500 us'.", metavar="TIME")],
    ranks: Annotated[
        str,
        typer.Option(
            help="Which ranks: random:N (N random ones each time), each-domain (a random one of each memory"
            " domain), all, or a list such as 0-3,8.",
            metavar="RANKS",
        ),
    ] = "random:1",
    every: Annotated[
        str,
        typer.Option(
            help="At every k-th call of each rank; several numbers, such as 4,20,100, are compared.",
            metavar="K,...",
        ),
    ] = "1",
    when: Annotated[When, typer.Option(help="Before or after the call.")] = When.after,
    distribution: Annotated[
        Distribution, typer.Option(help="Delays of this time, or exponential ones with this mean.")
    ] = Distribution.fixed,
    first: Annotated[int, typer.Option(help="The first call that may be delayed.", metavar="CALL")] = 1,
    last: Annotated[int, typer.Option(help="The last one; 0: the program's last.", metavar="CALL")] = 0,
    rounds: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of runs of each variant; more can be added later.")
    ] = 5,
    time: ComparedTime = "",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for runs and reports.", metavar="DIR")
    ] = Path("offbeat-inject"),
    mpi: ProgramMpi = "auto",
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Seed of random delays and of the order within rounds.")
    ] = 1,
    json: Json = "",
) -> None:
    """Delay chosen processes of an unmodified program at chosen MPI calls, and see what that costs or gains.

    The program runs without delays and with those of each number of --every, in turn. A delayed process
    computes for the time of the delay, without memory traffic. Each run proves that its delays happened.

    If interrupted, the same command resumes the experiment and repeats no run.
    """
    from offbeat.libraries.launch.launch_words import process_count
    from offbeat.trace import recording
    from offbeat.tuning.trial import delays, trial
    from offbeat.tuning.trial.standard_input import kept_standard_input

    plan = delays.DelayPlan(
        call=call,
        delay_s=delays.parse_delay(delay),
        distribution=distribution.value,
        when=when.value,
        ranks=ranks,
        every=delays.parse_every(every),
        first=first,
        last=last,
        seed=seed,
    )
    pattern = trial.parse_pattern(time)
    trial.check_command(arguments)
    recording.check_command(arguments)
    delays.check_plan(plan, process_count(arguments))
    installation = recording.find_installation(mpi, arguments)
    variants = delays.variants(plan, recording.preload(recording.tracer_library(installation, echo)))
    standard_input = kept_standard_input()
    settings = _settings(arguments, installation, time, plan, variants, standard_input.digest)
    if prints_text(json):
        from offbeat.tuning.trial.delay_effects import tried_lines

        stdout().print(*tried_lines(variants), sep="\n", markup=False)
    with trial.Journal(output, settings, trial.INJECTION_FORMAT) as journal:
        with trial.TrialProgress() as progress:
            traced_command = trial.Command(
                argv=arguments, installation=installation, standard_input=standard_input
            )
            trial.run_all(journal, traced_command, variants, rounds, seed, pattern, progress)
        runs = trial.complete_runs(journal, [one.name for one in variants])
        times_s = trial.times(journal, [one.name for one in variants])
    if prints_text(json):
        _report(runs, times_s)
    write_json(json, lambda: _document(settings, plan, runs, times_s))


def _settings(
    arguments: Sequence[str],
    installation: Installation,
    time: str,
    plan: DelayPlan,
    variants: Sequence[DelayVariant],
    standard_input: str,
) -> Settings:
    from offbeat.tuning.trial.trial import Setting, Settings

    return Settings(
        command=list(arguments),
        library=f"{installation.version_text} ({installation.library})",
        folder=os.getcwd(),  # noqa: PTH109 - must not resolve symbolic links
        time=time,
        seed=plan.seed,
        choices=[Setting(name=one.name, same_as="", rules=[one.described]) for one in variants],
        standard_input=standard_input,
    )


def _report(runs: Mapping[str, Sequence[Run]], times_s: Mapping[str, Sequence[float]]) -> None:
    from offbeat.tuning.trial import wording
    from offbeat.tuning.trial.comparison import compare
    from offbeat.tuning.trial.delay_effects import delay_effects, effect_table
    from offbeat.tuning.trial.delays import NONE

    console = stdout()
    console.print()
    console.print(wording.time_table(times_s, {}, noun="variant", reference=NONE).fit(console.width))
    console.print()
    console.print(effect_table(delay_effects(runs)).fit(console.width))
    console.print()
    sentences = wording.verdict_sentences(compare(times_s), {}, noun="variant", experiment="experiment")
    console.print(*sentences, sep="\n", markup=False)


def _document(
    settings: Settings,
    plan: DelayPlan,
    runs: Mapping[str, Sequence[Run]],
    times_s: Mapping[str, Sequence[float]],
) -> InjectionDocument:
    from offbeat.tuning.trial.comparison import compare
    from offbeat.tuning.trial.delay_effects import delay_effects
    from offbeat.tuning.trial.document import InjectionDocument

    return InjectionDocument(
        settings=settings, plan=plan, times_s=times_s, delays=delay_effects(runs), verdict=compare(times_s)
    )
