"""Names that say nothing: pronouns, determiners, prepositions and participles as the names of things.

    python tools/names.py               exit status 1, and a line for each name, where a file declares one
    python tools/names.py --count       how often each word occurs, with the pending ones, most frequent first
    python tools/names.py FILE...       only these files, with the pending words

``tools/forbidden_names.toml`` lists the words. Names of C and C++ come from ``c_names``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from c_names import names_in_c

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


LANGUAGES = (
    Language(
        patterns=tuple(
            f"{folder}/*.{ending}"
            for folder in ("native", "simulator")
            for ending in ("c", "h", "cpp", "hpp")
        ),
        names=names_in_c,
    ),
)


class ForbiddenWords:
    """The list of words, and the judgement of a name by it."""

    def __init__(self, path: Path) -> None:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        self._kinds = {word: kind for kind, words in document["words"].items() for word in words.split()}
        self._nouns = set(document["allowed"].pop("nouns").split())
        self._allowed = set(document["allowed"])
        self._pending = {folder: set(words.split()) for folder, words in document["pending"].items()}

    def words_of(self, name: str) -> tuple[str, ...]:
        """The words of a name if all of them are forbidden; otherwise an empty tuple."""
        bare = re.sub(r"^offbeat_", "", name.strip("_"), flags=re.IGNORECASE)
        parts = tuple(part.lower() for part in _PART.findall(bare))
        if not parts or "_".join(parts) in self._allowed or not all(self.kind(part) for part in parts):
            return ()
        return parts

    def pending(self, path: str) -> set[str]:
        """The words that a file, named from the root of the repository, may still contain."""
        return set().union(
            *(words for folder, words in self._pending.items() if path.startswith(f"{folder}/"))
        )

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


def faults(
    path: Path, language: Language, forbidden: ForbiddenWords
) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Line, name and its words, of each name in a file that is refused, at each of its occurrences."""
    for line, name in language.names(path.read_text(encoding="utf-8")):
        if words := forbidden.words_of(name):
            yield line, name, words


def main(arguments: list[str]) -> int:
    """Name each refused name once in each file, or count them."""
    forbidden = ForbiddenWords(LIST)
    requested_files = {Path(argument).resolve() for argument in arguments if not argument.startswith("-")}
    refused = [
        (str(path.relative_to(REPOSITORY)), *fault)
        for language in LANGUAGES
        for path in files(language)
        if not requested_files or path in requested_files
        for fault in faults(path, language, forbidden)
    ]
    if "--count" in arguments:
        for word, count in Counter(" ".join(words) for _, _, _, words in refused).most_common():
            print(f"{count:6} {word}")
        return 0
    reported: set[tuple[str, str]] = set()
    for path, line, name, words in refused:
        if (path, name) in reported or (not requested_files and forbidden.pending(path).intersection(words)):
            continue
        reported.add((path, name))
        kinds = " and ".join(sorted({str(forbidden.kind(word)) for word in words}))
        print(f"{path}:{line}: the name '{name}' consists of {kinds}")
    return 1 if reported else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
