"""What is measured or simulated, as structures: patterns, platforms, studies and their cases.

Offers: Arrival patterns and their files, platforms, collectives, algorithms, cases, and the checks of all
of them.
Stands on: ``base``.
"""
