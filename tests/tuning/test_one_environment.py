"""The same algorithm runs in the proof, in the measurement, with the tuning file, and as users launch."""

from __future__ import annotations

from pathlib import Path

import pytest
from one_environment import everywhere, expect_the_same
from tuned_study import Tuned

pytestmark = pytest.mark.slow


def test_proof_measurement_verification_and_use_run_the_same_algorithm(tuned: Tuned, tmp_path: Path) -> None:
    rule = tuned.plan.rules["reduce"][0]
    expect_the_same(everywhere(tuned.results, rule, tuned.files, tuned.installation, tmp_path))
