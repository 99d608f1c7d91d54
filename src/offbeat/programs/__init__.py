"""Programs of many iterations, and whether running out of step makes them faster.

Offers: Program files, their simulation and their run with MPI, the iterations of traced programs, and
advice.
Stands on: ``base``, ``model``, ``simulation``, ``libraries``, ``measurement``, ``trace``.
"""
