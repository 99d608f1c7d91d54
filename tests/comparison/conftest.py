"""The synthetic results of the tests of predictions, for tests of comparisons."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "predict"))
