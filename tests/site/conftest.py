"""The synthetic traces of the tests of traces, for tests of tuned programs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "trace"))
