"""A file's text, and its values as TOML knows them; what cannot be read is told with its line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from offbeat.errors import BadInput
from offbeat.reading import TOML_BYTES, read_file

_AT_LINE = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)

_MENDS = {"Cannot overwrite a value": "this key stands there already; keep one of the two"}
"""What the TOML reader says, where that says nothing to people."""


def read_text(path: Path, what: str, mend: str) -> str:
    """The file's text; a byte order mark is taken off.

    ``what`` names it in sentences (``the study file``), ``mend`` is what to do where there is none. Raises
    :class:`BadInput`.
    """
    try:
        data = read_file(path, TOML_BYTES)
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file; {mend}") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: this is a directory; give {what} in it") from None
    except OSError as error:
        raise BadInput(f"{path}: the file cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        sentence = f"the byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise BadInput(f"{path}:{line}: {sentence}") from None


def parse(text: str, path: Path, if_empty: str) -> dict[str, Any]:
    """The text as TOML; :class:`BadInput` with the line where it isn't, or ``if_empty`` where it is empty."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT_LINE.match(str(error))
        sentence, line = (match[1], match[2]) if match else (str(error), None)
        line = line or str(len(text.splitlines()) or 1)
        raise BadInput(f"{path}:{line}: this is not TOML: {_MENDS.get(sentence, sentence)}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: this cannot be read as TOML: {error}") from None
    if not raw:
        raise BadInput(f"{path}:1: {if_empty}")
    return raw
