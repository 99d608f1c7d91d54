"""``offbeat site``: a centre's knowledge base, from which one tuning file for a library is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import amount
from offbeat.cli.completion import libraries, result_directories
from offbeat.cli.export import Kind, print_use
from offbeat.cli.output import (
    AllNotes,
    Json,
    check_outputs,
    print_notes,
    print_sentences,
    prints_text,
    stdout,
    write_json,
)
from offbeat.cli.selection_options import Rule

if TYPE_CHECKING:
    from rich.console import Console

    from offbeat.libraries.installations.installation import Installation
    from offbeat.selection.tuning_files.tuning_plan import TuningPlan
    from offbeat.tuning.site.decide import Calls
    from offbeat.tuning.site.directory import Site
    from offbeat.tuning.site.merge import Merged

app = typer.Typer(
    help="Keep a centre's measurements as text; write one tuning file from them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SiteDirectory = Annotated[
    Path | None,
    typer.Option(
        "--site",
        help="The knowledge base. [default: the environment variable OFFBEAT_SITE, or offbeat-site]",
        metavar="DIR",
    ),
]
Library = Annotated[
    str, typer.Option("--library", help="The library, as 'list' names it.", metavar="NAME-VERSION")
]


@app.command("add")
def add_entry(
    results: Annotated[
        Path,
        typer.Argument(
            help="The result directory of a study, or the directory of 'offbeat tune'.",
            metavar="RESULTS",
            autocompletion=result_directories,
        ),
    ],
    weight: Annotated[
        float | None,
        typer.Option(
            help="How much it is used: of a tuned program, its core-hours a month; of a study, the core-hours"
            " a month in its calls. 0: keep it, but do not use it. [default: 1, or that of the entry]",
            metavar="CORE_HOURS",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="The name of the entry. [default: that of the program or directory]")
    ] = "",
    site: SiteDirectory = None,
) -> None:
    """Add the results of a study or of 'offbeat tune'.

    Newer results of the same study or program replace older ones; the same ones change nothing.
    """
    from offbeat.tuning.site.add import ADDED, OLDER, REPLACED, REWEIGHTED, UNCHANGED, add
    from offbeat.tuning.site.collect import collect
    from offbeat.tuning.site.tables import configuration_count

    if weight is not None and not 0 <= weight < float("inf"):
        raise BadInput(f"--weight {weight:g}: write a number of 0 or more, such as the core-hours a month")
    collection = collect(results, name, weight)
    outcome, entry = add(_directory(site), collection.entry, keep_weight=weight is None)
    entry_path = f"{_directory(site) / entry.library_name / entry.name}.jsonl"
    configurations_text = f"{amount(configuration_count(entry), 'configuration')}, weight {entry.weight:g}"
    sentences = {
        ADDED: f"{entry_path}: added, {configurations_text}",
        REPLACED: f"{entry_path}: replaced by newer measurements, {configurations_text}",
        REWEIGHTED: f"{entry_path}: the weight is now {entry.weight:g}",
        UNCHANGED: f"{entry_path}: nothing changed, these results are there already",
        OLDER: f"{entry_path}: nothing changed, it has a newer measurement of this study",
    }
    console = stdout()
    console.print(sentences[outcome], markup=False)
    print_notes(console, [*collection.notes, *entry.origin.warnings], everything=True)


@app.command("list")
def list_entries(site: SiteDirectory = None, json: Json = "") -> None:
    """List the entries: library, weight, date, program."""
    from rich.console import Console

    from offbeat.tuning.site.directory import read_site
    from offbeat.tuning.site.document import site_document
    from offbeat.tuning.site.tables import entries_table

    content = read_site(_directory(site))
    if prints_text(json):
        if not content.entries:
            print(f"{content.directory} has no entries; 'offbeat site add RESULTS' adds one")
        else:
            Console(highlight=False).print(entries_table(content.entries))
    write_json(json, lambda: site_document(content))


@app.command("show")
def show(
    name: Annotated[
        str, typer.Argument(help="Only what this entry supports, and where it comes from.", metavar="[NAME]")
    ] = "",
    rule: Rule = "recorded",
    library: Library = "",
    site: SiteDirectory = None,
    all_notes: AllNotes = False,
) -> None:
    """Show what each rule of the tuning file rests on.

    Also shows which calls are left to the library, and why, and conflicts between entries.
    """
    from rich.console import Console

    from offbeat.tuning.site.directory import read_site
    from offbeat.tuning.site.merge import merge, plan
    from offbeat.tuning.site.tables import basis_table, chosen_by, entries_table, kept_table, source_lines

    content = read_site(_directory(site))
    entry = content.named(name, library) if name else None
    merge_of_entries = merge(content, entry.library_name if entry else _only_library(content, library), rule)
    tuning_plan: TuningPlan | None
    try:
        tuning_plan = plan(merge_of_entries)
    except RunFailed:  # every call is left to the library; the second table says why
        tuning_plan = None
    if entry is not None:
        merge_of_entries = _of_entry(merge_of_entries, entry.name)
    console = Console(highlight=False)
    console.print(entries_table([entry] if entry else merge_of_entries.entries))
    print_sentences(console, *(source_lines(entry) if entry else ()))
    choice_of_calls = chosen_by(tuning_plan)
    for table in (
        basis_table(merge_of_entries, choice_of_calls),
        kept_table(merge_of_entries, choice_of_calls),
    ):
        if table.row_count:
            console.print()
            console.print(table)
    _print_conflicts(console, merge_of_entries, choice_of_calls)
    notes = [*merge_of_entries.left_out, *(tuning_plan.notes if tuning_plan else [])]
    print_notes(stdout(), notes, everything=all_notes, word="Note")


@app.command("export")
def export(
    rule: Rule = "recorded",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to write into. [default: SITE/LIBRARY/tuning]"),
    ] = None,
    format_version: Annotated[
        int | None, typer.Option("--format", min=1, max=2, help="Open MPI's file format, as for 'export'.")
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi",
            help="The MPI installation to write for; its version selects the entries. [default: that of the"
            " only library of the knowledge base]",
            metavar="PREFIX",
            autocompletion=libraries,
        ),
    ] = "",
    allowed: Annotated[
        list[Kind] | None,
        typer.Option("--allow-wrong-results", help="As for 'offbeat export'; may be given several times."),
    ] = None,
    beyond: Annotated[
        float | None,
        typer.Option(min=1.0, max=1024.0, help="As for 'offbeat export'.", metavar="FACTOR"),
    ] = None,
    site: SiteDirectory = None,
    json: Json = "",
    all_notes: AllNotes = False,
) -> None:
    """Write one tuning file from all entries of a library.

    Shows conflicts between entries, what is used, and what the other choices would cost.
    """
    from rich.console import Console

    from offbeat.libraries.installations import find
    from offbeat.selection.choices.coverage import EXTENSION
    from offbeat.selection.tuning_files.export import (
        environment_notes,
        installation_for,
        measured_library,
        write,
    )
    from offbeat.selection.tuning_files.manifest import FOLDER, write_manifest
    from offbeat.tuning.site.directory import read_site
    from offbeat.tuning.site.document import export_document
    from offbeat.tuning.site.merge import merge, plan
    from offbeat.tuning.site.tables import chosen_by

    check_outputs(json)
    content = read_site(_directory(site))
    library = _version_of(find.choose(mpi)) if mpi else _only_library(content, "", "--mpi PREFIX")
    merge_of_entries = merge(content, library, rule)
    tuning_plan = plan(merge_of_entries, [kind.value for kind in allowed or []], beyond or EXTENSION)
    installation = installation_for(tuning_plan, measured_library(merge_of_entries.results.provenance), mpi)
    folder = output or content.directory / library / FOLDER
    files = write(tuning_plan, installation, folder, format_version)
    write_manifest(files, rule, installation, folder)
    if prints_text(json):
        console = stdout()
        names = ", ".join(entry.name for entry in merge_of_entries.entries)
        heading = f"{amount(len(files.rules), 'rule')}, written for {installation.name} from {names}:"
        for line in (heading, *(f"  {path}" for path in files.files)):
            console.print(line, markup=False)
        _print_conflicts(Console(highlight=False), merge_of_entries, chosen_by(tuning_plan))
        print_use(console, files.usage, tuning_plan.extent)
        option = f" --tuning {output}" if output else ""
        console.print(f"Next: offbeat verify {content.directory / library}{option}", markup=False)
        for sentence in files.wrong_result_warnings:
            console.print(f"Warning: {sentence}", markup=False)
        other_libraries = _other_libraries(content, library)
        notes = [
            *merge_of_entries.left_out,
            *other_libraries,
            *files.notes,
            *environment_notes(merge_of_entries.results),
        ]
        print_notes(console, notes, everything=all_notes, word="Note")
    write_json(json, lambda: export_document(merge_of_entries, chosen_by(tuning_plan), files.files))


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The entry, or LIBRARY/NAME.", metavar="NAME")],
    site: SiteDirectory = None,
) -> None:
    """Remove an entry."""
    from offbeat.tuning.site.directory import changing, remove_entry

    with changing(_directory(site)) as content:
        path = remove_entry(content, content.named(name))
    print(f"{path}: removed")


def _directory(option: Path | None) -> Path:
    """The knowledge base: of the option, of the environment, or the default."""
    from offbeat.tuning.site.directory import DEFAULT_DIRECTORY, VARIABLE

    return option or Path(os.environ.get(VARIABLE) or DEFAULT_DIRECTORY)


def _only_library(site: Site, name: str, option: str = "--library NAME-VERSION") -> str:
    """The requested library, or the only one; raises :class:`BadInput` if there are several, or none."""
    if name or len(site.libraries) == 1:
        return name or site.libraries[0]
    if not site.libraries:
        raise BadInput(f"{site.directory} has no entries; 'offbeat site add RESULTS' adds one")
    raise BadInput(
        f"{site.directory} has entries of {', '.join(site.libraries)}, and a tuning file is for one library;"
        f" choose with {option}"
    )


def _version_of(installation: Installation) -> str:
    """The name that a knowledge base has for the library of an installation."""
    from offbeat.tuning.site.entry import library_name

    return library_name({"family": installation.family, "version": installation.version})


def _of_entry(merge_of_entries: Merged, name: str) -> Merged:
    """What an entry has a part in."""
    from msgspec.structs import replace

    decisions = [one for one in merge_of_entries.decisions if any(vote.entry == name for vote in one.votes)]
    return replace(merge_of_entries, decisions=decisions)


def _print_conflicts(
    console: Console, merge_of_entries: Merged, choice_of_calls: Mapping[Calls, str]
) -> None:
    from offbeat.tuning.site.tables import conflict_summary, conflicts_table

    if merge_of_entries.conflicts:
        console.print()
        console.print(conflicts_table(merge_of_entries.conflicts, choice_of_calls))
    print_sentences(console, conflict_summary(merge_of_entries))


def _other_libraries(site: Site, library: str) -> list[str]:
    """A sentence on the entries of other libraries."""
    entry_names = [f"{one.library_name}/{one.name}" for one in site.entries if one.library_name != library]
    if not entry_names:
        return []
    return [f"Not merged, as a tuning file is for one version of one library: {', '.join(entry_names)}."]
