"""From the cases of a study to results, with the proof that what was measured is what was asked for.

Offers: Engines, runs that can be resumed, proofs of algorithms, drawn legal calls, result directories, and
the clock check.
Stands on: ``base``, ``model``, ``simulation``, ``libraries``.
"""
