"""How tuning files are enabled: for one job, for all jobs of a user, for a whole site."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import Struct

from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation
from offbeat.selection.tuning_files.manifest import TuningFiles


class Deployment(Struct, frozen=True, kw_only=True):
    """A place for settings, and what to write there."""

    title: str
    text: str


def deployments(tuning: TuningFiles, installation: Installation, p: int) -> list[Deployment]:
    """The ways to enable tuning files for launches of ``p`` processes."""
    library, variables = library_of(installation), tuning.environment_for(p)
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    modules = "\n".join(f'setenv("{name}", "{value}")' for name, value in variables.items())
    ways = [Deployment(title="One job: in its script, before the launch", text=exports)]
    if library.parameter_file:
        prefix = library.environment_prefix
        lines = [f"{name.removeprefix(prefix)} = {value}" for name, value in variables.items()]
        ways += [
            Deployment(title=f"All jobs of a user: in ~/{library.parameter_file[0]}", text="\n".join(lines)),
            Deployment(
                title=f"A whole site: in {installation.prefix}/{library.parameter_file[1]}, with the files in"
                " a folder that all users can read",
                text="\n".join(lines),
            ),
        ]
    else:
        ways.append(Deployment(title="All jobs of a user: in ~/.profile", text=exports))
    module = "A whole site: in a module file (Lmod), with the files in a folder that all users can read"
    return [*ways, Deployment(title=module, text=modules)]


def moved_note(tuning: TuningFiles) -> str:
    """What to consider when files are copied elsewhere."""
    names: Sequence[str] = [str(path) for path in tuning.files]
    return (
        f"The variables name {', '.join(names)}: copy the files to a place that remains, and adapt the paths."
    )
