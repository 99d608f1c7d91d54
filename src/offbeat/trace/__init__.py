"""Traces of collectives in real programs: reading, matching, summing up, patterns out of them, exports."""
