"""The two ways in which a command ends badly; both carry one sentence for the user.

Raise :class:`BadInput` for what the user can mend in a file or an option (exit status 2) and
:class:`RunFailed` for a run that could not do what was asked (exit status 1). The command line prints the
sentence without a traceback; anything else that escapes is a bug and shows its traceback.
"""

from __future__ import annotations


class OffbeatError(Exception):
    """A failure with a sentence that says what is wrong, where, and what would be right."""

    exit_status = 1


class BadInput(OffbeatError):
    """What the user gave cannot be used; nothing was launched or changed."""

    exit_status = 2


class RunFailed(OffbeatError):
    """What was asked for was tried and not (wholly) done."""

    exit_status = 1
