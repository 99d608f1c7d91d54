"""The measured study of each library, and the synthetic traces of the tests of traces."""

from __future__ import annotations

import sys
from pathlib import Path

from tuned_study import tuned as tuned

sys.path.append(str(Path(__file__).parents[1] / "trace"))
