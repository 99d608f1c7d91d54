"""Settings of users and sites by which Open MPI chooses algorithms, and the files that hold such settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from offbeat.libraries.installations.installation import Installation

PREFIX = "OMPI_MCA_"
"""What a parameter's name has before it in the environment."""

_CHOICE = re.compile(r"coll_(tuned|han)_(?!priority$|verbose$)\w+")
"""Parameters of the components that choose algorithms; not which component is used, as for the transport."""

_LIST = f"{PREFIX}mca_base_env_list"
"""A variable that holds further variables."""

_NEUTRAL = {
    "_algorithm": "0",
    "_filename": "",
    "_dynamic_rules": "0",
    "_dynamic_file_rules": "0",
    "_segmentsize": "0",
    "_max_requests": "0",
    "_fanout": "4",
    "_radix": "4",
    "_segsize": "65536",
    "_global_communicator_module": "6",
}
"""Ends of parameters' names, and the values that they have where nobody sets them (4.1.4 and 5.0.11)."""


def chooses_algorithms(name: str, value: str) -> bool:
    """See :class:`offbeat.libraries.families.library.Library`."""
    if name == _LIST:
        return f"{PREFIX}coll_" in value
    return name.startswith(PREFIX) and _CHOICE.fullmatch(name.removeprefix(PREFIX)) is not None


def forces_algorithms(name: str) -> bool:
    """See :class:`offbeat.libraries.families.library.Library`."""
    return name == _LIST or name.endswith(("_algorithm", "_dynamic_rules_filename"))


def neutral_value(name: str) -> str | None:
    """See :class:`offbeat.libraries.families.library.Library`."""
    return next((value for end, value in _NEUTRAL.items() if name.endswith(end)), None)


def parameter_files(installation: Installation, environ: Mapping[str, str]) -> list[Path]:
    """The files of the user and of the site, and those that the environment names.

    Open MPI 5 also obeys the file of its PMIx library in the home directory. Debian keeps the files of a
    library below /usr in /etc.
    """
    home = Path(environ.get("HOME", "/"))
    names = [environ.get(f"{PREFIX}{key}", "") for key in ("mca_base_param_files", "mca_param_files")]
    environment_files = [
        Path(name) for names_of_key in names for name in re.split("[:,]", names_of_key) if name
    ]
    of_users = [home / ".openmpi/mca-params.conf"]
    if installation.is_at_least(5):
        of_users.append(home / ".pmix/mca-params.conf")
    folders = [installation.prefix / "etc"]
    if installation.prefix == Path("/usr"):
        folders = [Path("/etc/openmpi")]
    return [*environment_files, *of_users, *(folder / "openmpi-mca-params.conf" for folder in folders)]
