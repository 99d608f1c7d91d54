"""Partitioned communication: how much sending the parts of a message early can gain.

The model follows "Quantifying the Performance Benefits of Partitioned Communication in MPI" (Gillis and
others, ICPP 2023): equations 1 to 5 in :mod:`offbeat.partitioned.gain_model`, 6 to 9 in
:mod:`offbeat.partitioned.delay_rate`.
"""
