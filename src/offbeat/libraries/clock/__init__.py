"""The shared clock and the harmonised start for Python programs.

:class:`offbeat.Clock` and :func:`offbeat.harmonize` are for programs that use mpi4py::

    from mpi4py import MPI
    from offbeat import Clock, harmonize

    with Clock(MPI.COMM_WORLD) as clock:
        now = clock.now()  # now.global_ns, with an error of now.bound_ns at most
    start = harmonize(MPI.COMM_WORLD)  # all processes return at the same time
    if not start:
        print(f"it {start.verdict}")
"""
