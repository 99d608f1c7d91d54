"""How a command can end before its work is done: bad input, a failed run, a signal.

Raise :class:`BadInput` for what the user can correct in a file or an option (exit status 2) and
:class:`RunFailed` for a run that could not do what was requested (exit status 1). The command line prints the
message without a traceback; anything else that escapes is a bug and shows its traceback.
"""

from __future__ import annotations

MAX_LINE_CHARACTERS = 1000
"""Longest line of a message. Messages quote files, and a damaged file has lines of any length."""


class OffbeatError(Exception):
    """A failure whose message says what is wrong, where, and what would be right."""

    exit_status = 1

    def __str__(self) -> str:
        """The message; of a line longer than MAX_LINE_CHARACTERS only the beginning and the end."""
        return "\n".join(map(_shorten, super().__str__().splitlines()))


class BadInput(OffbeatError):
    """The user's input cannot be used; nothing was launched or changed."""

    exit_status = 2


class RunFailed(OffbeatError):
    """The requested work was tried and not, or only partly, done."""

    exit_status = 1


class SignalExit(BaseException):
    """A signal ends the command; not an Exception, so that no part of a run handles it as a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.progress = ""
        """Follows ``interrupted`` in the message: the work that was going on, or what is left of it."""

    def report_progress(self, progress: str) -> None:
        """Set ``progress``, unless code nearer to the interruption has set it already."""
        self.progress = self.progress or progress

    def report_measurements(self, exist: bool) -> None:
        """Report as progress whether measurements were stored."""
        self.report_progress("; what was measured is kept" if exist else "; nothing was measured yet")


def _shorten(line: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    begin, end = line[:600], line[-300:]
    return f"{begin} [{len(line) - 900} characters left out] {end}"
