"""Whether running out of step helps a program: changes, simulated with and without, and why none helps."""
