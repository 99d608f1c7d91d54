"""The MPI libraries of this machine: finding, launching and steering them, their clock, their costs.

Offers: Installations, launches of the driver and of programs, the record of each library, the shared clock,
and platforms fitted to measurements.
Stands on: ``base``, ``model``.
"""
