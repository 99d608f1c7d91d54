"""Analysis of iterations and of execution out of step: which ranks part, who waits, and what it gains."""
