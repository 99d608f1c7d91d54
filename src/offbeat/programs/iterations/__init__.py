"""Analysis of iterations and of execution out of step: who drifts apart, who waits, what it gains."""
