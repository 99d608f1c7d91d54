"""The record of each MPI library: how it is launched, how algorithms are forced, which settings it reads."""
