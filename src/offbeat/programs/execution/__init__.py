"""A program run with an MPI library: the executor's plan, the launch, and the recorded times."""
