"""A signal that ends a command in order, and what is to be said of the work that it ended."""

from __future__ import annotations


class Stopped(BaseException):
    """A signal asked the command to end; no Exception, so that no part of a run takes it for a fault."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.told = ""
        """How the sentence goes on: what was going on, or what is left of it; empty: nothing to say."""

    def tell(self, words: str) -> None:
        """Have the sentence go on with ``words``; what is furthest inside comes first and stays."""
        self.told = self.told or words

    def tell_kept(self, is_any: bool) -> None:
        """The same from what keeps measurements: whether there are any."""
        self.tell("; what was measured is kept" if is_any else "; nothing was measured yet")
