"""Traces of MPI programs: recording, reading, matching and summing up their calls.

Offers: Recording a program, the calls and messages of a trace, call sites, summaries, arrival patterns, and
exports.
Stands on: ``base``, ``libraries``, ``model``.
"""
