"""Words that the project no longer uses, in names and in prose: the lint that keeps them out.

    python tools/words.py               exit status 1, and a line a place, where a removed word is back
    python tools/words.py --count       how often each word of the list occurs, in names and in prose

``tools/removed_words.toml`` lists them with what to write instead. ``[names]`` holds parts of identifiers
("told" forbids ``told``, ``told_ranks`` and ``ToldRanks``), which are looked for in code outside of comments
and strings.
``[phrases]`` holds words of comments, docstrings, messages and pages, whatever their case.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LIST = REPOSITORY / "tools" / "removed_words.toml"
CODE = {".py", ".c", ".h", ".cpp", ".hpp", ".sh"}
PROSE = CODE | {".md", ".toml", ".txt", ".html", ".j2"}

_PYTHON_TEXT = (
    r'(?:\b[rbfRBF]{1,2})?(?:"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')|#[^\n]*'
)
_C_TEXT = r'//[^\n]*|/\*(?:.|\n)*?\*/|"(?:[^"\\\n]|\\.)*"'
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def tracked_files() -> Iterator[Path]:
    """The files that the list applies to: text that people of the project wrote."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        path = REPOSITORY / name
        if path.suffix in PROSE and path != LIST and path.is_file():
            yield path


def split(path: Path) -> tuple[str, str]:
    """A file as its code and its prose, each with the file's line breaks and blanks for what is left out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix not in CODE:
        return re.sub(r"[^\n]", " ", text), text
    pattern = _PYTHON_TEXT if path.suffix in {".py", ".sh"} else _C_TEXT
    code, prose, last = [], [], 0
    for match in re.finditer(pattern, text):
        before, inside = text[last : match.start()], match.group()
        code += [before, re.sub(r"[^\n]", " ", inside)]
        prose += [re.sub(r"[^\n]", " ", before), inside]
        last = match.end()
    return "".join(code) + text[last:], "".join(prose)


def places(path: Path, names: dict[str, str], phrases: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Line, removed word, and what to write instead, of each place in a file."""
    code, prose = split(path)
    for number, line in lines_with(code, names):
        parts = {part.lower() for part in _WORD.findall(line)}
        yield from ((number, word, names[word]) for word in sorted(parts & names.keys()))
    for number, line in lines_with(prose, phrases):
        for phrase, better in phrases.items():
            if re.search(rf"\b{re.escape(phrase)}\b", line, flags=re.IGNORECASE):
                yield number, phrase, better


def lines_with(text: str, words: Collection[str]) -> Iterator[tuple[int, str]]:
    """The lines that contain one of the words, if only as a part of another word, with their numbers."""
    lowered = text.lower()
    if present := [word.lower() for word in words if word.lower() in lowered]:
        for number, line in enumerate(text.splitlines(), 1):
            if any(word in line.lower() for word in present):
                yield number, line


def main() -> int:
    """Name each place where a removed word stands, or count them."""
    removed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    removed_places = [
        (path.relative_to(REPOSITORY), *place)
        for path in tracked_files()
        for place in places(path, removed["names"], removed["phrases"])
    ]
    if sys.argv[1:] == ["--count"]:
        counts = Counter(word for _, _, word, _ in removed_places)
        for word in [*removed["names"], *removed["phrases"]]:
            print(f"{counts[word]:6} {word}")
        return 0
    for path, number, word, better in removed_places:
        print(f"{path}:{number}: '{word}' is no longer used in this project; write {better}")
    return 1 if removed_places else 0


if __name__ == "__main__":
    sys.exit(main())
