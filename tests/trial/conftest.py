"""The synthetic results and installations of other rooms' tests, for tests of trials."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / room) for room in ("predict", "tuning", "trace")]
