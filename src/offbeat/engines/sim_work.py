"""What a worker does with a batch; its arguments and its answer can be sent to other machines."""

from __future__ import annotations

import numpy as np

from offbeat.engines.base import Exits
from offbeat.simulation.exits import Job, run_job


def simulate_batch(job: Job) -> Exits:
    """Simulate every pattern of a job; what goes wrong with its algorithm is told in the answer."""
    try:
        done = run_job(job)
    except (ValueError, RuntimeError, MemoryError) as error:
        reason = str(error) or "there is not enough memory for it"
        return Exits(exits_s=np.zeros((0, job.p)), failure=reason)
    return Exits(exits_s=done.exits_s, messages=done.messages)
