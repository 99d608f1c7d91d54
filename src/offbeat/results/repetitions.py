"""What one block of a case yields: the times of every rank in every repetition."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Samples(Struct, kw_only=True):
    """The repetitions of one block of a case; ``block`` is its number, from 0.

    ``arrivals_s`` and ``exits_s`` are (repetitions × p), in seconds on the shared clock since the
    repetition's deadline; ``valid`` is (repetitions,). ``overshoot_s`` is the largest start error of a valid
    repetition and ``clock_bound_s`` the largest error bound of the clock. ``failure`` is empty, or the reason
    why the case must be quarantined; the arrays then hold what was measured before. Of a replay, ``calls``
    has the number of the call that each repetition belongs to, from 0, (repetitions,). ``is_exact`` says that
    repeating would give the same numbers.
    """

    arrivals_s: NDArray[np.float64]
    exits_s: NDArray[np.float64]
    valid: NDArray[np.bool_]
    overshoot_s: float = 0.0
    clock_bound_s: float = 0.0
    failure: str = ""
    calls: NDArray[np.int64] | None = None
    is_exact: bool = False
    block: int = 0
