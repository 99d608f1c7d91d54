"""What a limit on memory (``ulimit -v``, a batch system's) means for a command, before anything is loaded."""

from __future__ import annotations

import os
import resource

from offbeat.errors import BadInput

LEAST_BYTES = 10**6 * 1024
"""With less address space the libraries for tables abort or hang instead of failing in order."""

_ONE_THREAD = {
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
}
"""Variables by which the libraries reserve little memory: each thread's stack and pool counts."""


def settle_memory() -> None:
    """Get along with a limit on the address space; raises BadInput for one that is too low."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    if limit < LEAST_BYTES:
        raise BadInput(
            f"the limit on this process's address space is {limit // 1024} kB (ulimit -v), and offbeat needs"
            f" {LEAST_BYTES // 1024} kB; raise it"
        )
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)
