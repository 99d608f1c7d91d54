"""The synthetic traces and results of the tests of traces and of selection, for tests of tuning."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / room) for room in ("trace", "select")]
