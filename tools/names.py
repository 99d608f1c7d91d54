"""Names that say nothing: pronouns, determiners, prepositions and participles as the names of things.

    python tools/names.py               exit status 1, and a line for each name, where a file declares one
    python tools/names.py --count       how often each word occurs, with the pending ones, most frequent first
    python tools/names.py --pending     the tables of pending words and pairs, as the sources need them now
    python tools/names.py FILE...       only these files, with the pending words

``tools/forbidden_names.toml`` lists the words. Names of C and C++ come from ``c_names``, those of Python from
``python_names``, which also finds names of one module that differ only by an underscore or a plural.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from c_names import names_in_c
from python_names import names_in_python, similar_names

REPOSITORY = Path(__file__).resolve().parents[1]
LIST = REPOSITORY / "tools" / "forbidden_names.toml"

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

Names = Callable[[str], Iterator[tuple[int, str]]]
"""The names that a text declares or uses, each with its line."""


@dataclass(frozen=True)
class Language:
    """Files whose names are checked in the same way."""

    patterns: tuple[str, ...]
    """Patterns of ``git ls-files``."""
    names: Names
    similar_names: Callable[[str], Iterator[tuple[int, str, str]]] | None = None
    """Line, name, and the earlier name of the same file that it resembles too much."""


@dataclass(frozen=True)
class Fault:
    """A name that is refused."""

    path: str
    line: int
    name: str
    reason: str
    words: tuple[str, ...] = ()
    """The words of the name; empty if another name of the file is the reason."""


LANGUAGES = (
    Language(
        patterns=tuple(
            f"{folder}/*.{ending}"
            for folder in ("native", "simulator")
            for ending in ("c", "h", "cpp", "hpp", "def")
        ),
        names=names_in_c,
    ),
    Language(patterns=("*.py",), names=names_in_python, similar_names=similar_names),
)


class ForbiddenWords:
    """The list of words, and the judgement of a name by it."""

    def __init__(self, path: Path) -> None:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        self._kinds = {word: kind for kind, words in document["words"].items() for word in words.split()}
        self._nouns = set(document["allowed"].pop("nouns").split())
        self._allowed = set(document["allowed"])
        self._pending_words = _words_of_folders(document["pending"])
        self._pending_pairs = _words_of_folders(document["pending_pairs"])

    def words_of(self, name: str) -> tuple[str, ...]:
        """The words of a name if all of them are forbidden; otherwise an empty tuple."""
        bare = re.sub(r"^offbeat_", "", name.strip("_"), flags=re.IGNORECASE)
        parts = tuple(part.lower() for part in _PART.findall(bare))
        if not parts or "_".join(parts) in self._allowed or not all(self.kind(part) for part in parts):
            return ()
        return parts

    def is_pending(self, fault: Fault) -> bool:
        """Whether the list still permits the files of the fault's folder to contain such a name."""
        listed = self._pending_words if fault.words else self._pending_pairs
        permitted = set().union(
            *(words for folder, words in listed.items() if fault.path.startswith(f"{folder}/"))
        )
        return not permitted.isdisjoint(fault.words or (fault.name,))

    def kind(self, word: str) -> str | None:
        """What kind of word it is, in the plural; None if it is not forbidden."""
        if word in self._kinds:
            return self._kinds[word]
        is_participle = re.fullmatch(r"[a-z]{2,}(ed|ing)", word) and word not in self._nouns
        return "participles" if is_participle else None


def files(language: Language) -> list[Path]:
    """The files of a language that people of the project wrote."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *language.patterns]
    listed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    return [path for name in listed.splitlines() if (path := REPOSITORY / name).is_file()]


def faults(path: Path, language: Language, forbidden: ForbiddenWords) -> Iterator[Fault]:
    """Yields a fault for each occurrence of a refused name in a file, and for a refused name of the file."""
    text = path.read_text(encoding="utf-8")
    relative = str(path.relative_to(REPOSITORY))
    for line, name in [(1, path.stem), *language.names(text)]:
        if words := forbidden.words_of(name):
            kinds = " and ".join(sorted({str(forbidden.kind(word)) for word in words}))
            yield Fault(relative, line, name, f"consists of {kinds}", words)
    if language.similar_names:
        for line, name, earlier in language.similar_names(text):
            reason = f"differs from '{earlier}' only by underscores or a plural"
            yield Fault(relative, line, name, reason)


def pending_tables(refused: list[Fault]) -> str:
    """Returns the tables ``[pending]`` and ``[pending_pairs]`` that permit what is refused."""
    lines = []
    for title, is_pair in (("pending", False), ("pending_pairs", True)):
        folders: dict[str, set[str]] = defaultdict(set)
        for fault in refused:
            if bool(fault.words) is not is_pair:
                folders[_folder(fault.path)].add(fault.name if is_pair else fault.words[0])
        lines.append(f"[{title}]")
        for folder, words in sorted(folders.items()):
            text = " ".join(sorted(words))
            wrapped = textwrap.fill(text, 116, initial_indent="    ", subsequent_indent="    ")
            is_short = len(folder) + len(text) < 110
            lines.append(f'"{folder}" = "{text}"' if is_short else f'"{folder}" = """\n{wrapped}\n"""')
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Name each refused name once in each file, or count them."""
    forbidden = ForbiddenWords(LIST)
    requested_files = {Path(argument).resolve() for argument in arguments if not argument.startswith("-")}
    refused = [
        fault
        for language in LANGUAGES
        for path in files(language)
        if not requested_files or path in requested_files
        for fault in faults(path, language, forbidden)
    ]
    if "--count" in arguments:
        for word, count in Counter(" ".join(fault.words) for fault in refused if fault.words).most_common():
            print(f"{count:6} {word}")
        return 0
    if "--pending" in arguments:
        print(pending_tables(refused))
        return 0
    reported: set[tuple[str, str]] = set()
    for fault in refused:
        if (fault.path, fault.name) in reported or (not requested_files and forbidden.is_pending(fault)):
            continue
        reported.add((fault.path, fault.name))
        print(f"{fault.path}:{fault.line}: the name '{fault.name}' {fault.reason}")
    return 1 if reported else 0


def _folder(path: str) -> str:
    """Returns the folder that the list names for a file; the tests share one entry."""
    return "tests" if path.startswith("tests/") else str(Path(path).parent)


def _words_of_folders(table: dict[str, str]) -> dict[str, set[str]]:
    """Returns the words that a table of the list holds for each folder."""
    return {folder: set(words.split()) for folder, words in table.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
