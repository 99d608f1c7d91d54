"""A study that was stopped is finished with the blocks that it has."""

from __future__ import annotations

import debug_run
import numpy as np
import pytest
from debug_engine import DebugEngine

from offbeat.measurement.runs.resume import finish_early

TEXT = debug_run.SMALL.replace("blocks = 1", "blocks = 5").replace(
    "minimum = 3\nmaximum = 3", "minimum = 10\nmaximum = 100"
)


class Noisy(DebugEngine):
    """Its blocks differ by more than their median, so that no interval is narrow enough."""

    def measure(self, algorithm, case, delays_s, rule):
        samples = super().measure(algorithm, case, delays_s, rule)
        samples.exits_s = samples.exits_s + np.random.default_rng(len(self.measured)).exponential(1e-3)
        return samples


@pytest.mark.parametrize(("seen", "blocks"), [(0.5, 0), (1.5, 0), (2.5, 2), (7.3, 7)])
def test_a_stopped_study_has_all_its_cases_with_the_blocks_that_all_of_them_have(tmp_path, seen, blocks):
    """``seen`` is the number of rounds before the stop."""
    loaded = debug_run.study(tmp_path, TEXT)
    engine, directory = Noisy(), tmp_path / "results"
    total = debug_run.go(loaded, directory, out_of_time=lambda _: True).total
    stop = round(seen * total)
    debug_run.go(loaded, directory, engine, out_of_time=lambda _: len(engine.measured) >= stop)
    assert finish_early(loaded, directory) == blocks
    statuses = {status for status, _ in debug_run.status_of(directory).values()}
    assert (statuses <= {"measured", "incomplete"}) == (blocks > 0)
    again = Noisy()
    outcome = debug_run.go(loaded, directory, again)
    assert (outcome.finished_cases, outcome.total) == (total, total)
    assert len(again.measured) > 0
