"""The simulation of a program, its lockstep, and the trace that it would leave."""
