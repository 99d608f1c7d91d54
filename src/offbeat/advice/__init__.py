"""Advice on running out of step: changes of a program, simulated with and without, and why none helps."""
