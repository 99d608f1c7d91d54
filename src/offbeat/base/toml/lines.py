"""Reading TOML text, and the line on which each of its keys stands.

No TOML reader for Python keeps positions, so :func:`key_lines` scans a text that :mod:`tomllib` has accepted:
it relies on the text being valid, and only follows keys, tables, arrays and strings.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from offbeat.base.errors import BadInput
from offbeat.base.reading import TOML_BYTES, read_file

_AT_LINE = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)

_CLEARER = {"Cannot overwrite a value": "this key occurs twice; keep one of the two"}
"""Messages of the TOML reader → clearer ones."""


def read_text(path: Path, description: str, remedy: str) -> str:
    """The text of a file without byte order mark.

    ``description`` (``the study file``) is for messages, ``remedy`` for a missing file. Raises
    :class:`BadInput`.
    """
    try:
        data = read_file(path, TOML_BYTES)
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file; {remedy}") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: this is a directory; give {description} in it") from None
    except OSError as error:
        raise BadInput(f"{path}: the file cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        sentence = f"the byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise BadInput(f"{path}:{line}: {sentence}") from None


def parse(text: str, path: Path, if_empty: str) -> dict[str, Any]:
    """The text parsed as TOML; :class:`BadInput` with the line of a fault, or ``if_empty`` if it is empty."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT_LINE.match(str(error))
        sentence, line = (match[1], match[2]) if match else (str(error), None)
        line = line or str(len(text.splitlines()) or 1)
        raise BadInput(f"{path}:{line}: this is not TOML: {_CLEARER.get(sentence, sentence)}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: this cannot be read as TOML: {error}") from None
    if not raw:
        raise BadInput(f"{path}:1: {if_empty}")
    return raw


Key = tuple[str | int, ...]
"""The path to a value: keys, and positions in arrays from 0: ``("collective", 0, "names", 1)``."""

_TOKEN = re.compile(
    r"""(?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
    r"""|(?P<comment>\#[^\n]*)|(?P<newline>\n)|(?P<mark>[\[\]{},=.])|(?P<bare>[^\s\[\]{},=.\#"']+)""",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token and the line on which it begins."""

    text: str
    line: int


def dotted_name(key: Key) -> str:
    """A key for messages: ``collective[0].names``; a last position in an array is left off."""
    while key and isinstance(key[-1], int) and len(key) > 2:
        key = key[:-1]
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in key]
    return "".join(parts).lstrip(".")


def line_of(lines: Mapping[Key, int], key: Key) -> int:
    """The line of a key, or of the nearest enclosing key of the text; 1 if there is none."""
    while key and key not in lines:
        key = key[:-1]
    return lines.get(key, 1)


def where(path: Path | str, lines: Mapping[Key, int], key: Key) -> str:
    """Returns the beginning of a message about a key: ``study.toml:12: mpi.prefix: ``.

    Without lines, for values that come from Python, it is the key alone: ``mpi.prefix: ``.
    """
    position = f"{path}:{line_of(lines, key)}: " if lines else ""
    return f"{position}{dotted_name(key)}: " if key else position


def key_lines(text: str) -> dict[Key, int]:
    """Key → line (from 1) for every table, key and array entry of a valid TOML text."""
    return _Scanner(text).scan()


def _tokens(text: str) -> Iterator[Token]:
    """The tokens without comments and blanks; the end of a line is a token, as it ends a statement."""
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "comment":
            yield Token(match.group(), line)
        line += match.group().count("\n")


class _Scanner:
    """Reads the tokens once and records the line of each key."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._position = 0
        self._lines: dict[Key, int] = {}
        self._counts: dict[Key, int] = {}  # arrays of tables: how many tables so far

    def scan(self) -> dict[Key, int]:
        table: Key = ()
        while self._position < len(self._tokens):
            if self._peek() == "\n":
                self._next()
            elif self._peek() == "[":
                table = self._header()
            else:
                self._key_value(table)
        return self._lines

    def _peek(self) -> str:
        return self._tokens[self._position].text if self._position < len(self._tokens) else "\n"

    def _next(self) -> Token:
        token = self._tokens[self._position]
        self._position += 1
        return token

    def _header(self) -> Key:
        """Reads ``[a.b]`` or ``[[a.b]]``, and returns the key of the table."""
        line = self._next().line
        is_array = self._peek() == "["
        if is_array:
            self._next()
        parts = self._dotted_key("]")
        key: Key = ()
        for part in parts:
            key = (*self._enclosing_key(key), part)
            self._lines.setdefault(key, line)
        while self._peek() == "]":
            self._next()
        if is_array:
            self._counts[key] = self._counts.get(key, 0) + 1
            self._lines[self._enclosing_key(key)] = line
        return self._enclosing_key(key)

    def _enclosing_key(self, key: Key) -> Key:
        """The key under which a table's keys are: for an array of tables, its last table."""
        return (*key, self._counts[key] - 1) if key in self._counts else key

    def _dotted_key(self, end: str) -> list[str]:
        parts = []
        while self._peek() != end:
            token = self._next().text
            if token != ".":
                parts.append(_unquote(token))
        return parts

    def _key_value(self, table: Key) -> None:
        """Reads ``a.b = value``, in a table or between braces."""
        line = self._tokens[self._position].line
        key = table
        for part in self._dotted_key("="):
            key = (*key, part)
            self._lines.setdefault(key, line)
        self._next()
        self._value(key)

    def _value(self, key: Key) -> None:
        """Skips a value and records the keys inside arrays and inline tables."""
        if self._peek() == "[":
            self._array(key)
        elif self._peek() == "{":
            self._next()
            while self._skip_to_item("}"):
                self._key_value(key)
        else:
            while self._peek() not in ("\n", ",", "]", "}"):
                self._next()

    def _array(self, key: Key) -> None:
        self._next()
        index = 0
        while self._skip_to_item("]"):
            self._lines[(*key, index)] = self._tokens[self._position].line
            self._value((*key, index))
            index += 1

    def _skip_to_item(self, end: str) -> bool:
        """Moves to the next item of an array or inline table; false, after its end, if there is none."""
        while self._peek() in ("\n", ","):
            self._next()
        if self._peek() == end:
            self._next()
            return False
        return True


def _unquote(token: str) -> str:
    """A key without its quotation marks and escapes."""
    if token[0] not in "\"'":
        return token
    return next(iter(tomllib.loads(f"{token} = 0")))
