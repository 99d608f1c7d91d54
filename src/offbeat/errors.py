"""The two ways in which a command ends badly; both carry one sentence for the user.

Raise :class:`BadInput` for what the user can mend in a file or an option (exit status 2) and
:class:`RunFailed` for a run that could not do what was asked (exit status 1). The command line prints the
sentence without a traceback; anything else that escapes is a bug and shows its traceback.
"""

from __future__ import annotations

MAX_LINE_CHARACTERS = 1000
"""Of a message. Messages quote what files say, and a damaged file has lines of any length."""


class OffbeatError(Exception):
    """A failure with a sentence that says what is wrong, where, and what would be right."""

    exit_status = 1

    def __str__(self) -> str:
        """The message; of a line longer than MAX_LINE_CHARACTERS only the beginning and the end."""
        return "\n".join(map(_shortened, super().__str__().splitlines()))


class BadInput(OffbeatError):
    """What the user gave cannot be used; nothing was launched or changed."""

    exit_status = 2


class RunFailed(OffbeatError):
    """What was asked for was tried and not (wholly) done."""

    exit_status = 1


def _shortened(line: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    begin, end = line[:600], line[-300:]
    return f"{begin} [{len(line) - 900} characters left out] {end}"
