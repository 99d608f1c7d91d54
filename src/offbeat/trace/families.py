"""Communicators that are alike: the rows of a grid of processes, say, which one call of all ranks has made.

They are of the same parent, maker, size and name, and no rank is in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.communicators import Communicator


def families(communicators: Sequence[Communicator]) -> NDArray[np.int64]:
    """For each communicator the index of the first one of its family, (n,)."""
    most = max((int(one.members.max(initial=-1)) for one in communicators), default=-1)
    open_families: dict[tuple[int, str, int, str], list[tuple[int, NDArray[np.bool_]]]] = {}
    first = np.arange(len(communicators))
    for one in communicators:
        if one.is_inter or not one.made_by:
            continue
        known = open_families.setdefault((one.parent, one.made_by, one.size, one.name), [])
        members = one.members[one.members >= 0]
        for place, taken in known:
            if not taken[members].any():
                first[one.index] = place
                taken[members] = True
                break
        else:
            taken = np.zeros(most + 1, np.bool_)
            taken[members] = True
            known.append((one.index, taken))
    return first
