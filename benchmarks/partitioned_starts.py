"""How the time of first starts of unmatched receives grows with their number.

Usage: python benchmarks/partitioned_starts.py [LIBRARY] [N]

One process starts n receives before the other one has initialised the sends, which then begin with the last
tag. Prints the time of n = N and 2 N (default 4,000 and 8,000) first starts and the ratio of the times, whose
limit is 2.5: 2 where the time is proportional to n, 4 where it is quadratic. Exit status 1 above the limit.
The time until all receives are complete is printed without a limit, as the MPI library's own matching is part
of it. Takes the smallest of three times.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from native_program import compiled, output_of

from offbeat.libraries.installations.find import choose

LIMIT, ROUNDS = 2.5, 3


def main(library: str = "auto", number: str = "4000") -> None:
    installation = choose(library)
    times_s: dict[str, list[float]] = {"starts_s": [], "matching_s": []}
    with TemporaryDirectory() as folder:
        source = Path(__file__).with_suffix(".c")
        program = compiled(installation, "liboffbeat-partitioned.a", Path(folder), [source])
        for count in (int(number), 2 * int(number)):
            rounds = [json.loads(output_of(installation, program, 2, [count])) for _ in range(ROUNDS)]
            for name, smallest_s in times_s.items():
                smallest_s.append(min(one[name] for one in rounds))
    for name, (once_s, twice_s) in times_s.items():
        print(
            f"{name.removesuffix('_s')}: {1e3 * once_s:.1f} ms for {number}, {1e3 * twice_s:.1f} ms for twice"
            f" as many: ratio {twice_s / once_s:.2f}" + (f", limit {LIMIT}" if name == "starts_s" else "")
        )
    once_s, twice_s = times_s["starts_s"]
    sys.exit(twice_s > LIMIT * once_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
