"""The directory of a knowledge base, which a centre keeps in git:

- ``site.json``: the version of the format, which marks the directory;
- ``LIBRARY/NAME.jsonl``: an entry (:mod:`offbeat.tuning.site.entry`) in the folder of its library, such as
  ``openmpi-4.1.4``;
- ``LIBRARY/tuning/``: the tuning files that ``offbeat site export`` writes.

Each change replaces one file as a whole, and one command at a time changes the directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.campaign import durable
from offbeat.base.campaign.directory import DirectoryFormat, decode_head, make_directory
from offbeat.base.campaign.lock import LOCK, locked_while_opening
from offbeat.base.errors import BadInput
from offbeat.base.reading import RESULT_BYTES, file_name, read_file
from offbeat.tuning.site.entry import Entry, parse, text

VARIABLE = "OFFBEAT_SITE"
"""The environment variable that names the directory where ``--site`` does not."""

DEFAULT_DIRECTORY = Path("offbeat-site")
SUFFIX = ".jsonl"
IGNORED = ".gitignore"

FORMAT = DirectoryFormat(
    holds="a knowledge base of offbeat",
    creation_commands="'offbeat site add'",
    head="site.json",
    version_key="site_version",
    version=1,
)


class Site(Struct, frozen=True, kw_only=True):
    """The entries of a knowledge base, ordered by library and name."""

    directory: Path
    entries: list[Entry]

    @property
    def libraries(self) -> list[str]:
        """The names of the libraries, such as ``openmpi-4.1.4``."""
        return list(dict.fromkeys(entry.library_name for entry in self.entries))

    def of_library(self, name: str) -> list[Entry]:
        """The entries of one library."""
        return [entry for entry in self.entries if entry.library_name == name]

    def named(self, name: str, library: str = "") -> Entry:
        """The entry of a name, or of ``LIBRARY/NAME``; raises :class:`BadInput` unless there is one."""
        library, _, name = name.rpartition("/") if "/" in name else (library, "", name)
        found = [one for one in self.entries if one.name == name and library in ("", one.library_name)]
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(f"{one.library_name}/{one.name}" for one in found)
            raise BadInput(f"several libraries have an entry '{name}': write one of {choices}")
        known = ", ".join(dict.fromkeys(one.name for one in self.entries)) or "none"
        raise BadInput(f"{self.directory} has no entry '{name}'; its entries are {known}")


def read_site(directory: Path) -> Site:
    """Read a knowledge base; raises :class:`BadInput` if it is none, or is damaged (with file and line)."""
    decode_head(directory, FORMAT)
    try:
        paths = sorted(directory.glob(f"*/*{SUFFIX}"))
        entries = [_read(path) for path in paths]
    except OSError as error:
        raise BadInput(f"cannot read {error.filename or directory}: {error.strerror}") from error
    return Site(directory=directory, entries=entries)


def _read(path: Path) -> Entry:
    entry = parse(read_file(path, RESULT_BYTES), path)
    if (entry.library_name, entry.name) != (path.parent.name, path.stem):
        raise BadInput(
            f"{path} holds the entry {entry.library_name}/{entry.name}{SUFFIX}: give it that name again"
        )
    return entry


def is_library_folder(path: Path) -> bool:
    """Whether a path is the folder of a library in a knowledge base."""
    return (path.absolute().parent / FORMAT.head).is_file()


@contextmanager
def changing(directory: Path, *, create: bool = False) -> Iterator[Site]:
    """The knowledge base, which no other command changes meanwhile.

    ``create`` makes a new one. Raises :class:`BadInput` for a directory that holds anything else, and
    :class:`RunFailed` if another command is changing it.
    """
    has_head = make_directory(directory, FORMAT) if create else bool(decode_head(directory, FORMAT))
    with locked_while_opening(directory) as lock:
        if not has_head and not (directory / FORMAT.head).exists():
            head = msgspec.json.encode({FORMAT.version_key: FORMAT.version})
            durable.write_durably(directory / FORMAT.head, head + b"\n")
        if create and not (directory / IGNORED).exists():
            durable.write_durably(
                directory / IGNORED, f"{LOCK}\nlogs/\n*{durable.TEMPORARY_SUFFIX}\n".encode()
            )
        yield read_site(directory)
    lock.release()


def write_entry(site: Site, entry: Entry) -> Path:
    """Write an entry, in place of an older one of its name; raises :class:`RunFailed` for a full disk."""
    path = _path(site, entry)
    try:
        path.parent.mkdir(exist_ok=True)
        durable.write_durably(path, text(entry))
    except OSError as error:
        raise durable.disk_failure(path, error) from error
    return path


def remove_entry(site: Site, entry: Entry) -> Path:
    """Delete an entry; raises :class:`BadInput` if that is not allowed."""
    path = _path(site, entry)
    try:
        path.unlink()
    except OSError as error:
        raise durable.unwritable(site.directory, error) from error
    return path


def _path(site: Site, entry: Entry) -> Path:
    folder = file_name(entry.library_name, "the entry's library")
    return site.directory / folder / file_name(f"{entry.name}{SUFFIX}", "the entry's name")
