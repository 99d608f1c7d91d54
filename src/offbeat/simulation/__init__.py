"""Collectives on simulated machines: from arrivals to exits, and the proof that algorithms are right.

Offers: One simulated call of a collective, the catalogue of algorithms, their messages and their checks.
Stands on: ``base``, ``model``.
"""
