"""From results to choices, and from choices to files that an MPI library obeys.

Offers: Delay tables, selection rules and their confidence; tuning files, their verification, and checks of
rules files that users have.
Stands on: ``base``, ``model``, ``libraries``, ``measurement``.
"""
