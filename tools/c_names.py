"""The names that C and C++ sources declare.

No parser is needed: a name that is used is declared somewhere, in these sources or in a library. Names behind
``.``, ``->`` and ``::`` are uses, and those of libraries occur only there, or are no words of the list. What
remains are declarations and uses of what the project declares. So the check depends on no compiler, no MPI
library and no build folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
      (?P<text> //[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+' )
    | (?P<include> ^[ \t]*\#[ \t]*include[^\n]* )
    | (?P<attribute> __attribute__\s*\(\((?: [^()] | \( (?: [^()] | \([^()]*\) )* \) )*\)\) )
    | (?P<number> \.?\d (?: [eEpP][+-] | [\w.'] )* )
    | (?P<use> (?: \. | -> | :: ) \s* [A-Za-z_]\w* )
    | (?P<name> [A-Za-z_]\w* )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

_KEYWORDS = frozenset({"for", "this", "signed", "unsigned", "using", "defined", "protected"})
_POSIX = frozenset({"WIFSIGNALED"})


def names_in_c(text: str) -> Iterator[tuple[int, str]]:
    """Each name with its line, at each of its occurrences outside comments and literals."""
    line = 1
    end = 0
    for match in _TOKEN.finditer(text):
        if match["name"] and match["name"] not in _KEYWORDS | _POSIX:
            line += text.count("\n", end, match.start())
            end = match.start()
            yield line, match["name"]
