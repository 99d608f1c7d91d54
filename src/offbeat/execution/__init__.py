"""Analysis of iterations and of execution out of step: which ranks drift apart, who waits, and what it gains."""
